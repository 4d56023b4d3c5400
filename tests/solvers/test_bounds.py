"""No option makes a bound false: none is above an objective that anybody reaches."""

from typing import Any

import cvxpy as cp
import numpy as np
import pyomo.environ as pyo
import pytest
from conftest import require_solver
from shift_instances import instance as shifting

from aggopt.models import p3m, p3m_onesided, satisfaction, set_partition, univariate
from aggopt.solvers import SOLVERS, Status, _cvxpy, solve
from aggopt.solvers._linear_bound import LinearProgram, prove_bound
from aggopt.solvers.run_solver import run_here
from aggopt.solvers.solver import Solver

LOOSE: dict[str, list[dict[str, Any]]] = {
    "highs": [
        {},
        {"mip_rel_gap": 0.3},
        {"dual_feasibility_tolerance": 0.1},
        {"dual_feasibility_tolerance": 10.0},
        {"primal_feasibility_tolerance": 0.1},
        {"mip_feasibility_tolerance": 0.4},
        {"mip_max_nodes": 1},
        {"objective_bound": -1e3},
        {"run_crossover": "off", "ipm_optimality_tolerance": 0.1},
        {"simplex_iteration_limit": 1},
    ],
    "clarabel": [
        {},
        {"tol_gap_rel": 0.5, "tol_gap_abs": 0.5, "tol_feas": 1e-2},
        {"tol_gap_rel": 0.9, "tol_gap_abs": 10.0, "tol_feas": 0.1},
        {"max_iter": 2},
    ],
    "scip": [
        {},
        {"limits/gap": 0.3},
        {"limits/nodes": 1},
        {"numerics/feastol": 1e-3},
        {"numerics/dualfeastol": 1e-3},
    ],
}
ROUNDED = 1e-9


def every(*kinds: str) -> Any:
    """Run with each solver that takes these classes, and with each of its options."""
    cases = [
        pytest.param(name, options, id=f"{name}-{'-'.join(options) or 'as it is'}")
        for name, solver in SOLVERS.items()
        if solver.language and solver.is_global and solver.takes.issuperset(kinds)
        for options in LOOSE[name.partition(":")[2]]
    ]
    return pytest.mark.parametrize(("name", "options"), cases)


def keeps(status: Status, bound: float | None, reached: float, own: float) -> None:
    """Hold a bound against an objective that is reached, and a status against both."""
    assert bound is None or bound <= reached + ROUNDED * max(1, abs(reached))
    if status is Status.OPTIMAL:
        assert bound is not None
        assert own - bound <= 1.1e-6 * max(1, abs(own))


def knapsack(language: str, maximised: bool) -> Any:
    rng = np.random.default_rng(1)
    n, sign = 14, 1 if maximised else -1
    weight, value = rng.integers(100, 1000, (3, n)), rng.integers(100, 1000, n)
    most = weight.sum(axis=1) // 3
    if language == "cvxpy":
        y = cp.Variable(n, boolean=True)
        sense = cp.Maximize if maximised else cp.Minimize
        return cp.Problem(sense(sign * (value @ y) + 7), [weight @ y <= most])
    problem = pyo.ConcreteModel()
    y = problem.y = pyo.Var(range(n), domain=pyo.Binary)
    problem.most = pyo.Constraint(
        range(3),
        rule=lambda _, i: (
            sum(int(w) * y[j] for j, w in enumerate(weight[i])) <= most[i]
        ),
    )
    worth = sum(sign * int(v) * y[j] for j, v in enumerate(value)) + 7
    sense = pyo.maximize if maximised else pyo.minimize
    problem.worth = pyo.Objective(expr=worth, sense=sense)
    return problem


def worth(problem: Any) -> float:
    if isinstance(problem, cp.Problem):
        return float(problem.objective.value)
    return float(pyo.value(problem.worth))


