"""What the measures take, of any kind: values, labels, orders, trees; or refuse."""

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from privacy.test_closeness import LEAVES, TREE, drawn
from refusals import refused

from aggopt.errors import JobError, TableError
from aggopt.privacy import find_groups, t_closeness


def expect_refusal(kind, *arguments, **options):
    with refused(kind) as error:
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
        expect_refusal(TableError, [0, 0, 1, 1], held, **way)
        expect_refusal(TableError, [0, 0, 1, 1], held, **own, **way)
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
    expect_refusal(TableError, [0, 1], np.array([1, np.inf], object))


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
    said = expect_refusal(TableError, [0, 0, 1], text)
    for way in ("order=", "equal", "hierarchical"):
        assert way in said
    coded = pd.Series(pd.Categorical(text, ["low", "high"], ordered=True))
    expect_refusal(TableError, [0, 0, 1], coded)


@pytest.mark.parametrize(
    "options",
    [
        {"distance": "ordinal"},
        {"bins": "ranks"},
        {"bins": "rank", "distance": "equal"},
        {"order": [1], "distance": "equal"},
        {"tree": TREE},
        {"distance": "hierarchical"},
        {"distance": "hierarchical", "tree": {}},
        {"distance": "hierarchical", "tree": [1]},
        {"distance": "hierarchical", "tree": {"a": [], "b": [1]}},
        {"distance": "hierarchical", "tree": {"a": [1], "b": [1]}},
        {"distance": "hierarchical", "tree": {"a": [1], 1: "b"}},
        {"distance": "hierarchical", "tree": {1: "a", 2: "b"}},
        {"distance": "hierarchical", "tree": {1: "a", 2: 3, 3: 2}},
        {"distance": np.array(["equal", "equal"])},
        {"bins": np.array(["rank", "rank"])},
        {"missing": None},
        {"order": 5},
        {"order": "abc"},
        {"order": {1, 2, 3}},
        {"order": np.array([[1, 2, 3]])},
        {"order": [[1], [2, 3]]},
        {"order": [1, pd.NA]},
        {"order": [1, Decimal("sNaN")]},
        {"order": []},
        {"order": [1, 2, 3, 3]},
        {"distance": "hierarchical", "tree": "abc"},
        {"distance": "hierarchical", "tree": pd.Series([1])},
        {"distance": "hierarchical", "tree": {"a": [1, None]}},
        {"distance": "hierarchical", "tree": {"a": [1, Decimal("sNaN")]}},
        {"distance": "hierarchical", "tree": {"a": [[1]], "b": [2]}},
        {"distance": "hierarchical", "tree": {1: "a", "a": pd.NA}},
        {"missing": "drop"},
    ],
)
def test_options_that_make_no_sense(options):
    expect_refusal(JobError, [0, 0, 1], [1, 2, 3], **options)


def test_values_in_neither_order_nor_tree_are_counted_not_quoted():
    values = ["secret", "flu", "flu"]
    for options in (
        {"distance": "hierarchical", "tree": TREE},
        {"order": ["flu", "asthma"]},
    ):
        said = expect_refusal(TableError, [0, 0, 1], values, **options)
        assert "secret" not in said


TWICE = pd.DataFrame([[1, 2], [1, 2]], columns=["a", "a"])


@pytest.mark.parametrize(
    ("groups", "values", "kind"),
    [
        ([0, 0], [1, 2, 3], TableError),
        ([0, 2, 2], [1, 2, 3], JobError),
        ([], [], JobError),
        (3, [1], JobError),
        ([0.5, 1.5], [1, 2], JobError),
        ([0, 1], 7, TableError),
        ([0, 1], np.zeros((2, 2, 2)), TableError),
        (pd.DataFrame({"a": []}), [1], TableError),
        (pd.DataFrame(index=[0, 1]), [1, 2], TableError),
        (TWICE, [1, 2], TableError),
        ([0, 1], TWICE, TableError),
        (pa.table([[1, 2], [1, 2]], names=["a", "a"]), [1, 2], TableError),
        (pl.LazyFrame({"a": [1, 2]}), [1, 2], TableError),
        (pl.DataFrame({"a": [[1], [2]]}), [1, 2], TableError),
        ([[1], [1, 2]], [1, 2], TableError),
    ],
)
def test_shapes_that_do_not_fit(groups, values, kind):
    expect_refusal(kind, groups, values)


def test_the_attribute_is_named():
    frame = pd.DataFrame({"salary": [1, 2], "illness": ["a", "b"]})
    expect_refusal(TableError, [0, 1], frame)
