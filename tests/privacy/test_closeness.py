"""t-closeness of any distance, of labels or of a released table."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from privacy import slow

from aggopt.errors import JobError, TableError
from aggopt.privacy import groups_of, t_closeness

TREE = {"lung": ["asthma", "flu"], "heart": {"left": ["attack"], "right": ["block"]}}
PARENTS = {
    "asthma": "lung",
    "flu": "lung",
    "attack": "left",
    "block": "right",
    "left": "heart",
    "right": "heart",
    "lung": "any",
    "heart": "any",
}
LEAVES = ["asthma", "flu", "attack", "block"]


def apart(a, b):
    """Height of the lowest common ancestor over that of the tree."""
    if a == b:
        return 0
    if {a, b} == {"asthma", "flu"}:
        return 1 / 3
    return 2 / 3 if {a, b} == {"attack", "block"} else 1


def drawn(seed, n, groups):
    rng = np.random.default_rng(seed)
    labels = np.unique(rng.integers(0, groups, n), return_inverse=True)[1]
    return labels, rng.choice(LEAVES, n, p=rng.dirichlet(np.ones(4)))


cases = st.builds(drawn, st.integers(0, 10**6), st.integers(1, 25), st.integers(1, 6))


@given(cases)
@settings(max_examples=40, deadline=None)
def test_every_distance_is_the_cheapest_transport(case):
    labels, values = case
    pairs = labels.tolist(), values.tolist()
    several = len(set(values)) > 1
    rank = {v: i for i, v in enumerate(v for v in LEAVES if v in values)}
    ways = {
        "equal": ({}, lambda a, b: float(a != b)),
        "hierarchical": ({"tree": TREE}, apart),
        "ordered": (
            {"order": LEAVES},
            lambda a, b: abs(rank[a] - rank[b]) / (len(rank) - 1 if several else 1),
        ),
    }
    for distance, (extra, cost) in ways.items():
        found = t_closeness(labels, values, distance=distance, **extra)
        assert found == pytest.approx(slow.transported(*pairs, cost), abs=1e-8)


@given(cases)
@settings(max_examples=100, deadline=None)
def test_equal_is_half_the_differences_exactly(case):
    labels, values = case
    found = t_closeness(labels, values, distance="equal")
    assert found == float(slow.equal(labels.tolist(), values.tolist()))
    flat = {"tree": dict.fromkeys(LEAVES, "any")}
    assert found == t_closeness(labels, values, distance="hierarchical", **flat)


@given(cases)
@settings(max_examples=50, deadline=None)
def test_both_forms_of_a_tree_say_the_same(case):
    labels, values = case
    nested, flat = (
        t_closeness(labels, values, distance="hierarchical", tree=tree)
        for tree in (TREE, PARENTS)
    )
    assert nested == flat


@given(cases, st.randoms(use_true_random=False))
@settings(max_examples=50, deadline=None)
def test_laws(case, random):
    labels, values = case
    numbers = np.array([LEAVES.index(v) for v in values])
    found = t_closeness(labels, numbers)
    assert 0 <= found <= 1
    assert t_closeness(np.zeros(len(labels), int), numbers) == 0
    shuffle = random.sample(range(len(labels)), len(labels))
    assert t_closeness(labels[shuffle], numbers[shuffle]) == found
    assert t_closeness(np.tile(labels, 3), np.tile(numbers, 3)) == found
    assert t_closeness(labels, 7.5 * numbers - 2) == found
    assert t_closeness(labels, -numbers) == found
    assert t_closeness(labels.max() - labels, numbers) == found
    several = np.c_[numbers, np.arange(len(numbers))]
    each = [t_closeness(labels, column) for column in several.T]
    assert t_closeness(labels, several) == max(each)


def test_merging_groups_brings_no_group_farther():
    rng = np.random.default_rng(1)
    labels, values = np.arange(60) // 3, rng.integers(0, 9, 60)
    merged = labels // 2
    for way in ({}, {"distance": "equal"}):
        assert t_closeness(merged, values, **way) <= t_closeness(labels, values, **way)


def test_a_released_table_gives_what_labels_give():
    released = pd.DataFrame({"age": [40.5, 40.5, 22, 22], "city": list("aabb")})
    salary = [10, 20, 30, 40]
    expected = t_closeness([0, 0, 1, 1], salary)
    tables = (
        released,
        pl.from_pandas(released),
        pa.table({"age": [40.5, 40.5, 22.0, 22.0]}),
        released[["age"]].to_numpy(),
        released["city"],
    )
    for table in tables:
        assert t_closeness(table, salary) == expected
        assert t_closeness(table, pd.DataFrame({"salary": salary})) == expected
        assert t_closeness(table, pl.Series("salary", salary)) == expected


def test_groups_are_records_equal_in_every_column():
    rng = np.random.default_rng(0)
    table = rng.integers(0, 3, (50, 3))
    rows = [tuple(row) for row in table.tolist()]
    found = groups_of(table)
    for i in range(50):
        for j in range(50):
            assert (found[i] == found[j]) == (rows[i] == rows[j])


def test_a_missing_quasi_identifier_equals_a_missing_one():
    assert groups_of([[1.0, None], [1.0, None], [1.0, 2.0]]).tolist()[:2] == [0, 0]
    assert len(set(groups_of(pd.DataFrame({"a": [None, None, 3.0]})))) == 2


@pytest.mark.parametrize("distance", ["ordered", "equal"])
def test_a_constant_attribute_is_at_distance_0(distance):
    assert t_closeness([0, 0, 1], [5, 5, 5], distance=distance) == 0


def test_what_is_missing_is_a_value_of_its_own_only_if_asked():
    values = ["flu", None, "flu", None]
    for way in ({"distance": "equal"}, {"distance": "hierarchical", "tree": TREE}):
        with pytest.raises(TableError, match="2 confidential values are missing"):
            t_closeness([0, 0, 1, 1], values, **way)
        assert t_closeness([0, 0, 1, 1], values, missing="own value", **way) == 0
        assert t_closeness([0, 1, 0, 1], values, missing="own value", **way) == 0.5
    for holes in ([1.0, np.nan], [1, None]):
        with pytest.raises(TableError, match="1 confidential values are missing"):
            t_closeness([0, 1], holes)
        with pytest.raises(TableError, match="has no place in an order"):
            t_closeness([0, 1], holes, missing="own value")


def test_nullable_columns_are_numbers():
    column = pd.Series([1, 2, 3, 4], dtype="Int64", name="x")
    assert t_closeness([0, 0, 1, 1], column) == t_closeness([0, 0, 1, 1], [1, 2, 3, 4])


# refusals


def refusal(kind, *arguments, **options):
    with pytest.raises(kind) as refused:
        t_closeness(*arguments, **options)
    return str(refused.value)


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
        ({"distance": "ordinal"}, "distance is none of"),
        ({"bins": "ranks"}, "bins is 'ranks'"),
        ({"bins": "rank", "distance": "equal"}, "no meaning"),
        ({"order": [1], "distance": "equal"}, "order has no meaning"),
        ({"tree": TREE}, "tree has no meaning"),
        ({"distance": "hierarchical"}, "needs a tree"),
        ({"distance": "hierarchical", "tree": {}}, "The tree is dict"),
        ({"distance": "hierarchical", "tree": [1]}, "The tree is no map"),
        ({"distance": "hierarchical", "tree": {"a": [], "b": [1]}}, "empty"),
        ({"distance": "hierarchical", "tree": {"a": [1], "b": [1]}}, "twice"),
        ({"distance": "hierarchical", "tree": {"a": [1], 1: "b"}}, "one place"),
        ({"distance": "hierarchical", "tree": {1: "a", 2: "b"}}, "2 roots"),
        ({"distance": "hierarchical", "tree": {1: "a", 2: 3, 3: 2}}, "circle"),
        ({"missing": "drop"}, "missing is none of the two"),
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
    twice = refusal(TableError, [0, 1], ["flu", "flu"], order=["flu", "flu"])
    assert "names 1 values 2 times" in twice


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
    ],
)
def test_shapes_that_do_not_fit(groups, values, kind, complaint):
    assert complaint in refusal(kind, groups, values)


def test_the_attribute_is_named():
    frame = pd.DataFrame({"salary": [1, 2], "illness": ["a", "b"]})
    assert "'illness': " in refusal(TableError, [0, 1], frame)
