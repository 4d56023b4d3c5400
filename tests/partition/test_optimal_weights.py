"""Optimal groups of records with weights, by columns: prices, costs and bounds."""

from itertools import combinations

import numpy as np
import pytest
from partition.weighted import all_partitions

from aggopt.core.deadline import Deadline
from aggopt.core.record_weights import compute_sse
from aggopt.models import set_partition
from aggopt.partition import optimal
from aggopt.partition._optimal import search_tree_kernels as exhaustive
from aggopt.partition._optimal.columns import compute_group_sse, sort_groups
from aggopt.partition._optimal.pricing import Duals, Pricer, PricingEffort
from aggopt.partition.neighbours import find_neighbours
from aggopt.solvers import Status

RNG = np.random.default_rng(2)
Z = RNG.normal(size=(12, 3))
W = np.exp(1.5 * RNG.normal(size=12))


def cost(rows):
    rows = list(rows)
    return compute_sse(Z[rows], np.zeros(len(rows), int), W[rows])


@pytest.mark.parametrize(("k", "most"), [(2, 0.2), (3, -0.5), (4, 0.3)])
def test_exact_pricing_finds_every_group_that_pays(k, most):
    u = np.random.default_rng(k).uniform(0.2, 1.5, 12)
    pricer = Pricer(Z, k, find_neighbours(Z, 5), W)
    found = pricer.price_groups(
        Duals(u), PricingEffort(keep=9999), Deadline(None), most
    )
    every = (g for s in range(k, 2 * k) for g in combinations(range(12), s))
    reduced = {g: cost(g) - u[list(g)].sum() for g in every}
    got = [tuple(row[row >= 0].tolist()) for row in found.groups.members]
    assert found.complete
    assert len(got) > 5
    assert sorted(got) == sorted(g for g, paid in reduced.items() if paid <= most)
    assert found.reduced == pytest.approx([reduced[g] for g in got])


def test_heuristic_pricing_ends_where_no_record_is_better_changed():
    start = sort_groups(np.array([[0, 5, 9, -1, -1], [1, 2, 3, 4, -1]], np.int32))
    u = np.full(12, 3.0)
    pricer = Pricer(Z, 3, find_neighbours(Z, 11), W)
    groups, reduced = pricer.price_heuristically(Duals(u), start)
    assert len(reduced) == 2
    for row, paid in zip(groups.members, reduced, strict=True):
        own = set(row[row >= 0].tolist())
        assert paid == pytest.approx(cost(own) - 3.0 * len(own))
        others = set(range(12)) - own
        near = [own - {i} | {j} for i in own for j in others]
        near += [own | {j} for j in others if len(own) < 5]
        near += [own - {i} for i in own if len(own) > 3]
        assert paid <= min(cost(g) - 3.0 * len(g) for g in near) + 1e-9


@pytest.mark.parametrize("exact", [False, True])
def test_columns_and_the_model_cost_what_groups_lose(exact):
    chosen = [(0, 1, 2), (3, 4, 5, 6), (7, 8, 9, 10, 11), (2, 5, 11)]
    rows = np.full((4, 5), -1, np.int32)
    for row, group in zip(rows, chosen, strict=True):
        row[: len(group)] = group
    costs = [cost(group) for group in chosen]
    found = compute_group_sse(Z + 7.0, sort_groups(rows), exact, W)
    assert found == pytest.approx(costs)
    column = np.repeat(np.arange(4), [len(group) for group in chosen])
    data = set_partition.Data(Z, 3, column, np.concatenate(chosen), weights=W)
    assert data.costs == pytest.approx(costs)
    pairs = combinations(range(3), 2)
    squares = sum(W[i] * W[j] * ((Z[i] - Z[j]) ** 2).sum() for i, j in pairs)
    assert data.costs[0] == pytest.approx(squares / W[:3].sum())


@pytest.mark.parametrize("k", [2, 3, 4])
def test_no_partition_loses_less(k):
    records, weights = Z[:9], W[:9]
    best = min(compute_sse(records, each, weights) for each in all_partitions(9, k))
    found = optimal(records, k, scale="none", weights=weights).certificate
    assert found.status is Status.OPTIMAL
    assert found.objective == pytest.approx(best)
    assert found.bound <= best * (1 + 1e-12)


@pytest.mark.parametrize("k", [2, 3])
def test_columns_and_all_partitions_find_the_same(k, monkeypatch):
    best = optimal(Z, k, weights=W).certificate
    assert (best.status, best.solver) == (Status.OPTIMAL, "all partitions")
    monkeypatch.setattr(exhaustive, "MOST", 0)
    found = optimal(Z, k, weights=W).certificate
    assert found.status is Status.OPTIMAL
    assert found.solver != "all partitions"
    assert found.objective == pytest.approx(best.objective)
    assert found.bound <= best.objective * (1 + 1e-12)


def test_copies_with_other_weights_are_no_copies():
    records = np.repeat(Z[:2], 30, axis=0)
    plain = Pricer(records, 3, find_neighbours(records, 5)).duplicates
    mixed = Pricer(
        records, 3, find_neighbours(records, 5), np.arange(1.0, 61)
    ).duplicates
    assert plain.some
    assert not mixed.some
