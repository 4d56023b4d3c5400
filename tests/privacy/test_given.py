"""What the measures take, of any kind: values, labels, orders, trees; or refuse."""

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from privacy.test_closeness import LEAVES, TREE, drawn

from aggopt.errors import JobError, TableError
from aggopt.privacy import find_groups, t_closeness


def refusal(kind, *arguments, **options):
    with pytest.raises(kind) as error:
        t_closeness(*arguments, **options)
    return str(error.value)


HOLED = [
    pd.Series([1, 2, None, 1], dtype="Int64"),
    pd.Series([1, 2, None, 1], dtype="Float64"),
    pd.Series([1, 2, None, 1], dtype="int64[pyarrow]"),
    pd.Series([1, 2, None, 1], dtype="category"),
    pd.Series([1, 2, pd.NA, 1], dtype=object),
    pd.Series([1, 2, pd.NaT, 1], dtype=object),
    pl.Series([1, 2, None, 1]),
    pa.array([1, 2, None, 1]),
    pa.array([1, 2, None, 1]).dictionary_encode(),
    pa.table({"x": pa.array([1, 2, None, 1]).dictionary_encode()}),
    np.ma.masked_equal([1, 2, 99, 1], 99),
    [1, 2, Decimal("NaN"), 1],
    [1, 2, Decimal("sNaN"), 1],
    pd.DataFrame({"x": [1, 2, Decimal("sNaN"), 1]}),
]


@pytest.mark.parametrize("held", HOLED, ids=lambda held: type(held).__name__)
def test_what_is_missing_is_missing_however_it_came(held):
    own = {"missing": "own value"}
    for way in ({}, {"order": [1, 2]}):
        assert "1 confidential values are missing" in refusal(
            TableError, [0, 0, 1, 1], held, **way
        )
        said = refusal(TableError, [0, 0, 1, 1], held, **own, **way)
        assert "no place in an order" in said
    tree = {"a": [1, 2]}
    for way in ({"distance": "equal"}, {"distance": "hierarchical", "tree": tree}):
        assert t_closeness([0, 0, 1, 1], held, **own, **way) == 0.25
    assert find_groups(held).tolist() == [1, 2, 0, 1]


@pytest.mark.parametrize(
    "order",
    [
        tuple(LEAVES),
        np.array(LEAVES),
        pd.Series(LEAVES, index=[3, 3, 1, 0]),
        pd.Index(LEAVES),
        pl.Series(LEAVES),
        pa.array(LEAVES),
    ],
    ids=lambda order: type(order).__name__,
)
def test_an_order_is_any_list(order):
    labels, values = drawn(0, 25, 6)
    expected = t_closeness(labels, values, order=LEAVES)
    assert 0 < expected == t_closeness(labels, values, order=order)


def test_a_branch_is_any_list():
    labels, values = drawn(0, 25, 6)
    listed, other = (
        t_closeness(labels, values, distance="hierarchical", tree=tree)
        for tree in (
            {"a": LEAVES[:2], "b": LEAVES[2:]},
            {"a": np.array(LEAVES[:2]), "b": set(LEAVES[2:])},
        )
    )
    assert 0 < listed == other


def test_numbers_of_any_type_are_ordered_exactly():
    for numbers in (
        [10**30, 10**30 + 1, 10**30 + 2, 10**30 + 3],
        [Decimal("0.1"), Decimal("0.10000000000000000001"), Decimal(1), Decimal(9)],
        [2**53, 2**53 + 1, 2**53 + 2.0, Decimal(2**60)],
    ):
        assert t_closeness([0, 0, 1, 1], numbers) == 1 / 3
    assert "1 of 2 distinct confidential values are infinite" in refusal(
        TableError, [0, 1], np.array([1, np.inf], object)
    )


def test_long_floats_are_told_apart():
    near = np.array([1, 1, 2, 2], np.longdouble)
    near[1] = np.nextafter(near[0], near[2])
    assert find_groups(near).tolist() == [0, 1, 2, 2]
    assert t_closeness([0, 1, 0, 1], near) == t_closeness([0, 1, 0, 1], [0, 1, 2, 2])


def test_levels_of_an_index_are_columns():
    index = pd.MultiIndex.from_tuples([(1, 2), (1, 3), (1, 2)])
    assert find_groups(index).tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    "labels",
    [
        [0, 0, 1, 1],
        pd.Series([0, 0, 1, 1], index=[7, 7, 2, 0]),
        pa.array([0, 0, 1, 1]),
        pl.Series([0, 0, 1, 1]),
        pd.Index([0, 0, 1, 1]),
        pd.array([0, 0, 1, 1]),
    ],
    ids=lambda labels: type(labels).__name__,
)
def test_labels_and_values_of_any_kind(labels):
    for values in ([1, 2, 3, 4], pd.Series([1, 2, 3, 4], index=[3, 2, 1, 0])):
        assert t_closeness(labels, values) == 1 / 3
    assert t_closeness(labels, pa.array([1, 2, 3, 4])) == 1 / 3
    assert t_closeness(labels, pl.Series([1, 2, 3, 4])) == 1 / 3


def test_nullable_columns_are_numbers():
    column = pd.Series([1, 2, 3, 4], dtype="Int64", name="x")
    assert t_closeness([0, 0, 1, 1], column) == t_closeness([0, 0, 1, 1], [1, 2, 3, 4])


# refusals


