"""The univariate model: both declarations, the formula in NumPy, what it refuses."""

import cvxpy as cp
import numpy as np
import pyomo.environ as pyo
import pytest
from conftest import require_solver
from partition import exact
from programs import missed_by
from refusals import refused

from aggopt.errors import InfeasibleInputError, JobError, TableError, UnknownNameError
from aggopt.models import univariate as model
from aggopt.solvers import SOLVERS
from aggopt.solvers.run_solver import run_here

CHOICES = [("sse", "any"), ("sae", "any"), ("maxdist", "any"), ("sse", "integer")]
HEADINGS = ("Data", "Variables", "Minimise", "Subject to", "Class:", "Source:")
choices = pytest.mark.parametrize(("cost", "centroids"), CHOICES)


def instance(seed=0, n=11, k=3, cost="sse", centroids="any"):
    x = np.sort(np.random.default_rng(seed).normal(scale=5, size=n))
    return model.Data(x, k, cost, centroids)


def somewhere(data, seed=0):
    tail, head = model.list_arcs(data)
    return model.Point(tail, head, np.random.default_rng(seed).normal(size=len(tail)))


def in_unit(data):
    return data.unit ** (2 if data.cost == "sse" else 1)


@choices
def test_costs_are_those_of_exact_arithmetic(cost, centroids):
    for offset in (0, 10**9):
        x = offset + np.sort(np.random.default_rng(1).integers(0, 99, 15)) / 4
        data = model.Data(x, 3, cost, centroids)
        tail, head = model.list_arcs(data)
        v = exact.values(data.x)
        kind = centroids if centroids == "integer" else cost
        for i, j, c in zip(
            tail, head, model.compute_costs(data, tail, head), strict=True
        ):
            assert c * in_unit(data) == pytest.approx(float(exact.cost(v[i:j], kind)))


@choices
def test_both_languages_and_numpy_say_the_same(cost, centroids):
    data = instance(2, cost=cost, centroids=centroids)
    at = somewhere(data)
    declared = model.build(data, "cvxpy")
    declared.var_dict["y"].value = at.y
    also = model.build(data, "pyomo")
    for a, y in enumerate(at.y):
        also.y[a] = y
    assert float(declared.objective.value) == pytest.approx(model.objective(data, at))
    assert pyo.value(also.cost) == pytest.approx(model.objective(data, at))
    leave, flow, sign = (np.atleast_1d(c.violation()) for c in declared.constraints)
    for block, missed in ((also.leave, leave), (also.sign, sign)):
        assert [missed_by(c) for c in block.values()] == pytest.approx(missed)
    assert max(missed_by(c) for c in also.flow.values()) == pytest.approx(flow.max())
    worst = max(m.max() for m in (leave, flow, sign))
    assert model.MODEL.violation(data, at) == pytest.approx(worst)


def test_violation_by_hand():
    data = model.Data(np.arange(6.0), 2)
    tail, head = np.array([0, 2, 4]), np.array([2, 4, 6])
    for y, missed in (([1, 1, 1], 0), ([1, 0.75, 1], 0.25), ([0.5, 1, 1], 0.5)):
        at = model.Point(tail, head, np.array(y, float))
        assert model.MODEL.violation(data, at) == missed
    long = model.Point(np.array([0]), np.array([6]), np.ones(1))
    assert model.MODEL.violation(data, long) == 1


def test_the_arcs_are_all_groups_of_k_to_2k_less_1():
    tail, head = model.list_arcs(instance(n=7, k=2))
    expected = [(i, j) for i in range(7) for j in range(i + 2, min(i + 3, 7) + 1)]
    assert list(zip(tail, head, strict=True)) == expected
    assert [a.tolist() for a in model.list_arcs(instance(n=5, k=3))] == [[0], [5]]


@pytest.mark.parametrize("name", ["cvxpy:highs", "cvxpy:clarabel", "pyomo:highs"])
@pytest.mark.parametrize(
    "x", [np.zeros(12), np.arange(12.0), np.repeat([1.0, 2, 3], 4)]
)
def test_a_path_is_read_where_a_solver_spreads_over_several(name, x):
    require_solver(name)
    data = model.Data(x, 2)
    found = run_here(model.MODEL, data, SOLVERS[name], None, None, None)
    at = model.point(data, found.reading)
    assert model.MODEL.violation(data, at) == 0
    assert model.objective(data, at) == pytest.approx(found.bound, abs=1e-6)


def test_nothing_is_read_off_a_problem_that_was_not_solved():
    data = instance()
    assert model.labels(model.build(data, "cvxpy"), data) is None
    assert model.labels(model.build(data, "pyomo"), data) is None


def test_the_point_of_labels_is_their_path():
    data = model.Data(np.arange(5.0), 2)
    tail, head, y = model.point(data, np.array([0, 0, 1, 1, 1]))
    assert (tail.tolist(), head.tolist(), y.tolist()) == ([0, 2], [2, 5], [1, 1])


def test_the_unit_keeps_costs_near_one():
    for scale in (1e-150, 1e-9, 1.0, 1e9, 1e150):
        x = np.sort(np.random.default_rng(3).normal(size=200)) * scale
        data = model.Data(x, 4)
        assert 0.01 < np.median(model.compute_costs(data, *model.list_arcs(data))) < 100
    assert model.Data(np.zeros(4), 2).unit == 1.0


def test_the_head_states_the_model():
    places = [model.__doc__.find(f"\n{heading}") for heading in HEADINGS]
    assert min(places) > 0
    assert places == sorted(places)
    for name in ("leave", "flow", "sign", "size"):
        assert f"\n    {name}: " in model.__doc__


def test_the_declared_class_is_the_problem_s():
    problem = model.build(instance(), "cvxpy")
    assert isinstance(problem.objective, cp.Minimize)
    assert problem.is_dcp()
    assert not problem.is_mixed_integer()
    assert problem.status is None


def test_printing_the_data_shows_no_value():
    assert repr(instance()) == "Data(k=3, cost='sse', centroids='any')"


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"x": np.array([2.0, 1.0])}, TableError),
        ({"x": np.array([1.0, np.nan])}, TableError),
        ({"x": np.array([[1.0, 2.0]])}, TableError),
        ({"x": np.array([-1.7e308, 1.7e308])}, TableError),
        ({"k": 3}, InfeasibleInputError),
        ({"k": 1.5}, JobError),
        ({"cost": "mse"}, UnknownNameError),
        ({"centroids": "integers"}, UnknownNameError),
        ({"cost": "maxdist", "centroids": "integer"}, JobError),
    ],
)
def test_data_that_states_no_program_is_refused(change, error):
    with refused(error):
        model.Data(**({"x": np.array([1.0, 2.0]), "k": 1} | change))


def test_an_unknown_language_is_refused():
    with refused(UnknownNameError, "'cvxpy'"):
        model.build(instance(), "cvxpi")
