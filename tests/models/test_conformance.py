"""Every model that shifts centroids keeps the contract of a model file."""

from typing import Any

import cvxpy as cp
import numpy as np
import pyomo.environ as pyo
import pytest
from conftest import require_solver
from programs import missed_by
from shift_instances import MODELS, instance, somewhere

from aggopt.models import satisfaction
from aggopt.models.shared.shift_data import renormalise_means
from aggopt.solvers import SOLVERS, Status
from aggopt.solvers.run_solver import run_here

cases = pytest.mark.parametrize("model", MODELS, ids=lambda m: m.MODEL.name)
seeds = pytest.mark.parametrize("seed", range(4))
HEADINGS = ("Data", "Variables", "Minimise", "Subject to", "Class:", "Source:")


def in_cvxpy(model: Any, data: Any, at: Any) -> tuple[float, list[np.ndarray]]:
    problem = model.build(data, "cvxpy")
    for name, value in at._asdict().items():
        problem.var_dict[name].value = value
    missed = [np.atleast_1d(c.violation()) for c in problem.constraints]
    return float(problem.objective.value), missed


def in_pyomo(model: Any, data: Any, at: Any) -> tuple[float, list[np.ndarray]]:
    problem = model.build(data, "pyomo")
    for name, values in at._asdict().items():
        for i, value in enumerate(values):
            getattr(problem, name)[i] = value
    blocks = problem.component_objects(pyo.Constraint)
    missed = [np.array([missed_by(c) for c in block.values()]) for block in blocks]
    return float(pyo.value(problem.cost)), missed


@cases
@seeds
def test_both_languages_and_numpy_say_the_same(model, seed):
    data = instance(model, seed)
    at = somewhere(data, model, seed)
    cost, missed = in_cvxpy(model, data, at)
    also_cost, also_missed = in_pyomo(model, data, at)
    assert cost == pytest.approx(also_cost)
    assert cost == pytest.approx(model.objective(data, at))
    for one, other in zip(missed, also_missed, strict=True):
        assert one == pytest.approx(other)
    *own, mean, variance = (m.max() for m in missed)
    n = len(data.x)
    worst = max(*own, mean / n, variance / n)
    assert model.MODEL.violation(data, at) == pytest.approx(worst)


@cases
@seeds
def test_the_point_of_feasible_centroids_is_feasible(model, seed):
    data = instance(model, seed)
    at = model.point(data, renormalise_means(data))
    assert model.MODEL.violation(data, at) < 1e-9


@cases
@pytest.mark.parametrize("language", ["cvxpy", "pyomo"])
def test_a_problem_starts_where_it_is_told_and_is_read_back(model, language):
    data = instance(model, 1)
    start = np.arange(4.0)
    problem = model.build(data, language, start=start)
    assert model.centroids(problem, data) == pytest.approx(start)


@cases
def test_the_declared_class_is_the_problem_s(model):
    problem = model.build(instance(model, 0), "cvxpy")
    assert isinstance(problem.objective, cp.Minimize)
    assert not problem.is_dcp()
    assert problem.is_mixed_integer() == (model.MODEL.kind == "MINLP")


@cases
@seeds
def test_scip_agrees_with_the_declaration(model, seed):
    require_solver("pyomo:scip")
    data = instance(model, seed, n=9, m=3)
    solver = SOLVERS["pyomo:scip"]
    found = run_here(model.MODEL, data, solver, data.means, 60, None)
    assert found.status is Status.OPTIMAL
    slack = (
        {"touch": 1e-5} if model is satisfaction else {}
    )  # SCIP allows itself as much
    at = model.point(data, found.reading, **slack)
    assert model.MODEL.violation(data, at) < 2e-5
    assert model.objective(data, at) == pytest.approx(found.bound, abs=1e-4)
    rng = np.random.default_rng(seed)
    for _ in range(200):
        c = rng.normal(size=3)
        c -= np.average(c, weights=data.sizes)
        c /= np.sqrt(np.average(c**2, weights=data.sizes))
        assert model.objective(data, model.point(data, c)) >= found.bound - 1e-6
