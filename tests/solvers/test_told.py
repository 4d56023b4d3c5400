"""What solvers tell of their way: multipliers by name, iterations where they count."""

import cvxpy as cp
import numpy as np
import pyomo.environ as pyo
import pytest

from aggopt.aggregate import by_model, p3m
from aggopt.algorithms.lagrangian.piecewise_quartics import build_separable_program
from aggopt.algorithms.lagrangian.solve import solve_separable as by_duality
from aggopt.partition import univariate
from aggopt.solvers import SOLVERS, solve
from aggopt.solvers.termination import read_iterations

STEP = 1e-3
NEED_IPOPT = pytest.mark.skipif(
    not SOLVERS["ipopt"].installed, reason=SOLVERS["ipopt"].install
)


def in_cvxpy(cap, total, floor, *, maximised=False):
    x = cp.Variable(3)
    cost = cp.sum_squares(x - np.array([2.0, 1.0, -1.0]))
    rows = [x[0] <= cap, cp.sum(x) == total, x[2] >= floor]
    for row, name in zip(rows, ("cap", "total", "floor"), strict=True):
        row.set_label(name)
    sense = cp.Maximize(-cost) if maximised else cp.Minimize(cost)
    return cp.Problem(sense, rows)


def in_pyomo(cap, total, floor, *, maximised=False):
    problem = pyo.ConcreteModel()
    x = problem.x = pyo.Var(range(3), bounds=(-9, 9))
    problem.cap = pyo.Constraint(expr=x[0] <= cap)
    problem.total = pyo.Constraint(expr=x[0] + x[1] + x[2] == total)
    problem.floor = pyo.Constraint(expr=x[2] >= floor)
    cost = 3 * x[1] - 2 * x[0] + 5 * x[2]
    sense = pyo.maximize if maximised else pyo.minimize
    problem.cost = pyo.Objective(expr=-cost if maximised else cost, sense=sense)
    return problem


def value(problem):
    return problem.value if hasattr(problem, "value") else pyo.value(problem.cost)


@pytest.mark.parametrize("maximised", [False, True])
@pytest.mark.parametrize(
    ("declared", "solver"), [(in_cvxpy, "cvxpy:clarabel"), (in_pyomo, "pyomo:highs")]
)
def test_multipliers_are_what_the_optimum_gains_by_loosening(
    declared, solver, maximised
):
    def best(*sides):
        problem = declared(*sides, maximised=maximised)
        return solve(problem, solver), value(problem)

    at = np.array([1.0, 1.5, 0.25])
    ended, _ = best(*at)
    better = 1.0 if maximised else -1.0
    for j, (name, way) in enumerate({"cap": 1, "total": 1, "floor": -1}.items()):
        step = STEP * np.eye(3)[j] * way
        gained = (best(*(at + step))[1] - best(*(at - step))[1]) / (2 * STEP)
        found = ended.multipliers[name].item()
        assert found == pytest.approx(better * gained, abs=1e-5), name
        assert name == "total" or found > 0.1


def test_constraints_of_one_label_and_without_are_told_in_order():
    x = cp.Variable(2)
    rows = [(x[j] >= j + 1).set_label("low") for j in range(2)]
    problem = cp.Problem(cp.Minimize(3 * x[0] + x[1]), [*rows, cp.sum(x) <= 9])
    ended = solve(problem, "cvxpy:highs", options={"presolve": "off"})
    assert list(ended.multipliers) == ["low", "constraint 3"]
    assert ended.multipliers["low"] == pytest.approx([3.0, 1.0])
    assert ended.multipliers["constraint 3"] == pytest.approx(0.0)


def test_multipliers_of_an_earlier_solve_are_not_told():
    x = cp.Variable(2, integer=False)
    row = (cp.sum(x) >= 1).set_label("row")
    assert solve(cp.Problem(cp.Minimize(cp.sum(x)), [row]), "highs").multipliers
    whole = cp.Variable(integer=True)
    problem = cp.Problem(cp.Minimize(cp.sum(x) + whole), [row, whole >= 0])
    assert solve(problem, "highs").multipliers is None
    none = cp.Problem(cp.Minimize(x[0]), [row, cp.sum(x) <= 0])
    assert solve(none, "highs").multipliers is None


@pytest.mark.parametrize(
    ("said", "known"), [(3, 3), (3.0, 3), (0, None), (-1, None), ("none", None)]
)
def test_no_count_is_none_and_not_zero(said, known):
    assert read_iterations(said) == known


@pytest.mark.parametrize(
    ("solver", "counts"),
    [("cvxpy:clarabel", True), ("cvxpy:OSQP", True), ("pyomo:highs", False)],
)
def test_iterations_are_there_where_they_are_counted(solver, counts):
    declared = in_pyomo if solver.startswith("pyomo") else in_cvxpy
    ended = solve(declared(1.0, 1.5, 0.25), solver)
    assert ended.iterations is None if not counts else ended.iterations > 0


X = np.sort(np.random.default_rng(0).normal(size=(12, 1)), axis=0)
LABELS = np.arange(12) // 3


def capped(x, labels, sizes, *, cap=1.0):
    c = cp.Variable(len(sizes), name="c")
    near = (cp.abs(c[labels] - x) <= cap).set_label("near")
    mean = (sizes @ c == 0).set_label("mean")
    return cp.Problem(cp.Minimize(cp.sum_squares(c[labels] - x)), [near, mean])


def test_a_certificate_has_what_the_solver_told():
    (proof,) = by_model(X, LABELS, capped, solver="clarabel").certificates
    assert proof.iterations > 0
    assert {n: v.shape for n, v in proof.multipliers.items()} == {
        "near": (12,),
        "mean": (),
    }
    (proof,) = by_model(X, LABELS, capped, solver=lambda model, data: None).certificates
    assert proof.iterations is proof.multipliers is None


def test_multipliers_of_groups_are_in_the_units_of_the_certificate():
    found = univariate(X[:, 0], 3, solver="cvxpy:highs").certificate
    leave = found.multipliers["leave"].item()
    assert abs(leave) == pytest.approx(found.objective)  # one path: all it costs
    assert univariate(X[:, 0], 3).certificate.multipliers is None


def test_the_lagrangian_method_tells_the_multipliers_of_its_first_bound():
    (proof,) = p3m(X, LABELS).certificates
    assert proof.iterations > 0
    assert set(proof.multipliers) == {"mean", "variance"}
    assert float(proof.multipliers["mean"]) == pytest.approx(slope("total"), abs=1e-3)
    found = float(proof.multipliers["variance"])
    assert found == pytest.approx(slope("squares"), abs=1e-3)


def slope(row):
    """Return what the optimum gains where the left side of a row may be larger."""
    from aggopt.models.p3m import Data

    x = (X[:, 0] - X.mean()) / X.std()
    program = build_separable_program(
        Data(x, LABELS, np.full(12, 0.1), np.full(12, 0.001), 0.5)
    )
    side = getattr(program, row)
    low, high = (
        by_duality(program._replace(**{row: side + step})).objective
        for step in (-STEP, STEP)
    )
    return (low - high) / (2 * STEP)


@NEED_IPOPT
def test_ipopt_tells_what_the_lagrangian_method_does():
    ours, theirs = (
        p3m(X, LABELS, solver=solver).certificates[0]
        for solver in ("lagrangian", "ipopt")
    )
    assert theirs.iterations > 0
    if theirs.objective == pytest.approx(ours.objective, abs=1e-6):
        for name, found in ours.multipliers.items():
            assert theirs.multipliers[name] == pytest.approx(found, abs=1e-3)
