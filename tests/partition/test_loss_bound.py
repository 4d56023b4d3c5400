"""What every partition loses at least: against all partitions, and in both ways."""

from itertools import combinations

import numpy as np
import pytest
from refusals import refused

from aggopt.algorithms.pair_bound import nearest
from aggopt.core.record_weights import compute_sse
from aggopt.errors import InfeasibleInputError, JobError, UnknownNameError
from aggopt.partition import loss_bound, mdav
from aggopt.partition.shared.neighbour_bound import prove_loss

RNG = np.random.default_rng(9)
X = RNG.normal(size=(300, 4)) + 4 * RNG.integers(0, 3, size=(300, 1))


@pytest.fixture(params=[0, 10**9], ids=["threads", "one thread"])
def way(request, monkeypatch):
    monkeypatch.setattr(nearest, "MANY", request.param)
    monkeypatch.setattr(nearest, "PORTION", 1e4)


def bound_by_neighbours(rows, k, scale="none"):
    return loss_bound(rows, k, scale=scale, bound="none")


@pytest.mark.parametrize("k", [1, 2, 3, 7])
def test_without_a_budget_it_is_the_sum_over_the_nearest(way, k):
    rows = 9.0 * np.vstack([X, X[:5], X[:2]])  # with copies
    apart = ((rows[:, None] - rows) ** 2).sum(axis=2)
    known = np.sort(apart)[:, :k].sum() / (2 * k)
    bound = bound_by_neighbours(rows, k)
    assert bound == pytest.approx(known)
    assert bound <= known
    assert bound <= loss_bound(rows, k, scale="none")


@pytest.mark.parametrize("unit", [2.0**-600, 1.0, 2.0**500])
def test_no_partition_goes_below(way, unit):
    rows = RNG.normal(size=(6, 2))
    least = min(
        sum(((half - half.mean(axis=0)) ** 2).sum() for half in (rows[[*a]], rest))
        for a in combinations(range(6), 3)
        for rest in [np.delete(rows, a, axis=0)]
    )
    bound = loss_bound(unit * rows, 3, scale="none")
    if unit == 1.0:
        assert 0 < bound <= least
    assert bound == np.square(unit) * loss_bound(rows, 3, scale="none")


def test_copies_and_constant_attributes_lose_nothing(way):
    assert loss_bound(np.ones((50, 3)), 3) == 0.0
    assert loss_bound(np.repeat(X[:9], 1000, axis=0), 3) == 0.0
    wide = np.column_stack([X, np.ones(300)])
    assert loss_bound(wide, 3) == pytest.approx(loss_bound(X, 3))


def test_one_group_is_its_own_bound(way):
    for n in (3, 5):
        alone = compute_sse(X[:n], np.zeros(n, np.intp))
        assert loss_bound(X[:n], 3, scale="none") == pytest.approx(alone)
    assert loss_bound(X[:1], 1) == 0.0
    assert loss_bound(X[:6], 3) < compute_sse(X[:6], mdav(X[:6], 3))


def test_the_number_of_threads_does_not_change_it(monkeypatch):
    usual = prove_loss(X, 3).bound
    monkeypatch.setattr(nearest, "MANY", 0)
    monkeypatch.setattr(nearest, "PORTION", 1e4)
    bounds = [prove_loss(X, 3, jobs=jobs).bound for jobs in (1, 2, 3)]
    assert len(set(bounds)) == 1
    assert usual == pytest.approx(bounds[0], rel=1e-12)


def test_wrong_arguments_say_what_to_do():
    with refused(InfeasibleInputError, "k = 301", "300"):
        loss_bound(X, 301)
    with refused(JobError, "k = 0"):
        loss_bound(X, 0)
    with refused(UnknownNameError, "'y'"):
        loss_bound(X, 3, scale="y")


def test_one_group_of_equal_records_loses_nothing():
    assert loss_bound(np.full((5, 2), 0.1), 3, scale="none") == 0.0
    near = [[1e9], [1e9], [1e9], [1e9], [np.nextafter(1e9, 2e9)]]
    step = np.nextafter(1e9, 2e9) - 1e9
    assert loss_bound(near, 3, scale="none") <= 0.8 * step**2
