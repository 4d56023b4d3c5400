"""`optimal` on few records, which all partitions are looked at for; and its end."""

from itertools import combinations

import numpy as np
import pytest
from partition.test_optimal import KINDS, least_loss, records

from aggopt.core import deadline
from aggopt.core.standardise import Scale
from aggopt.partition import loss_bound, optimal
from aggopt.partition._optimal import column_generation
from aggopt.partition._optimal import optimal as optimal_module
from aggopt.partition._optimal.columns import sort_groups
from aggopt.partition._optimal.pricing import SubsetCut
from aggopt.partition._optimal.search_tree_kernels import MOST, find_best_partition
from aggopt.solvers import Status


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("n", "d", "k"), [(7, 1, 2), (9, 2, 3), (10, 3, 4), (10, 2, 5)]
)
def test_no_partition_loses_less(n, d, k, kind):
    X = records(n + d + k, n, d, kind)
    Z = Scale.of(X).standardise(X)
    best, found = least_loss(Z, k), optimal(X, k).certificate
    assert (found.status, found.solver) == (Status.OPTIMAL, "all partitions")
    assert found.objective == pytest.approx(best, rel=1e-9, abs=1e-20)
    assert found.bound <= best * (1 + 1e-12) + 1e-20
    assert found.gap <= 1e-8


@pytest.mark.parametrize("kind", KINDS)
def test_groups_are_large_beside_the_table_and_it_ends(kind):
    found = optimal(records(0, 14, 4, kind), 5)
    assert found.certificate.status is Status.OPTIMAL
    assert np.bincount(found.labels).min() >= 5


def test_a_solver_that_is_named_is_asked_and_no_time_is_no_time():
    X = records(1, MOST, 2)
    assert optimal(X, 3, time_limit=0).certificate.solver == "local search"
    assert optimal(X[:9], 2, solver="cvxpy:highs").certificate.solver == "cvxpy:highs"
    assert find_best_partition(X[:4], 2).shape == (4,)


def test_without_seconds_it_stops_at_ten_minutes_and_says_so(monkeypatch):
    assert (deadline.LONGEST, optimal_module.LONGEST) == (600.0, 600.0)
    assert "600 when omitted" in optimal.__doc__
    monkeypatch.setattr(optimal_module, "LONGEST", 0.2)
    X = records(2, 40, 4)
    found = optimal(X, 13).certificate
    assert found.status is Status.LIMIT
    neighbours = loss_bound(X, 13, bound="none")
    assert neighbours * (1 - 1e-9) <= found.bound < found.objective


@pytest.mark.parametrize(("number", "kept"), [(5, True), (300, False)])
def test_an_integer_program_leaves_out_cuts_that_hold_much(number, kept):
    rows = np.array(list(combinations(range(14), 5)), np.int32)
    groups = sort_groups(np.pad(rows, ((0, 0), (0, 4)), constant_values=-1))
    cuts = [SubsetCut(c) for c in combinations(range(14), 3)][:number]
    data = column_generation._build_data(records(0, 14, 4), 5, groups, cuts)
    assert len(data.most) == (number if kept else 0)
