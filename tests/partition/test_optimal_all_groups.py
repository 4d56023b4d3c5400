"""`optimal`, held against an integer program over all groups that there are."""

from functools import cache
from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import milp
from scipy.sparse import csc_array

from aggopt.core.record_weights import compute_sse
from aggopt.core.standardise import Scale
from aggopt.partition import local_search, optimal
from aggopt.partition._optimal import schedule
from aggopt.partition._optimal import search_tree_kernels as exhaustive
from aggopt.partition._optimal.incumbent import Incumbent
from aggopt.solvers import Status

CASES = [(11, 4), (15, 3), (16, 2), (20, 2)]
LONGER = [(13, 4), (13, 6), (17, 3), (20, 3)]


@pytest.fixture(autouse=True)
def _by_columns(monkeypatch):
    """Few records are priced like many; `test_optimal_few.py` is about the others."""
    monkeypatch.setattr(exhaustive, "MOST", 0)


KINDS = ("normal", "tied", "repeated", "outlying")


def records(seed: int, n: int, kind: str):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    if kind == "tied":
        return np.rint(X)
    if kind == "repeated":
        return X[rng.integers(0, n // 2, n)]
    return np.exp(2 * X) if kind == "outlying" else X


def least_loss(Z, k: int) -> float:
    """The least loss of all partitions, by an integer program over all groups."""
    n = len(Z)
    sizes = [s for s in range(k, 2 * k) if s <= n - k]  # the others need k, too
    groups = [np.array(list(combinations(range(n), s))) for s in sizes]
    rows = [Z[g] - Z[g].mean(axis=1, keepdims=True) for g in groups]
    lost = [(r**2).sum(axis=(1, 2)) for r in rows]
    share = np.full(n, np.inf)  # what a record adds to any partition, at least
    for g, of in zip(groups, lost, strict=True):
        np.minimum.at(share, g, of[:, None] / g.shape[1])
    found = local_search(Z, k, effort="fast", scale="none")
    known = compute_sse(Z, found) * (1 + 1e-9)  # the best groups lose no more
    few = [
        of + share.sum() - share[g].sum(axis=1) <= known
        for g, of in zip(groups, lost, strict=True)
    ]
    groups = [g[kept] for g, kept in zip(groups, few, strict=True)]
    costs = np.concatenate([of[kept] for of, kept in zip(lost, few, strict=True)])
    ends = np.cumsum(np.repeat(sizes, [len(g) for g in groups]))
    record = np.concatenate([g.ravel() for g in groups])
    ones = np.ones(len(record))
    holds = csc_array((ones, record, np.append(0, ends)), (n, len(costs)))
    found = milp(
        costs,
        integrality=np.ones(len(costs)),
        bounds=(0, 1),
        constraints=(holds, 1, 1),
        options={"mip_rel_gap": 0.0},
    )
    assert found.success
    return float(costs[found.x > 0.5].sum())


@pytest.fixture
def proven(monkeypatch):
    """Every bound that was ever claimed."""
    real, told = Incumbent.prove, []

    def prove(self, bound: float) -> None:
        real(self, bound)
        told.append(100 * self.bound / (self.Z**2).sum())  # in %, whatever Z's unit

    monkeypatch.setattr(Incumbent, "prove", prove)
    return told


@cache
def task(n: int, k: int, kind: str):
    """Return records, their z-scores, and the least loss of groups of k or more."""
    X = records(n + k, n, kind)
    Z = Scale.of(X).standardise(X)
    return X, Z, least_loss(Z, k)


def hold(n: int, k: int, kind: str, proven: list[float]) -> None:
    X, Z, best = task(n, k, kind)
    found = optimal(X, k).certificate
    assert found.status is Status.OPTIMAL
    assert found.objective == pytest.approx(best, abs=1e-6 * Z.size)
    assert found.bound <= best * (1 + 1e-9)
    # none is proven by prices if the bound of pairs is met
    assert max(proven, default=0.0) <= 100 * best / (Z**2).sum() * (1 + 1e-7)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n", "k"), CASES)
def test_the_optimum_is_that_over_all_groups(n, k, kind, proven):
    hold(n, k, kind, proven)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["tied", "outlying"])
@pytest.mark.parametrize(("n", "k"), LONGER)
def test_so_it_is_with_more_groups(n, k, kind, proven):
    hold(n, k, kind, proven)


@pytest.mark.parametrize("kind", KINDS)
def test_so_it_is_by_integer_programs(kind, proven, monkeypatch):
    monkeypatch.setattr(schedule, "QUICK", 0)  # no branches before integer programs
    hold(15, 3, kind, proven)
