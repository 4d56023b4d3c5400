"""The category of each group with the least total distance."""

from collections import Counter
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from encoding.walked import path_length, way
from refusals import refused

import aggopt
from aggopt.aggregate import plurality
from aggopt.errors import JobError, TableError, UnknownNameError
from aggopt.partition import mdav
from aggopt.solvers import Status

PARENT = {"a": "low", "b": "low", "c": "high", "low": "any", "high": "any"}
PARENT |= {"d": "deep", "deep": "high"}
ORDER = list("dbca")


def instance(seed: int, n: int = 30) -> tuple[list[str], np.ndarray]:
    rng = np.random.default_rng(seed)
    labels = np.concatenate([np.arange(6), rng.integers(0, 6, n - 6)])
    return rng.choice(list("abcd"), n).tolist(), labels


def apart(u: str, v: str, kind: str) -> float:
    if kind == "order":
        return abs(ORDER.index(u) - ORDER.index(v)) / 3
    return float(path_length(u, v, PARENT)) if kind == "tree" else float(u != v)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("kind", ["none", "order", "tree"])
@pytest.mark.parametrize("publish", ["leaf", "node", "ancestor"])
def test_no_category_that_may_be_published_is_nearer(
    seed: int, kind: str, publish: str
) -> None:
    if publish != "leaf" and kind != "tree":
        return
    values, labels = instance(seed)
    given: Any = {"order": {"order": ORDER}, "tree": {"tree": PARENT}}.get(kind, {})
    found = plurality(values, labels, publish=publish, **given)
    total = 0.0
    for g in range(6):
        own = [v for v, label in zip(values, labels, strict=True) if label == g]
        candidates = set("abcd") if publish == "leaf" else {*PARENT, "any"}
        if publish == "ancestor":
            candidates = set.intersection(*(set(way(v, PARENT)) for v in own))
        costs = {c: sum(apart(v, c, kind) for v in own) for c in candidates}
        chosen = found.centroids[g]
        assert costs[chosen] == pytest.approx(min(costs.values()), abs=1e-12)
        total += min(costs.values())
    proof = found.certificate
    assert proof.objective == proof.bound == pytest.approx(total)
    assert proof.status is Status.OPTIMAL
    assert (found.values == found.centroids[labels]).all()


def test_the_most_frequent_name_wins() -> None:
    found = plurality(["x", "y", "y", "x", "x"], [0, 0, 0, 1, 1])
    assert found.centroids.tolist() == ["y", "x"]
    assert found.certificate.objective == 1
    assert found.tied == 0


def test_the_median_of_an_even_group_is_one_of_its_middle_levels() -> None:
    values, labels = list("dbca") * 200, np.arange(800) // 4
    found = plurality(values, labels, order=ORDER)
    assert set(found.centroids) == {"b", "c"}
    assert found.tied == 200
    assert found.ties.objective == found.ties.bound == 800  # all others are too rare


