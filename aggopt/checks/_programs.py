"""Small programs of each class, in both languages, whose ends are known."""

from collections.abc import Callable
from typing import Any

import numpy as np

WHOLE = ("MILP", "MIQP", "MINLP")
LINEAR = ("LP", "MILP", "QP")  # classes that can be unbounded in a known way
# How far from 0 these optima are: solvers keep absolute tolerances, a gap is relative.
APART = 4.0


def best_of(kind: str, a: float) -> float:
    """Return the optimum of `known`, of a class and a number a from 0.3 to 1."""
    whole = ((i - a) ** 2 + (1 - i - a) ** 2 for i in range(-4, 6))
    ends = (x * (1 - x) + a * x for x in (-4, 5))
    room = (1 - 2 * (0.5 - a) ** 2) / 2
    found: dict[str, Callable[[], float]] = {
        "LP": lambda: -4 * a,
        "QP": lambda: APART + 2 * (0.5 - a) ** 2,
        "SOCP": lambda: 0.5 - APART - float(np.sqrt(room)),
        "SDP": lambda: 2 * a,
        "MILP": lambda: -4 * a,
        "MIQP": lambda: min(whole),
        "NLP": lambda: min(ends),
        "MINLP": lambda: min(ends),
    }
    return found[kind]()


def known(language: str, kind: str, a: float = 1.0, *, maximised: bool = False) -> Any:
    """Return a problem of a class, of two variables that add up to 1.

    Maximised, it is the minimisation with its cost negated.
    """
    sign = -1 if maximised else 1
    return (_known_cvxpy if language == "cvxpy" else _known_pyomo)(kind, a, sign)


def infeasible(language: str, kind: str) -> Any:
    """Return a problem of a class without a feasible point."""
    problem = known(language, kind)
    if language == "cvxpy":
        import cvxpy as cp

        (x,) = problem.variables()
        row = cp.trace(x) <= 1 if kind == "SDP" else cp.sum(x) >= 3
        return cp.Problem(problem.objective, [*problem.constraints, row])
    import pyomo.environ as pyo

    problem.more = pyo.Constraint(expr=problem.x[0] + problem.x[1] >= 3)
    return problem


def unbounded(language: str, kind: str) -> Any:
    """Return a problem of a class of `LINEAR` whose cost falls for ever."""
    if language == "cvxpy":
        import cvxpy as cp

        x = cp.Variable(2, integer=kind in WHOLE)
        cost = x[0] + (cp.square(x[0] + x[1]) if kind == "QP" else 0)
        return cp.Problem(cp.Minimize(cost), [x[0] + x[1] == 1])
    import pyomo.environ as pyo

    problem = pyo.ConcreteModel()
    domain = pyo.Integers if kind in WHOLE else pyo.Reals
    x = problem.x = pyo.Var([0, 1], domain=domain, initialize=0)
    problem.one = pyo.Constraint(expr=x[0] + x[1] == 1)
    square = (x[0] + x[1]) ** 2 if kind == "QP" else 0
    problem.cost = pyo.Objective(expr=x[0] + square)
    return problem


def knapsack(language: str) -> Any:
    """Return an integer program that takes solvers more than a moment."""
    rng = np.random.default_rng(0)
    weights, worth = rng.integers(1, 99, (20, 60)), rng.integers(1, 99, 60)
    most = weights.sum(axis=1) // 3
    if language == "cvxpy":
        import cvxpy as cp

        x = cp.Variable(60, boolean=True)
        return cp.Problem(cp.Maximize(worth @ x), [weights @ x <= most])
    import pyomo.environ as pyo

    problem = pyo.ConcreteModel()
    x = problem.x = pyo.Var(range(60), domain=pyo.Binary)
    rows = [dict(enumerate(row)) for row in weights.tolist()]
    problem.rows = pyo.Constraint(
        range(20), rule=lambda _, i: pyo.sum_product(rows[i], x) <= int(most[i])
    )
    total = pyo.sum_product(dict(enumerate(worth.tolist())), x)
    problem.cost = pyo.Objective(expr=total, sense=pyo.maximize)
    return problem


def correlations() -> Any:
    """Return a semidefinite program of several iterations, in cvxpy."""
    import cvxpy as cp

    X = cp.Variable((30, 30), PSD=True)
    cost = cp.sum(cp.multiply(np.random.default_rng(0).normal(size=(30, 30)), X))
    return cp.Problem(cp.Minimize(cost), [cp.diag(X) == 1])


def _known_cvxpy(kind: str, a: float, sign: int) -> Any:
    import cvxpy as cp

    x = cp.Variable(2, integer=kind in WHOLE, bounds=[-5, 5], value=[3.0, -2.0])
    rows = [cp.sum(x) == 1]
    cost: Any = a * x[0]
    if kind == "QP":
        cost = cp.sum_squares(x - a) + APART
    elif kind == "MIQP":
        cost = cp.sum_squares(x - a)
    elif kind in ("NLP", "MINLP"):
        cost = x[0] * x[1] + a * x[0]
    elif kind == "SOCP":
        cost = x[0] - APART
        rows.append(cp.sum_squares(x - a) <= 1)
    elif kind == "SDP":
        z = cp.Variable((2, 2), PSD=True)
        cost, rows = cp.trace(z), [z[0, 1] == a]
    sense = cp.Minimize if sign > 0 else cp.Maximize
    return cp.Problem(sense(sign * cost), rows)


def _known_pyomo(kind: str, a: float, sign: int) -> Any:
    import pyomo.environ as pyo

    problem = pyo.ConcreteModel()
    domain = pyo.Integers if kind in WHOLE else pyo.Reals
    x = problem.x = pyo.Var([0, 1], domain=domain, bounds=(-5, 5), initialize=0)
    x[0], x[1] = 3, -2
    square = (x[0] - a) ** 2 + (x[1] - a) ** 2
    problem.one = pyo.Constraint(expr=x[0] + x[1] == 1)
    cost = a * x[0]
    if kind == "QP":
        cost = square + APART
    elif kind == "MIQP":
        cost = square
    elif kind in ("NLP", "MINLP"):
        cost = x[0] * x[1] + a * x[0]
    elif kind == "SOCP":
        cost = x[0] - APART
        problem.ball = pyo.Constraint(expr=square <= 1)
    sense = pyo.minimize if sign > 0 else pyo.maximize
    problem.cost = pyo.Objective(expr=sign * cost, sense=sense)
    return problem
