"""Solver `slots`: the best of all choices, its proof, and the rounding's guarantee."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from category_instances import beside, counts, least, nominal, ordinal
from refusals import refused

from aggopt.algorithms.slots import (
    assign_undivided,
    find_dearer_pairs,
    find_far_pairs,
    reduce_slacks,
    remove_pairs,
    round_shares,
)
from aggopt.core.deadline import compile_time
from aggopt.errors import JobError
from aggopt.models import frequencies as model
from aggopt.models.shared.category_choice import count_released, read_shares
from aggopt.solvers import SOLVERS, Status, choose_solver, solve
from aggopt.solvers.run_solver import run_here

SLOTS = SOLVERS["slots"]


def asked(data, time_limit=60.0, options=None):
    return run_here(model.MODEL, data, SLOTS, None, time_limit, options)


def relaxed(data):
    """Return y of the relaxation, and its value."""
    loose = replace(data, shares="any")
    problem = model.build(loose, "cvxpy")
    outcome = solve(problem)
    return read_shares(problem), outcome.bound


@pytest.mark.parametrize("seed", range(12))
def test_the_best_of_all_choices_is_found_and_proven(seed):
    count = counts(seed, 6, 3, 2 + seed % 2)
    data = [
        nominal(count, slack=1),
        ordinal(count, slack=0),
        nominal(count, price=0.75),
        beside(count, seed, 0.5),
    ][seed % 4]
    found, best = asked(data), least(data)
    if not np.isfinite(best):
        assert found.status is Status.INFEASIBLE
        assert found.reading is None
        assert found.bound >= 0
        return
    assert found.status is Status.OPTIMAL
    at = model.point(data, found.reading)
    assert model.objective(data, at) == pytest.approx(best)
    assert model.MODEL.violation(data, at) < 1e-9
    assert best * (1 - 2e-6) - 1e-6 <= found.bound <= best + 1e-9


def test_it_is_the_default_and_agrees_with_declared_programs():
    assert choose_solver(None, *model.MODEL.kinds) is SLOTS
    data = ordinal(counts(7, 60, 5, 3), slack=3)
    own, declared = asked(data), solve(model.build(data, "cvxpy"))
    best = model.objective(data, model.point(data, own.reading))
    assert own.status is declared.status is Status.OPTIMAL
    assert declared.bound == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("seed", range(60))
def test_rounding_costs_no_more_and_misses_by_the_largest_group_at_most(seed):
    rng = np.random.default_rng(seed)
    m, categories, k = rng.integers([5, 2, 2], [60, 7, 8]).tolist()
    count = counts(seed, m, categories, k)
    data = (nominal if seed % 2 else ordinal)(count, slack=0)
    y, value = relaxed(data)
    picked = round_shares(data, y)
    at = model.point(data, picked)
    assert model.objective(data, at) <= value + 1e-6
    away = np.abs(count_released(data, at.y) - data.counts)
    _, divided = assign_undivided(data, y)
    most = data.weights[0, divided.groups].max(initial=0.0)
    assert away.max() <= most + 1e-6  # of the groups that are divided: none if none is
    assert len(divided.groups) <= categories


@pytest.mark.parametrize("seed", range(5))
def test_any_shares_are_rounded_within_the_largest_group(seed):
    rng = np.random.default_rng(seed)
    data = nominal(counts(seed, 30, 4, 4), slack=0)
    t, _ = data.pairs
    y = rng.random(len(t))
    y *= (data.classes[2] / np.bincount(t, y))[t]
    at = model.point(data, round_shares(data, y))
    away = np.abs(count_released(data, at.y) - count_released(data, y))
    assert away.max() <= data.weights.max() + 1e-6
    assert model.objective(data, at) <= data.costs @ y + 1e-6


def test_the_order_of_sizes_is_what_keeps_any_shares_within_the_largest_group():
    for seed in range(150):
        rng = np.random.default_rng(seed)
        m, categories = int(rng.integers(8, 20)), int(rng.integers(2, 4))
        size = np.exp(rng.uniform(0, 3, m)).round()
        table = np.full((1, categories), size.sum() / categories)
        loss = rng.random((m, categories))
        data = model.Data(loss, size[None], table, np.zeros_like(table))
        y = rng.dirichlet(np.ones(categories), m)[data.classes[0]].ravel()
        at = model.point(data, round_shares(data, y))
        away = np.abs(count_released(data, at.y) - count_released(data, y))
        assert away.max() <= size.max() + 1e-9
        assert model.objective(data, at) <= data.costs @ y + 1e-9


def test_shares_that_do_not_add_up_are_not_rounded_to_a_wrong_choice():
    data = nominal(counts(0, 8), slack=1)
    y, _ = relaxed(data)
    found = round_shares(data, np.maximum(y - 0.3, 0.0))
    assert found is None or (found >= 0).all()


@pytest.mark.parametrize("slack", [0, 3, 7])
def test_equal_sizes_need_no_branching(slack):
    rng = np.random.default_rng(slack)
    count = rng.multinomial(5, [0.4, 0.3, 0.2, 0.1], 40).astype(float)
    data = nominal(count, slack=slack)
    tight = reduce_slacks(data)
    if tight is None:
        assert (np.ceil(count.sum(axis=0) / 5) * 5 - count.sum(axis=0)).max() > slack
        found = asked(data)
        assert found.status is Status.INFEASIBLE
        return
    y, value = relaxed(tight)
    assert y == pytest.approx(np.rint(y), abs=1e-7)
    found = asked(data)
    best = model.objective(data, model.point(data, found.reading))
    assert best == pytest.approx(value, abs=1e-6)


def test_tightening_takes_no_choice_away():
    for seed in range(30):
        count = counts(seed, 5, 3, 2) * 2
        data = nominal(count, slack=3)
        tight = reduce_slacks(data)
        assert (np.inf if tight is None else least(tight)) == least(data)


def test_what_is_barred_is_in_no_choice_that_is_as_good():
    for seed in range(20):
        data = ordinal(counts(seed, 5, 3, 2), slack=2)
        best = least(data)
        if not np.isfinite(best):
            continue
        prices = np.random.default_rng(seed).normal(size=(1, 3)) / 3
        assert least(remove_pairs(data, find_dearer_pairs(data, prices, best))) == best
        few = find_far_pairs(data, prices, 2)
        assert np.count_nonzero(~few) >= len(data.classes[0])
        assert least(remove_pairs(data, few)) >= best


def test_a_limit_of_time_acts_and_what_is_proven_stays():
    data = ordinal(counts(3, 400, 12, 5), slack=0)
    found = asked(data, time_limit=1e-6)
    plurality = data.loss.min(axis=1).sum()
    assert found.reading is None
    assert found.status is Status.FAILED
    assert found.bound == pytest.approx(plurality)
    priced = replace(data, slack=None, price=1.0)
    found = asked(priced, time_limit=1e-6)
    assert found.status is Status.LIMIT
    assert (found.reading == data.loss.argmin(axis=1)).all()
    assert found.bound == pytest.approx(plurality)


@pytest.mark.parametrize("slow", ["any", "whole"])
@pytest.mark.parametrize("how", [{"slack": 0}, {"price": 0.75}])
def test_time_that_runs_out_while_a_program_is_built_is_a_limit(how, slow, monkeypatch):
    data = ordinal(counts(3, 40, 6, 5), **how)
    build, now, late = model.build, compile_time.now, []

    def slowly(given, language):
        late.extend([100.0] * (given.shares == slow))
        return build(given, language)

    monkeypatch.setattr(model, "build", slowly)
    monkeypatch.setattr(compile_time, "now", lambda: now() + sum(late))
    found = asked(data)
    assert len(late) == 1
    none = found.reading is None
    assert found.status is (Status.FAILED if none else Status.LIMIT)
    assert none == ("slack" in how)
    assert 0 < found.bound < np.inf


def test_no_limit_of_time_counts_what_loads_the_solvers():
    loaded = "import sys, aggopt.algorithms.slots as _; assert 'cvxpy' in sys.modules"
    subprocess.run([sys.executable, "-c", loaded], check=True)


def test_other_options_are_refused():
    with refused(JobError, "'presolve'"):
        asked(nominal(counts(0), slack=1), None, {"presolve": "off"})
    with refused(JobError, "time_limit = -1"):
        asked(nominal(counts(0), slack=1), None, {"time_limit": -1})
