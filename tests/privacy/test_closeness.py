"""t-closeness of any distance, of labels or of a released table."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from drawn import examples
from hypothesis import given
from hypothesis import strategies as st
from privacy import slow
from refusals import refused

from aggopt.errors import TableError
from aggopt.privacy import find_groups, t_closeness

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


constant_too = pytest.mark.filterwarnings("ignore:.*one value only")
cases = st.builds(drawn, st.integers(0, 10**6), st.integers(1, 25), st.integers(1, 6))


@constant_too
@given(cases)
@examples(40)
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


@constant_too
@given(cases)
@examples(100)
def test_equal_is_half_the_differences_exactly(case):
    labels, values = case
    found = t_closeness(labels, values, distance="equal")
    assert found == float(slow.equal(labels.tolist(), values.tolist()))
    flat = {"tree": dict.fromkeys(LEAVES, "any")}
    assert found == t_closeness(labels, values, distance="hierarchical", **flat)


@constant_too
@given(cases)
@examples(50)
def test_both_forms_of_a_tree_say_the_same(case):
    labels, values = case
    nested, flat = (
        t_closeness(labels, values, distance="hierarchical", tree=tree)
        for tree in (TREE, PARENTS)
    )
    assert nested == flat


@constant_too
@given(cases, st.randoms(use_true_random=False))
@examples(50)
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
    found = find_groups(table)
    for i in range(50):
        for j in range(50):
            assert (found[i] == found[j]) == (rows[i] == rows[j])


def test_a_missing_quasi_identifier_equals_a_missing_one():
    assert find_groups([[1.0, None], [1.0, None], [1.0, 2.0]]).tolist()[:2] == [0, 0]
    assert len(set(find_groups(pd.DataFrame({"a": [None, None, 3.0]})))) == 2


@pytest.mark.parametrize("distance", ["ordered", "equal"])
def test_a_constant_attribute_is_at_distance_0(distance):
    frame = pd.DataFrame({"salary": [5, 5, 5], "illness": [1, 1, 2]})
    with pytest.warns(UserWarning, match="'salary': one value only"):
        assert t_closeness([0, 0, 1], frame[["salary"]], distance=distance) == 0
    with pytest.warns(UserWarning, match="'salary': one value only"):
        assert t_closeness([0, 0, 1], frame, distance=distance) > 0


def test_what_is_missing_is_a_value_of_its_own_only_if_asked():
    values = ["flu", None, "flu", None]
    for way in ({"distance": "equal"}, {"distance": "hierarchical", "tree": TREE}):
        with refused(TableError):
            t_closeness([0, 0, 1, 1], values, **way)
        assert t_closeness([0, 0, 1, 1], values, missing="own value", **way) == 0
        assert t_closeness([0, 1, 0, 1], values, missing="own value", **way) == 0.5
    for holes in ([1.0, np.nan], [1, None]):
        with refused(TableError):
            t_closeness([0, 1], holes)
        with refused(TableError):
            t_closeness([0, 1], holes, missing="own value")
