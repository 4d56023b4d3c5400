"""Distances that a user gives, and which points have them."""

from collections.abc import Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import pytest
from encoding.mixed import ORDER, TREE, TYPES, all_distances, apart, squared, table
from refusals import refused

from aggopt.encoding import AttributeType
from aggopt.encoding import nearest as file
from aggopt.encoding.levels import TableOfDistances
from aggopt.encoding.nearest import find_nearest_rows
from aggopt.errors import JobError, TableError

K23 = {  # lengths of paths in the complete bipartite graph
    "a1": {"a2": 2, "b1": 1, "b2": 1, "b3": 1},
    "a2": {"b1": 1, "b2": 1, "b3": 1},
    "b1": {"b2": 2, "b3": 2},
    "b2": {"b3": 2},
}


@pytest.mark.parametrize("seed", range(4))
def test_squared_distances_of_points_are_recovered(seed: int) -> None:
    X = np.random.default_rng(seed).normal(size=(6, 3))
    D = squared(X)
    given = pd.DataFrame(D, index=list("abcdef"), columns=list("abcdef"))
    of = TableOfDistances.of(given)
    np.testing.assert_array_equal(of.distances, D)
    np.testing.assert_allclose(squared(of.points), D, rtol=0, atol=1e-12)
    assert of.points.shape == (6, 3)


def test_one_way_round_is_enough() -> None:
    of = TableOfDistances.of({"b": {"a": 1}, "a": {"c": 2}, "c": {"b": 1.5}})
    assert of.levels == ("a", "b", "c")
    assert of.distances.tolist() == [[0, 1, 2], [1, 0, 1.5], [2, 1.5, 0]]


def test_what_is_not_of_negative_type_is_refused_with_its_eigenvalue() -> None:
    with refused(JobError, "0.2", "0.4"):
        TableOfDistances.of(K23)


def test_what_the_refusal_advises_is_accepted() -> None:
    more = 0.400004
    lifted = {u: {v: d + more for v, d in row.items()} for u, row in K23.items()}
    of = TableOfDistances.of(lifted)
    np.testing.assert_allclose(squared(of.points), of.distances, rtol=0, atol=1e-12)


def test_levels_without_distance_are_one_point() -> None:
    of = TableOfDistances.of({"a": {"b": 0, "c": 1}, "b": {"c": 1}})
    np.testing.assert_allclose(squared(of.points), of.distances, atol=1e-12)


@pytest.mark.parametrize(
    "given",
    [
        [1],
        {},
        {"a": 1},
        {"a": {"b": -1}},
        {"a": {"b": np.inf}},
        {"a": {"b": "1"}},
        {"a": {"b": 1}, "b": {"a": 2}},
        {"a": {"a": 1, "b": 1}},
        {"a": {"b": 1, "c": 1}},
    ],
)
def test_what_is_no_table_of_distances_is_refused(given: Any) -> None:
    with refused(JobError):
        TableOfDistances.of(given)


# --- the nearest published row, against distances that are counted one by one


def found(
    published: Any, counts: Sequence[int], records: Any, types: Any = TYPES
) -> list[int]:
    frames = (nw.from_native(each, eager_only=True) for each in (published, records))
    given = {name: AttributeType.of(how) for name, how in types.items()}
    own, new = frames
    return find_nearest_rows(own, np.array(counts), new, given).tolist()


@pytest.mark.parametrize("at_once", [1, 2**22])
def test_all_types_against_an_oracle(at_once: int, monkeypatch) -> None:
    monkeypatch.setattr(file, "AT_ONCE", at_once)
    rows, new = table(7, seed=1), table(30, seed=2)
    counts = np.array([3, 1, 4, 1, 5, 9, 2])
    release = rows.loc[np.repeat(np.arange(7), counts)]
    total = np.zeros((len(new), len(rows)))
    for name in rows.columns:
        weight = TYPES.get(name, {}).get("weight", 1.0)
        spread = all_distances(release, name).mean() / 2
        unit = float(np.std(release[name])) if name == "age" else 1.0
        each = [[apart(name, u, v, unit) for v in rows[name]] for u in new[name]]
        total += np.array(each) * (weight / spread)
    assert found(rows, counts, new) == total.argmin(axis=1).tolist()


