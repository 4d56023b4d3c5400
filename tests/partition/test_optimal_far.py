"""`optimal` on records whose clusters lie far apart beside what their groups lose."""

from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from partition import exact

from aggopt.partition import optimal
from aggopt.partition._optimal import search_tree_kernels as exhaustive
from aggopt.solvers import Status

FAR = [1e7, 1e10, 1e13, 1e14, 1e16]


def two_clusters(n: int, far: float, within: bool):
    """Records (n, 2) in two clusters: far within an attribute, or in one of its own."""
    X = np.random.default_rng(n).normal(size=(n, 2)).round(3)
    at = np.repeat([0.0, far], [n // 2, n - n // 2])
    return X + np.outer(at, [1, 0]) if within else np.column_stack([X, at])


def lost(X, groups) -> Fraction:
    """What groups lose, in exact fractions."""
    return sum(
        exact.cost(exact.values(X[group, j]), "sse")
        for group in groups
        for j in range(X.shape[1])
    )


@cache
def least(n: int, far: float, within: bool, k: int) -> Fraction:
    """The least loss of all partitions of two clusters."""
    X, known = two_clusters(n, far, within), {}
    for groups in exact.partitions(list(range(n)), k):
        for group in map(tuple, groups):
            if group not in known:
                known[group] = lost(X, [list(group)])
    return min(
        sum(known[tuple(group)] for group in groups)
        for groups in exact.partitions(list(range(n)), k)
    )


@pytest.mark.parametrize("most", [0, exhaustive.MOST])
@pytest.mark.parametrize("far", FAR)
@pytest.mark.parametrize("within", [True, False])
@pytest.mark.parametrize(("n", "k"), [(8, 2), (9, 3)])
def test_no_partition_loses_less(n, k, within, far, most, monkeypatch):
    monkeypatch.setattr(exhaustive, "MOST", most)
    X = two_clusters(n, far, within)
    best, found = least(n, far, within, k), optimal(X, k, scale="none")
    own = lost(X, [np.flatnonzero(found.labels == g) for g in set(found.labels)])
    assert found.certificate.status is Status.OPTIMAL
    assert own <= best * (1 + Fraction(1e-9))
    assert found.certificate.objective == pytest.approx(float(own))
    assert Fraction(found.certificate.bound) <= best * (1 + Fraction(1e-12))


@pytest.mark.parametrize("far", FAR)
def test_clusters_far_apart_lose_what_each_loses_alone(far):
    X = two_clusters(36, far, within=True)
    alone = [optimal(part, 3, scale="none").certificate for part in (X[:18], X[18:])]
    found = optimal(X, 3, scale="none").certificate
    assert {c.status for c in [found, *alone]} == {Status.OPTIMAL}
    assert found.objective == pytest.approx(sum(c.objective for c in alone))
    assert found.bound <= sum(c.objective for c in alone) * (1 + 1e-12)


@pytest.mark.parametrize("unit", [1e-170, 1e-320])
@pytest.mark.parametrize("most", [0, exhaustive.MOST])
def test_a_loss_below_the_least_float_is_not_called_optimal(unit, most, monkeypatch):
    monkeypatch.setattr(exhaustive, "MOST", most)
    X = np.array([0.0, 1.0, 7.0, 8.0]) * unit
    X = np.concatenate([X, [1.0, 1.0, 2.0, 2.0]])[:, None]
    assert optimal(X, 2, scale="none").certificate.status is Status.UNPROVEN
    assert optimal(X[4:], 2, scale="none").certificate.status is Status.OPTIMAL


@pytest.mark.parametrize("most", [0, exhaustive.MOST])
@pytest.mark.parametrize("scale", ["z", "none"])
def test_groups_of_equal_records_are_optimal_whatever_rounding(
    scale, most, monkeypatch
):
    monkeypatch.setattr(exhaustive, "MOST", most)
    X = np.repeat([[0.1, 1e9 / 3], [0.7, 0.3], [1e13 / 7, 0.2]], 3, axis=0)
    found = optimal(X, 3, scale=scale).certificate
    assert (found.status, found.objective) == (Status.OPTIMAL, 0.0)


def few_places(spread: float):
    """Records (61, 3) at eight places, which MDAV and a short search do not tell."""
    rng = np.random.default_rng(20)
    rng.normal(size=(61, 3))
    at = rng.choice([-1.0, 1.0], size=(61, 3))
    return at + spread * rng.normal(size=at.shape)


def test_a_search_that_finds_groups_of_equal_records_ends():
    found = optimal(few_places(0.0), 4, gap_tol=0.9).certificate
    assert (found.status, found.objective, found.bound) == (Status.OPTIMAL, 0.0, 0.0)


@pytest.mark.parametrize("spread", [1e-8, 1e-4])
def test_bounds_of_groups_found_on_the_way_are_in_units_of_their_own(spread):
    X = few_places(spread)
    found = optimal(X, 4, gap_tol=0.01, scale="none")
    groups = [np.flatnonzero(found.labels == g) for g in range(found.labels.max() + 1)]
    assert all((np.ptp(np.sign(X[group]), axis=0) == 0).all() for group in groups)
    assert found.certificate.objective == pytest.approx(float(lost(X, groups)))
    assert 0 < found.certificate.gap <= 0.01
