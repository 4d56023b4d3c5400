"""`optimal` and the pair program: its bound, its prices, and its rows of sizes."""

from itertools import combinations

import numpy as np
import pytest
from partition.weighted import all_partitions

from aggopt.algorithms.pair_bound import bound_partitions
from aggopt.core.deadline import Deadline
from aggopt.core.record_weights import compute_sse
from aggopt.partition import loss_bound, optimal
from aggopt.partition._optimal import search_tree_kernels
from aggopt.partition._optimal.column_generation import ColumnGeneration
from aggopt.partition._optimal.incumbent import Incumbent
from aggopt.partition._optimal.pricing import Duals, Pricer, PricingEffort
from aggopt.partition.neighbours import find_neighbours
from aggopt.solvers import Status

RNG = np.random.default_rng(6)
SIZES = 3 * [8, 5]  # of natural groups, which k = 4 does not divide
X = np.concatenate([RNG.normal(size=(s, 2)) / 8 + RNG.normal(size=2) for s in SIZES])


def tables(number):
    """Small tables, with copies and with weights, and their k."""
    for seed in range(number):
        rng = np.random.default_rng(seed)
        k = int(rng.integers(2, 4))
        n = int(rng.integers(2 * k, 10))
        records = rng.normal(size=(n, 2)).round(1) / 8
        if seed % 4 == 0:
            records[2:4] = records[:2]
        weights = None
        if seed % 3 == 0:
            weights = np.exp(rng.normal(size=n))
            weights /= weights.mean()
        yield records, k, weights


def test_no_group_loses_less_than_its_prices():
    sets = 0
    for records, k, weights in tables(16):
        n = len(records)
        found = bound_partitions(records, k, 0.05, weights=weights)
        prices = found.prices
        if prices is None:
            continue
        sets += len(prices.sets)
        rooms = [len(each) // k for each in prices.sets]
        total = prices.records.sum() - prices.charges @ np.array(rooms, float)
        assert total == pytest.approx(found.bound)
        for size in range(k, min(2 * k, n + 1)):
            for group in combinations(range(n), size):
                rows = list(group)
                own = None if weights is None else weights[rows]
                loss = compute_sse(records[rows], np.zeros(size, int), own)
                price = prices.records[rows].sum()
                for each, charge in zip(prices.sets, prices.charges, strict=True):
                    price -= charge * ({*group} <= {*each.tolist()})
                assert price <= loss + 1e-12 * found.bound
    assert sets > 20


def test_no_partition_loses_less(monkeypatch):
    monkeypatch.setattr(search_tree_kernels, "MOST", 0)
    for records, k, weights in tables(8):
        every = all_partitions(len(records), k)
        best = min(compute_sse(records, labels, weights) for labels in every)
        found = optimal(records, k, scale="none", weights=weights).certificate
        assert found.status is Status.OPTIMAL
        assert found.objective == pytest.approx(best, rel=1e-6, abs=1e-12)
        assert found.bound <= best * (1 + 1e-12)


@pytest.mark.parametrize("weights", [None, 1.0 + np.arange(len(X)) % 3])
def test_no_group_prices_out_at_the_prices(weights):
    k = 4
    pairs = bound_partitions(X / 4, k, 0.2, weights=weights)
    pricer = Pricer(X / 4, k, find_neighbours(X, 8), weights)
    duals = Duals.of_pairs(pairs.prices, k, pricer.duplicates.many)
    assert len(duals.cuts) > 0
    assert duals.value == pytest.approx(pairs.bound)
    for each in (duals, Duals(duals.spread)):
        priced = pricer.price_groups(each, PricingEffort(), Deadline(None))
        assert priced.done
        assert pricer.bound(each, priced.lowest) == pytest.approx(each.value)


def test_rows_of_sizes_raise_the_program_above_the_bound_of_pairs():
    k = 4
    pairs = bound_partitions(X / 4, k, 0.2)
    labels = optimal(X, k, scale="none", time_limit=0).labels
    values = []
    for prices in (None, pairs.prices):
        best = Incumbent(X / 4, k, labels, 0.0, 1e-9)
        pricer = Pricer(X / 4, k, find_neighbours(X, 8))
        generation = ColumnGeneration(best, pricer, Deadline(None), None, prices)
        with generation.master:
            generation.add_sizes()
            assert generation.price()
            values.append(generation.solved.value)
    assert values[0] < pairs.bound * (1 - 1e-4)
    assert values[1] >= pairs.bound * (1 - 1e-9)
    assert values[1] <= optimal(X, k, scale="none").loss / 16 * (1 + 1e-9)


@pytest.mark.parametrize("k", [3, 6])
def test_a_wide_gap_needs_no_columns_and_the_bound_is_no_less_than_that_of_pairs(k):
    records = np.random.default_rng(3).normal(size=(80, 3))
    found = optimal(records, k, gap_tol=0.15).certificate
    assert found.status is Status.GAP
    assert found.solver == "local search"
    pairs = loss_bound(records, k, bound="quick")
    assert 0.85 * found.objective <= pairs <= found.bound < found.objective
    none = optimal(records, k, time_limit=0).certificate
    assert none.bound == pytest.approx(loss_bound(records, k, bound="none"))


def test_an_interrupt_of_the_pair_program_leaves_its_bound():
    records = np.random.default_rng(3).normal(size=(150, 3))

    def interrupt(share: float) -> None:
        if share > 0.02:  # after the search for nearest records
            raise KeyboardInterrupt

    found = optimal(records, 3, progress=interrupt).certificate
    assert found.status is Status.INTERRUPTED
    none = loss_bound(records, 3, bound="none")
    assert none < found.bound < found.objective
