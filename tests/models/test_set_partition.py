"""The model of set partitioning: both declarations, NumPy, and every partition."""

from itertools import combinations

import numpy as np
import pyomo.environ as pyo
import pytest
from conftest import require_solver
from partition import exact
from programs import missed_by
from refusals import refused

from aggopt.errors import InfeasibleInputError, JobError, UnknownNameError
from aggopt.models import set_partition as model
from aggopt.solvers import SOLVERS, Status, solve

HEADINGS = ("Data", "Variables", "Minimise", "Subject to", "Class:", "Source:")
CONSTRAINTS = ("cover", "subset", "sign", "size", "whole")
MILP = pytest.mark.parametrize("name", ["cvxpy:highs", "pyomo:highs", "pyomo:scip"])


def instance(seed=0, n=8, k=3, shares="whole", cuts=((0, 1, 2), (1, 2, 3, 5, 7))):
    """All groups of k - 1 to 2k of so many records, ties among them."""
    x = np.random.default_rng(seed).integers(0, 5, (n, 2)).astype(float)
    chosen = [g for s in range(k - 1, 2 * k + 1) for g in combinations(range(n), s)]
    return model.Data(x, k, *numbered(chosen), *numbered(cuts), shares)


def numbered(sets):
    number = np.repeat(np.arange(len(sets)), [len(s) for s in sets])
    return number.astype(np.intp), np.array([i for s in sets for i in s], np.intp)


def groups(data):
    return [part.tolist() for part in np.split(data.record, data.first[1:])]


def loss(x, rows):
    return float(sum(exact.cost(exact.values(c), "sse") for c in x[rows].T))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("shares", model.SHARES)
def test_both_languages_and_numpy_say_the_same(seed, shares):
    data = instance(seed, shares=shares)
    y = np.random.default_rng(seed).normal(size=len(data.sizes))
    declared, also = model.build(data, "cvxpy"), model.build(data, "pyomo")
    declared.var_dict["y"].save_value(y)  # not whole: save_value does not ask
    for q, value in enumerate(y):
        also.y[q].set_value(value, skip_validation=True)
    at = model.Point(y)
    assert float(declared.objective.value) == pytest.approx(model.objective(data, at))
    assert pyo.value(also.cost) == pytest.approx(model.objective(data, at))
    blocks = also.component_objects(pyo.Constraint)
    for one, block in zip(declared.constraints, blocks, strict=True):
        other = [missed_by(c) for c in block.values()]
        assert np.sort(np.ravel(one.violation())) == pytest.approx(np.sort(other))
    worst = max(np.max(c.violation()) for c in declared.constraints)
    assert model.MODEL.violation(data, at) == pytest.approx(worst)


def test_what_is_derived_is_what_the_head_says():
    data = instance(1)
    for q, rows in enumerate(groups(data)):
        assert data.costs[q] == pytest.approx(loss(data.x, rows))
        pairs = combinations(rows, 2)
        squares = sum(((data.x[i] - data.x[j]) ** 2).sum() for i, j in pairs)
        assert data.costs[q] == pytest.approx(squares / len(rows))
        assert data.sizes[q] == len(rows)
        for cut, records in enumerate([{0, 1, 2}, {1, 2, 3, 5, 7}]):
            assert data.halves[cut, q] == len(records & {*rows}) // 2
        assert (q in data.barred) == (len(rows) in (2, 6))
    assert data.most.tolist() == [1, 2]


@MILP
@pytest.mark.parametrize("seed", range(3))
def test_the_program_finds_the_best_of_all_partitions(name, seed):
    require_solver(name)
    data = instance(seed)
    problem = model.build(data, SOLVERS[name].language)
    outcome = solve(problem, name, time_limit=600)
    labels = model.labels(problem, data)
    at = model.point(data, labels)
    parts = exact.partitions(list(range(8)), 3)
    best = min(sum(loss(data.x, g) for g in p) for p in parts)
    assert outcome.status is Status.OPTIMAL
    assert model.MODEL.violation(data, at) == 0
    assert model.objective(data, at) == pytest.approx(best, abs=1e-6)
    assert outcome.bound == pytest.approx(best, rel=1e-4, abs=1e-6)
    first = [int(np.flatnonzero(labels == g)[0]) for g in range(labels.max() + 1)]
    assert first == sorted(first)


@pytest.mark.parametrize("language", model.LANGUAGES)
def test_in_part_no_more_is_lost_than_whole(language):
    data = instance(2, shares="any")
    problem = model.build(data, language)
    relaxed = solve(problem, f"{language}:highs").bound
    whole = model.build(instance(2), language)
    assert relaxed <= solve(whole, f"{language}:highs").bound + 1e-6


def test_every_partition_keeps_the_cuts():
    rng = np.random.default_rng(0)
    for _ in range(20):
        cuts = tuple(tuple(rng.choice(8, 5, replace=False)) for _ in range(9))
        data = instance(0, cuts=cuts)
        labels = np.arange(8) % 2
        rng.shuffle(labels)
        assert model.MODEL.violation(data, model.point(data, labels)) == 0


def test_violation_by_hand():
    data = instance(0)
    y = model.point(data, np.array([0, 0, 0, 0, 1, 1, 1, 1])).y
    assert model.MODEL.violation(data, model.Point(y)) == 0
    assert model.MODEL.violation(data, model.Point(0.75 * y)) == 0.25
    held = groups(data).index([0, 1])  # too few, half of the first cut, covered twice
    y[held] = 1
    assert model.MODEL.violation(data, model.Point(y)) == 1


def test_a_fractional_choice_breaks_a_cut():
    data = instance(0, shares="any")
    y = np.zeros(len(data.sizes))
    for rows in ([0, 1, 4], [0, 2, 5], [1, 2, 6]):
        y[groups(data).index(rows)] = 0.5
    above = data.halves @ y - data.most
    assert above.tolist() == [0.5, -1.0]


def test_the_head_states_the_model():
    places = [model.__doc__.find(f"\n{heading}") for heading in HEADINGS]
    assert min(places) > 0
    assert places == sorted(places)
    assert f"Class: {model.MODEL.kind}" in model.__doc__
    assert "\nPricing: " in model.__doc__
    for name in CONSTRAINTS:
        assert f"\n    {name}: " in model.__doc__


def test_data_shows_no_record_and_nothing_is_solved_by_declaring():
    data = instance(0)
    assert "array" not in repr(data)
    assert model.build(data, "cvxpy").status is None
    with refused(UnknownNameError, "'cvxpy'"):
        model.build(data, "cvxpi")
    assert model.labels(model.build(data, "cvxpy"), data) is None


def test_data_that_states_no_program_is_refused():
    data = instance(0)
    same = (data.x, 3)
    with refused(InfeasibleInputError):
        model.Data(data.x, 9, data.column, data.record)
    with refused(UnknownNameError, "'any'"):
        instance(0, shares="an")
    with refused(JobError):
        model.Data(*same, *numbered([[0, 1, 2, 3]]))
    with refused(JobError):
        model.Data(*same, data.column[::-1], data.record)
    with refused(JobError):
        model.Data(*same, *numbered([range(8), [0, 0, 1]]))
    with refused(JobError):
        model.Data(*same, data.column, data.record, *numbered([[0, 1, 8]]))
    with refused(JobError, "not proposed"):
        model.point(instance(0, k=2), np.zeros(8, int))