def test_a_level_that_no_record_has_is_not_published() -> None:
    x = pd.Categorical(list("ac") * 20, categories=list("abc"), ordered=True)
    found = plurality(pd.Series(x), np.arange(40) // 2)
    assert set(found.centroids) == {"a", "c"}


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", ["none", "order", "tree"])
def test_of_what_is_equally_near_no_choice_keeps_counts_better(seed, kind) -> None:
    values, labels = instance(seed, 20)
    given: Any = {"order": {"order": ORDER}, "tree": {"tree": PARENT}}.get(kind, {})
    found = plurality(values, labels, **given)
    own = [
        [v for v, at in zip(values, labels, strict=True) if at == g] for g in range(6)
    ]
    nearest = []
    for members in own:
        cost = {c: sum(apart(v, c, kind) for v in members) for c in set(values)}
        nearest.append([c for c in cost if cost[c] < min(cost.values()) + 1e-9])

    def off(names: Any) -> int:
        pairs = zip(names, own, strict=True)
        after = Counter(name for name, members in pairs for _ in members)
        return sum(abs(after[c] - values.count(c)) for c in set(values))

    least = min(map(off, product(*nearest)))
    assert off(found.centroids) == least
    assert found.tied == sum(len(names) > 1 for names in nearest)
    if not found.tied:
        assert found.ties is None
        return
    assert found.ties.status is Status.OPTIMAL
    assert found.ties.objective == found.ties.bound == least


def test_of_groups_that_are_alike_the_seed_decides() -> None:
    values, labels = list("ab") * 100, np.arange(200) // 2
    one, same, other = (plurality(values, labels, seed=s).values for s in (1, 1, 2))
    assert (one == same).all()
    assert (one != other).any()
    assert (one == "a").sum() == (other == "a").sum() == 100


def test_a_choice_that_is_not_made_in_time_is_said_to_be_none() -> None:
    values, labels = list("ab") * 100, np.arange(200) // 2
    found = plurality(values, labels, time_limit=1e-9)
    assert found.certificate.status is Status.OPTIMAL
    assert found.ties.status in (Status.LIMIT, Status.FAILED)
    assert set(found.centroids) <= {"a", "b"}


def test_an_ancestor_is_true_of_every_record() -> None:
    values, labels = instance(7)
    found = plurality(values, labels, tree=PARENT, publish="ancestor")
    pairs = zip(values, found.values, strict=True)
    assert all(name in way(v, PARENT) for v, name in pairs)


def test_a_node_costs_no_more_than_a_leaf() -> None:
    values, labels = instance(8)
    leaf, node, ancestor = (
        plurality(values, labels, tree=PARENT, publish=p).certificate.objective
        for p in ("leaf", "node", "ancestor")
    )
    assert node <= min(leaf, ancestor)


def test_what_is_encoded_has_its_order_and_groups_may_be_a_partition() -> None:
    values, _ = instance(9)
    E = aggopt.encode(pd.DataFrame({"x": values}), {"x": {"order": ORDER}})
    groups = mdav(E, 4)
    found = plurality(E.attribute("x"), groups)
    expected = plurality(values, groups.labels, order=ORDER)
    assert (found.values == expected.values).all()
    assert found.certificate.objective == expected.certificate.objective


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(["a", "b", "b"]),
        pl.Series(["a", "b", "b"]),
        pa.chunked_array([["a", "b", "b"]]),
        np.array(["a", "b", "b"]),
        np.array(["a", "b", "b"], dtype=object),
        ("a", "b", "b"),
    ],
    ids=["pandas", "polars", "arrow", "numpy", "objects", "tuple"],
)
def test_any_column_is_taken(column: Any) -> None:
    assert plurality(column, [0, 0, 0]).values.tolist() == ["b"] * 3


def test_numbers_and_truth_values_come_out_as_they_are() -> None:
    assert plurality([3, 1, 3], [0, 0, 0]).values.tolist() == [3, 3, 3]
    assert plurality([True, False, True], [0, 0, 0]).centroids[0] is True


ALIKE = [["a", "other", "p", "*"], ["b", "other", "q", "*"], ["c", "r", "p", "*"]]


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: plurality(["a"], [0, 0]), JobError),
        (lambda: plurality([], []), TableError),
        (lambda: plurality([["a"]], [0]), TableError),
        (lambda: plurality("ab", [0, 0]), TableError),
        (lambda: plurality(["a", None], [0, 0]), TableError),
        (lambda: plurality(["a"], [0], publish="node"), JobError),
        (lambda: plurality(["a"], [0], tree=ALIKE, publish="node"), JobError),
        (lambda: plurality(["a"], [0], publish="top"), UnknownNameError),
        (lambda: plurality(["a"], [0], seed=-1), JobError),
        (lambda: plurality(["a"], [0], time_limit=0), JobError),
        (lambda: plurality(["QQ"], [0], order=["a"]), TableError),
        (lambda: plurality(["a"], [0], order=["a"], tree=PARENT), JobError),
        (
            lambda: plurality(
                aggopt.encode(pd.DataFrame({"x": ["a", "b"]})).attribute("x"),
                [0, 0],
                order=["a", "b"],
            ),
            JobError,
        ),
        (lambda: plurality(aggopt.encode([[1.0]]).attribute("0"), [0]), TableError),
        (
            lambda: plurality(aggopt.encode(np.ones((2, 1))).attribute("0"), [0, 0]),
            JobError,
        ),
    ],
)
def test_what_makes_no_sense_is_refused(call: Any, error: Any) -> None:
    with refused(error) as error:
        call()
    assert "QQ" not in str(error.value)


def test_no_category_is_shown() -> None:
    found = plurality(["QQ", "QQ"], [0, 0])
    assert "QQ" not in repr(found) + found._repr_html_()