def test_a_record_does_not_depend_on_others() -> None:
    rows, new = table(7, seed=1), table(30, seed=2)
    alone = [found(rows, [2] * 7, new.iloc[[i]])[0] for i in range(len(new))]
    assert alone == found(rows, [2] * 7, new)


def test_a_name_that_is_not_published_is_as_far_from_each() -> None:
    rows = pd.DataFrame({"sex": ["f", "m", "f"], "age": [1.0, 2.0, 9.0]})
    new = pd.DataFrame({"sex": ["x", "x"], "age": [8.0, 1.6]})
    assert found(rows, [2, 2, 2], new, {}) == [2, 1]


def test_of_rows_that_are_equally_near_the_first() -> None:
    rows = pd.DataFrame({"sex": ["f", "m"], "age": [1.0, 3.0]})
    new = pd.DataFrame({"sex": ["x"], "age": [2.0]})
    assert found(rows, [2, 2], new, {}) == [0]


def test_numbers_are_measured_in_the_deviation_of_the_whole_release() -> None:
    rows = pd.DataFrame({"a": [0.0, 1.0, 9.0, 1.0], "b": [0.0, 1.0, 1.0, 9.0]})
    new = pd.DataFrame({"a": [0.0], "b": [1.0]})
    assert found(rows, [1, 1, 5, 1], new, {}) == [1]
    assert found(rows, [1, 1, 1, 5], new, {}) == [0]


def test_inner_nodes_and_what_is_missing() -> None:
    """A record is nearest to its own node, to what is missing if it is itself."""
    rows = pd.DataFrame({"illness": ["lung", "heart", "flu", None]})
    new = pd.DataFrame({"illness": ["asthma", "weak", "flu", None]})
    how = {"illness": {"tree": TREE, "missing": "own value"}}
    assert found(rows, [2] * 4, new, how) == [0, 1, 2, 3]
    assert found(rows, [2] * 4, new[:3], how) == [0, 1, 2]
    names = {"illness": {"missing": "own value"}}
    own = pd.DataFrame({"illness": ["flu", None]})
    assert found(own, [2, 2], new[2:], names) == [0, 1]


def test_ordered_columns_need_no_order() -> None:
    kind = pd.CategoricalDtype(ORDER, ordered=True)
    rows = pd.DataFrame({"school": ["none", "much"]}).astype(kind)
    new = pd.DataFrame({"school": ["some", "all"]}).astype(kind)
    assert found(rows, [3, 3], new, {}) == [0, 1]


def test_dates_are_near_by_their_days() -> None:
    rows = pd.DataFrame({"born": pd.to_datetime(["2001-01-01", "2002-01-01"])})
    new = pd.DataFrame({"born": ["2001-03-01", "2001-11-30", "1999-01-01"]})
    assert found(rows, [3, 3], new, {"born": {"kind": "date"}}) == [0, 1, 0]


def test_rows_that_are_all_equal_are_one() -> None:
    rows = pd.DataFrame({"age": [4.0], "sex": ["f"]})
    new = pd.DataFrame({"age": [1.0, 9.0], "sex": ["f", "m"]})
    assert found(rows, [5], new, {}) == [0, 0]


def test_numbers_beyond_floats_are_far() -> None:
    rows = pd.DataFrame({"age": [1.0, 2.0], "sex": ["f", "m"]})
    new = pd.DataFrame({"age": [1e300, 1.9], "sex": ["f", "m"]})
    assert found(rows, [2, 2], new, {}) == [0, 1]


@pytest.mark.parametrize(
    ("column", "entries"),
    [
        ("age", [1.0, None]),
        ("school", ["none", "naught"]),
        ("illness", ["flu", "gout"]),
        ("sex", ["f", None]),
    ],
)
def test_what_has_no_distance_is_refused(column, entries) -> None:
    rows = table(5, seed=1)
    new = table(2).assign(**{column: entries})
    with refused(TableError):
        found(rows, [2] * 5, new)