def best_of_the_knapsack() -> float:
    rng = np.random.default_rng(1)
    weight, value = rng.integers(100, 1000, (3, 14)), rng.integers(100, 1000, 14)
    every = (np.arange(2**14)[:, None] >> np.arange(14)) & 1
    fits = (every @ weight.T <= weight.sum(axis=1) // 3).all(axis=1)
    return float((every[fits] @ value).max())


@every("MILP")
@pytest.mark.parametrize("maximised", [False, True])
def test_of_integer_programs_with_either_sense(name, options, maximised):
    require_solver(name)
    problem = knapsack(SOLVERS[name].language, maximised)
    outcome = solve(problem, name, options=options)
    sign = -1.0 if maximised else 1.0
    best = best_of_the_knapsack()
    reached = 7 + best if maximised else 7 - best
    bound = None if outcome.bound is None else sign * outcome.bound
    own = sign * worth(problem) if outcome.status.usable else np.inf
    keeps(outcome.status, bound, sign * reached, own)
    if not options:
        assert outcome.status is Status.OPTIMAL
        assert outcome.bound == pytest.approx(reached, rel=1e-6)


@pytest.mark.parametrize("name", ["cvxpy:highs", "pyomo:highs"])
def test_a_smaller_tolerance_leaves_the_proof(name):
    problem = knapsack(SOLVERS[name].language, maximised=False)
    options = {"mip_feasibility_tolerance": 1e-8, "mip_rel_gap": 0.0}
    assert solve(problem, name, options=options).status is Status.OPTIMAL
    options = {"mip_feasibility_tolerance": 1e-5}
    outcome = solve(problem, name, options=options)
    assert (outcome.status, outcome.bound) == (Status.UNPROVEN, None)


def test_a_gap_that_is_allowed_is_said_in_both_languages_alike():
    found = []
    for language in ("cvxpy", "pyomo"):
        for maximised in (False, True):
            problem = knapsack(language, maximised)
            outcome = solve(problem, f"{language}:highs", options={"mip_rel_gap": 0.3})
            assert outcome.status is Status.UNPROVEN
            found.append(abs(outcome.bound - 7))
    assert found == pytest.approx([found[0]] * 4, rel=1e-6)
    assert found[0] > best_of_the_knapsack()


@every("LP")
@pytest.mark.parametrize("cost", ["sse", "maxdist"])
def test_of_univariate_partitions(name, options, cost):
    require_solver(name)
    x = np.sort(np.random.default_rng(0).gamma(2, size=60))
    data = univariate.Data(x, 4, cost)
    exact = run_here(univariate.MODEL, data, SOLVERS["shortest_path"], None, None, None)
    best = univariate.objective(data, univariate.point(data, exact.reading))
    found = run_here(univariate.MODEL, data, SOLVERS[name], None, None, options)
    own = np.inf
    if found.reading is not None:
        own = univariate.objective(data, univariate.point(data, found.reading))
    keeps(found.status, found.bound, best, own)


def proposals(shares: str) -> set_partition.Data:
    from itertools import combinations

    x = np.random.default_rng(4).normal(size=(7, 2))
    sets = [g for s in (2, 3) for g in combinations(range(7), s)]
    column = np.repeat(np.arange(len(sets)), [len(s) for s in sets])
    record = np.array([i for s in sets for i in s], np.intp)
    return set_partition.Data(x, 2, column.astype(np.intp), record, shares=shares)


@every("LP")
def test_of_set_partitions_in_part(name, options):
    of_set_partitions(name, options, "any")


@every("MILP")
def test_of_set_partitions(name, options):
    of_set_partitions(name, options, "whole")


def of_set_partitions(name, options, shares):
    require_solver(name)
    data = proposals(shares)
    path = "cvxpy:highs" if shares == "whole" else "pyomo:highs"
    best = solve(set_partition.build(data, path.split(":")[0]), path).bound
    problem = set_partition.build(data, SOLVERS[name].language)
    outcome = solve(problem, name, options=options)
    keeps(outcome.status, outcome.bound, best + 1e-6, -np.inf)


SHIFTS = [p3m, p3m_onesided, satisfaction]


@every("NLP", "MINLP")
@pytest.mark.parametrize("model", SHIFTS, ids=lambda m: m.MODEL.name)
def test_of_shifted_centroids(name, options, model):
    require_solver(name)
    data = shifting(model, 3, n=8, m=3)
    own = run_here(model.MODEL, data, SOLVERS["lagrangian"], data.means, 60, None)
    best = model.objective(data, model.point(data, own.reading))
    found = run_here(model.MODEL, data, SOLVERS[name], data.means, 20, options)
    keeps(found.status, found.bound, best, -np.inf)


@pytest.mark.parametrize("name", ["cvxpy:ipopt", "cvxpy:uno", "pyomo:ripopt", "ipopt"])
def test_a_local_solver_never_has_a_bound(name):
    require_solver(name)
    data = shifting(p3m, 3, n=8, m=3)
    found = run_here(p3m.MODEL, data, SOLVERS[name], None, 20, None)
    assert found.status is Status.LOCAL
    assert found.bound is None


def test_any_potentials_prove_no_more_than_the_best_path():
    rng = np.random.default_rng(2)
    for n, k in ((3, 2), (9, 2), (20, 4)):
        data = univariate.Data(np.sort(rng.normal(size=n)), k)
        exact = univariate.find_groups_along(data, *univariate.list_arcs(data))
        best = univariate.objective(data, univariate.point(data, exact))
        for _ in range(50):
            u = rng.normal(size=n + 1).cumsum() * rng.choice([0.0, 0.01, 1, 100])
            assert univariate.proven(data, u) <= best
        nodes = np.full(n + 1, np.inf)
        nodes[0] = 0
        tail, head = univariate.list_arcs(data)
        c = univariate.compute_costs(data, tail, head)
        for i, j, cost in sorted(zip(tail, head, c, strict=True)):
            nodes[j] = min(nodes[j], nodes[i] + cost)
        nodes = np.where(np.isinf(nodes), 0, nodes)
        assert univariate.proven(data, -nodes) <= best
        assert univariate.proven(data, np.full(n + 1, np.nan)) == 0.0


def random_program(rng: np.random.Generator) -> tuple[LinearProgram, Any]:
    from scipy.sparse import csr_array

    n, m = rng.integers(1, 5, 2)
    A = rng.integers(-3, 4, (m, n)).astype(float)
    at = rng.integers(-2, 3, n).astype(float)
    slack = rng.choice([0.0, 1.0, np.inf], (2, m))
    box = rng.choice([0.0, 1.0, np.inf], (2, n))
    c, curve = rng.normal(size=n), rng.choice([0.0, 0.0, 1.5], n)
    program = LinearProgram(
        c, curve, 1.0, csr_array(A), A @ at - slack[0], A @ at + slack[1],
        at - box[0], at + box[1],
    )  # fmt: skip
    return program, at


def test_any_multipliers_prove_no_more_than_what_is_reached():
    rng = np.random.default_rng(3)
    some = 0
    for _ in range(150):
        program, at = random_program(rng)
        reached = program.cost @ at + program.curve @ at**2 / 2 + program.constant
        for _ in range(3):
            y = rng.integers(-3, 4, len(program.low)).astype(float)
            bound = prove_bound(program, y)
            some += bound is not None
            assert bound is None or bound <= reached + 1e-12
    assert some > 50


def test_the_right_multipliers_prove_the_optimum():
    from scipy.optimize import linprog

    rng = np.random.default_rng(5)
    for _ in range(20):
        c, A, at = rng.normal(size=6), rng.normal(size=(3, 6)), rng.uniform(size=6)
        x = cp.Variable(6, bounds=[0, 1])
        outcome = solve(
            cp.Problem(cp.Minimize(c @ x), [A @ x == A @ at]), "cvxpy:highs"
        )
        best = linprog(c, A_eq=A, b_eq=A @ at, bounds=(0, 1)).fun
        assert outcome.status is Status.OPTIMAL
        assert outcome.bound == pytest.approx(best, abs=1e-7)


@pytest.mark.parametrize("share", [0.3, 0.7])
def test_a_reduced_cost_that_is_zero_but_for_a_rounding_leaves_the_proof(share):
    x = np.random.default_rng(0).normal(size=6)
    c, e = cp.Variable(bounds=[x.min(), x.max()]), cp.Variable(6)
    rows = [e >= share * (x - c), e >= (share - 1) * (x - c)]
    outcome = solve(cp.Problem(cp.Minimize(cp.sum(e)), rows))
    away = x - x[:, np.newaxis]  # one of the values is best
    least = np.maximum(share * away, (share - 1) * away).sum(axis=1).min()
    assert outcome.status is Status.OPTIMAL
    assert least - 1e-8 <= outcome.bound <= least


def test_without_a_box_nothing_is_proven_and_nobody_says_optimal():
    x = cp.Variable(3)
    problem = cp.Problem(cp.Minimize(cp.norm(x - 1)), [cp.sum(x) == 0])
    outcome = solve(problem)
    assert (outcome.solver, outcome.bound) == ("cvxpy:clarabel", None)
    assert outcome.status is Status.LOCAL
    loose = solve(problem, options={"tol_gap_rel": 0.5, "tol_gap_abs": 0.5})
    assert loose.status is Status.UNPROVEN


def test_what_is_infeasible_by_a_loose_tolerance_is_not_said_to_be():
    x = cp.Variable(integer=True)
    problem = cp.Problem(cp.Minimize(x), [x >= 0.4, x <= 0.6])
    assert solve(problem, "cvxpy:highs").status is Status.INFEASIBLE
    options = {"primal_feasibility_tolerance": 1e-5}
    assert solve(problem, "cvxpy:highs", options=options).status is Status.FAILED


def test_where_a_solver_leaves_no_multipliers_they_are_found_anew():
    osqp = Solver(
        name="cvxpy:osqp",
        when="never",
        language="cvxpy",
        native="OSQP",
        takes=frozenset({"QP"}),
        finds="the optimum",
        install="pip install osqp",
        time_limit="time_limit",
    )
    x = cp.Variable(2)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x)), [cp.sum(x) >= 2])
    ended = _cvxpy.run(problem, osqp, {"time_limit": 10.0}, "QP")
    assert ended.proven
    assert ended.bound == pytest.approx(2)
    assert ended.bound <= 2