def test_text_is_never_guessed_to_have_an_order():
    text = ["low", "high", "low"]
    said = refusal(TableError, [0, 0, 1], text)
    assert "have no order" in said
    for way in ("order=", "equal", "hierarchical"):
        assert way in said
    coded = pd.Series(pd.Categorical(text, ["low", "high"], ordered=True))
    assert "have no order" in refusal(TableError, [0, 0, 1], coded)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"distance": "ordinal"}, "distance is 'ordinal', and none"),
        ({"bins": "ranks"}, "bins is 'ranks'"),
        ({"bins": "rank", "distance": "equal"}, "no meaning"),
        ({"order": [1], "distance": "equal"}, "order has no meaning"),
        ({"tree": TREE}, "tree has no meaning"),
        ({"distance": "hierarchical"}, "needs a tree"),
        ({"distance": "hierarchical", "tree": {}}, "The tree is empty"),
        ({"distance": "hierarchical", "tree": [1]}, "The tree is list, and no map"),
        ({"distance": "hierarchical", "tree": {"a": [], "b": [1]}}, "empty"),
        ({"distance": "hierarchical", "tree": {"a": [1], "b": [1]}}, "twice"),
        ({"distance": "hierarchical", "tree": {"a": [1], 1: "b"}}, "one place"),
        ({"distance": "hierarchical", "tree": {1: "a", 2: "b"}}, "2 roots"),
        ({"distance": "hierarchical", "tree": {1: "a", 2: 3, 3: 2}}, "circle"),
        ({"distance": np.array(["equal", "equal"])}, "distance is ndarray"),
        ({"bins": np.array(["rank", "rank"])}, "bins is ndarray"),
        ({"missing": None}, "missing is NoneType"),
        ({"order": 5}, "order is int, and no list"),
        ({"order": "abc"}, "order is str, and no list"),
        ({"order": {1, 2, 3}}, "order is set, and no list"),
        ({"order": np.array([[1, 2, 3]])}, "order is ndarray, and no list"),
        ({"order": [[1], [2, 3]]}, "entry that is not a plain value"),
        ({"order": [1, pd.NA]}, "order names a missing value"),
        ({"order": [1, Decimal("sNaN")]}, "order names a missing value"),
        ({"order": []}, "order names nothing"),
        ({"order": [1, 2, 3, 3]}, "order names 3 values 4 times"),
        ({"distance": "hierarchical", "tree": "abc"}, "The tree is str"),
        ({"distance": "hierarchical", "tree": pd.Series([1])}, "The tree is Series"),
        (
            {"distance": "hierarchical", "tree": {"a": [1, None]}},
            "a missing or composite name",
        ),
        (
            {"distance": "hierarchical", "tree": {"a": [1, Decimal("sNaN")]}},
            "a missing or composite name",
        ),
        (
            {"distance": "hierarchical", "tree": {"a": [[1]], "b": [2]}},
            "a missing or composite name",
        ),
        (
            {"distance": "hierarchical", "tree": {1: "a", "a": pd.NA}},
            "a missing or composite name",
        ),
        ({"missing": "drop"}, "missing is 'drop', none of the two"),
    ],
)
def test_options_that_make_no_sense(options, complaint):
    assert complaint in refusal(JobError, [0, 0, 1], [1, 2, 3], **options)


def test_values_in_neither_order_nor_tree_are_counted_not_quoted():
    values = ["secret", "flu", "flu"]
    for options in (
        {"distance": "hierarchical", "tree": TREE},
        {"order": ["flu", "asthma"]},
    ):
        said = refusal(TableError, [0, 0, 1], values, **options)
        assert "1 of 2 distinct confidential values" in said
        assert "secret" not in said


TWICE = pd.DataFrame([[1, 2], [1, 2]], columns=["a", "a"])


@pytest.mark.parametrize(
    ("groups", "values", "kind", "complaint"),
    [
        ([0, 0], [1, 2, 3], TableError, "3 values, but 2 records"),
        ([0, 2, 2], [1, 2, 3], JobError, "skip a group number"),
        ([], [], JobError, "There are no groups"),
        (3, [1], JobError, "There are no groups"),
        ([0.5, 1.5], [1, 2], JobError, "labels have type float64"),
        ([0, 1], 7, TableError, "has shape ()"),
        ([0, 1], np.zeros((2, 2, 2)), TableError, "has shape (2, 2, 2)"),
        (pd.DataFrame({"a": []}), [1], TableError, "There are no records"),
        (pd.DataFrame(index=[0, 1]), [1, 2], TableError, "No column was passed"),
        (TWICE, [1, 2], TableError, "Column names appear more than once: 'a'"),
        ([0, 1], TWICE, TableError, "Column names appear more than once: 'a'"),
        (
            pa.table([[1, 2], [1, 2]], names=["a", "a"]),
            [1, 2],
            TableError,
            "Column names appear more than once: 'a'",
        ),
        (pl.LazyFrame({"a": [1, 2]}), [1, 2], TableError, "LazyFrame is not a table"),
        (pl.DataFrame({"a": [[1], [2]]}), [1, 2], TableError, "lists or other things"),
        ([[1], [1, 2]], [1, 2], TableError, "has shape (0,)"),
    ],
)
def test_shapes_that_do_not_fit(groups, values, kind, complaint):
    assert complaint in refusal(kind, groups, values)


def test_the_attribute_is_named():
    frame = pd.DataFrame({"salary": [1, 2], "illness": ["a", "b"]})
    assert "'illness': " in refusal(TableError, [0, 1], frame)
