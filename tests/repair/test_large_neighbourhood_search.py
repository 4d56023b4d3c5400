"""Choices of unions, part by part: as good as one program over all, never worse."""

import closeness as oracle
import numpy as np
import pytest
from conftest import require_solver

from aggopt.core.deadline import Deadline
from aggopt.partition import mdav
from aggopt.repair import _merge_ilp, closeness
from aggopt.repair._merge_ilp import (
    SearchedUnions,
    _complete_choice,
    price_unions,
    search_unions,
)
from aggopt.repair._problem import create_problem, make_close
from aggopt.repair._unions import find_close_unions
from aggopt.solvers import SOLVERS, Status
from aggopt.solvers.certificate import Answer


def prepared(seed, n=39, k=3, t=0.2):
    require_solver("cvxpy:highs")
    Z, values = oracle.instance(seed, n, ties=False)
    task = create_problem(Z, values, k, t, "distinct")
    labels = mdav(Z, k).labels
    start = make_close(task, labels)
    unions = find_close_unions(task, labels, start, Deadline(None))
    prices = price_unions(unions, int(start.max()) + 2, Deadline(None), np.inf)
    return task, start, unions, prices


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("groups", [6, 100])
def test_every_group_is_in_one_close_union(monkeypatch, seed, groups):
    monkeypatch.setattr(_merge_ilp, "GROUPS", groups)
    task, start, unions, prices = prepared(seed)
    missing = task.sse(start) + 1
    owner, _ = search_unions(unions, prices, missing, Deadline(None), np.inf)
    for q in np.unique(owner[owner >= 0]):
        assert set(unions.members(q)) == set(np.flatnonzero(owner == q))
    found = _complete_choice(unions, owner, start)
    assert task.holds(found)
    assert task.sse(found) >= prices.bound - 1e-9
    if groups == 100:  # one part of everything is the whole program
        best = closeness(task.Z, task.ordered.place, unions.labels, task.k, task.t)
        assert task.sse(found) == pytest.approx(best.merging.objective)


def test_the_same_twice_where_no_time_is_set():
    _, _, unions, prices = prepared(1)
    one, other = (
        search_unions(unions, prices, 500, Deadline(None), np.inf).owner
        for _ in range(2)
    )
    assert (one == other).all()


def test_groups_that_are_left_out_are_merged():
    task, start, unions, _ = prepared(2)
    owner = np.full(unions.m, -1)
    owner[unions.members(0)] = 0
    found = _complete_choice(unions, owner, start)
    assert task.holds(found)
    assert (found == make_close(task, unions.labels)).all()


def test_where_no_union_was_chosen_nothing_is_merged_anew(monkeypatch):
    _, start, unions, _ = prepared(2)
    monkeypatch.delattr(_merge_ilp, "make_close")
    assert _complete_choice(unions, np.full(unions.m, -1), start) is start


def test_a_solver_has_time_however_long_choosing_what_it_looks_at_took(monkeypatch):
    _, start, unions, _ = prepared(0)
    clock, asked, limits = Deadline(30.0), _merge_ilp._select_for_program, []

    def slowly(*given):
        clock.started -= 100
        return asked(*given)

    def answered(*given):
        limits.append(given[3])
        return Answer(None, Status.LIMIT, None, "cvxpy:highs", 0.0)

    nothing = np.full(unions.m, -1)
    found = SearchedUnions(nothing)
    monkeypatch.setattr(_merge_ilp, "search_unions", lambda *given: found)
    monkeypatch.setattr(_merge_ilp, "_is_proven", lambda *given: False)
    monkeypatch.setattr(_merge_ilp, "_select_for_program", slowly)
    monkeypatch.setattr(_merge_ilp, "run_with_hard_limit", answered)
    known = int(start.max()) + 2
    found = _merge_ilp.choose_from(unions, known, start, SOLVERS["cvxpy:highs"], clock)
    assert found.certificate.status is Status.LIMIT
    assert [0 < limit <= 30 for limit in limits] == [True]


def test_rows_of_some_unions():
    _, _, unions, _ = prepared(0)
    some = np.array([5, 2, len(unions.costs) - 1])
    starts, index = unions.rows(some)
    parts = np.split(index, starts[1:-1])
    expected = [unions.members(q).tolist() for q in some]
    assert [part.tolist() for part in parts] == expected


def test_prices_prove_the_bound_and_shares_cover_each_group_once():
    _, _, unions, prices = prepared(0)
    covered = np.bincount(unions.group, prices.shares[unions.column])
    assert covered == pytest.approx(np.ones(unions.m))
    assert prices.reduced.min() >= -1e-8
    assert prices.bound == pytest.approx(unions.costs @ prices.shares)