def tower(largest: float) -> cp.Problem:
    """Return x >= 3, with rows of 0 * (largest * x) that cvxpy works out in parts."""
    x = cp.Variable(2, name="x")
    far, near = np.diag([largest, 1.0]), np.array([[0.0, 1.0], [0.0, 0.0]])
    return cp.Problem(cp.Minimize(cp.sum(x)), [x >= 3, near @ (far @ x) <= 1e9])


def test_a_point_at_which_a_row_overflows_is_none_and_nothing_warns() -> None:
    problem = tower(1e308)
    ended = solve(problem, "cvxpy:highs")
    assert (ended.status.usable, ended.bound) == (True, pytest.approx(6.0))
    assert ended.status is not Status.OPTIMAL


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_a_point_of_numbers_that_are_not_finite_is_none(monkeypatch, value) -> None:
    highspy = pytest.importorskip("highspy")
    real = highspy.Highs.getSolution

    def without_point(highs: Any) -> Any:
        found = real(highs)
        found.col_value = [value] * len(found.col_value)
        return found

    monkeypatch.setattr(highspy.Highs, "getSolution", without_point)
    x = cp.Variable(3)
    rows = np.array([[1.0, -1.0, 0.0], [0.0, 1.0, 2.0]])
    problem = cp.Problem(cp.Minimize(cp.sum(x)), [rows @ x >= 1, x >= -9])
    ended = solve(problem, "cvxpy:highs", options={"simplex_iteration_limit": 5})
    assert (ended.status, ended.bound) == (Status.FAILED, None)
    assert x.value is None
