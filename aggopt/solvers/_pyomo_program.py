"""Class of a problem in Pyomo, and its linear program, if it is one."""

from typing import Any, NamedTuple

import numpy as np
import pyomo.environ as pyo
from pyomo.repn import generate_standard_repn

from aggopt.core.validation import Floats
from aggopt.solvers._linear_bound import LinearProgram
from aggopt.solvers._pyomo_parts import (
    constraints,
    objective,
    require_known,
    variables,
)

CONVEX = 1e-9  # share of the largest eigenvalue: one above its negative counts as 0
DENSE = 1500  # most variables of a quadratic form whose eigenvalues are computed


def problem_class(problem: Any) -> str:
    """Class of a problem: one of `CLASSES`; convex quadratic rows make it an SOCP.

    Raises
    ------
    JobError
        No solver would be given all of it.
    """
    require_known(problem)
    whole = any(not v.is_continuous() for v in variables(problem))
    cost = objective(problem)
    bend = _bend(_form(cost.expr), -1.0 if cost.sense == pyo.maximize else 1.0)
    rows = _bend_of_rows(problem)
    if "other" in (bend, rows) or (whole and rows == "convex"):
        return "MINLP" if whole else "NLP"
    if rows == "convex":
        return "SOCP"
    return ("MI" if whole else "") + ("QP" if bend == "convex" else "LP")


def _form(expression: Any) -> Any:
    return generate_standard_repn(expression, quadratic=True)


def _bend_of_rows(problem: Any) -> str:
    """Return "none", "convex" or "other": the worst of all rows."""
    worst = "none"
    for row in constraints(problem):
        degree = row.body.polynomial_degree()
        if degree in (0, 1):
            continue
        if degree != 2 or (row.has_lb() and row.has_ub()):
            return "other"
        if _bend(_form(row.body), 1.0 if row.has_ub() else -1.0) == "other":
            return "other"
        worst = "convex"
    return worst


def _bend(form: Any, sign: float) -> str:
    """Return the curvature of `sign` times a form: "none", "convex" or "other"."""
    if form.nonlinear_expr is not None:
        return "other"
    if not form.quadratic_vars:
        return "none"
    pairs = [(id(a), id(b)) for a, b in form.quadratic_vars]
    values = sign * np.array([pyo.value(c) for c in form.quadratic_coefs])
    if all(a == b for a, b in pairs):
        return "convex" if (values >= 0).all() else "other"
    names = {v: i for i, v in enumerate({v for pair in pairs for v in pair})}
    if len(names) > DENSE:
        return "other"
    hessian = np.zeros((len(names), len(names)))
    for (a, b), value in zip(pairs, values, strict=True):
        hessian[names[a], names[b]] += value
        hessian[names[b], names[a]] += value
    found = np.linalg.eigvalsh(hessian)
    return "convex" if found[0] >= -CONVEX * max(abs(found[-1]), 1e-300) else "other"


class PyomoProgram(NamedTuple):
    """The program to be minimised, and the constraint of each of its rows."""

    program: LinearProgram
    rows: list[Any]


def program_of(problem: Any) -> PyomoProgram | None:
    """Return the linear program, whose costs may be squares; None for any other."""
    cost, rows = objective(problem), constraints(problem)
    sign = -1.0 if cost.sense == pyo.maximize else 1.0
    free = variables(problem)
    place = {id(v): j for j, v in enumerate(free)}
    forms, goal = [_form(row.body) for row in rows], _form(cost.expr)
    if any(not v.is_continuous() for v in free) or _is_other(forms, goal):
        return None
    low, high = _sides(rows, forms)
    squares = [v for v, _ in goal.quadratic_vars]
    program = LinearProgram(
        sign * _spread(goal.linear_vars, goal.linear_coefs, place),
        2 * sign * _spread(squares, goal.quadratic_coefs, place),
        sign * float(pyo.value(goal.constant)),
        _matrix(forms, place),
        low,
        high,
        np.array([-np.inf if v.lb is None else v.lb for v in free], float),
        np.array([np.inf if v.ub is None else v.ub for v in free], float),
    )
    return PyomoProgram(program, rows)


def _is_other(forms: list[Any], goal: Any) -> bool:
    """Whether rows are not linear, or costs neither linear nor of single squares."""
    if any(f.quadratic_vars or f.nonlinear_expr is not None for f in forms):
        return True
    mixed = any(a is not b for a, b in goal.quadratic_vars)
    return mixed or goal.nonlinear_expr is not None


def _sides(rows: list[Any], forms: list[Any]) -> tuple[Floats, Floats]:
    """Return low and high (m,) of the rows without their constants."""
    low = [pyo.value(r.lower) if r.has_lb() else -np.inf for r in rows]
    high = [pyo.value(r.upper) if r.has_ub() else np.inf for r in rows]
    constant = np.array([pyo.value(f.constant) for f in forms], float)
    left, right = np.array(low, float) - constant, np.array(high, float) - constant
    moved = constant != 0  # and rounded
    left[moved] = np.nextafter(left[moved], -np.inf)
    right[moved] = np.nextafter(right[moved], np.inf)
    return left, right


def _spread(variables: Any, coefficients: Any, place: dict[int, int]) -> Floats:
    found = np.zeros(len(place))
    for v, c in zip(variables, coefficients, strict=True):
        found[place[id(v)]] += pyo.value(c)
    return found


def _matrix(forms: list[Any], place: dict[int, int]) -> Any:
    from scipy.sparse import csr_array

    counts = [len(f.linear_vars) for f in forms]
    i = np.repeat(np.arange(len(forms)), counts)
    j = np.array([place[id(v)] for f in forms for v in f.linear_vars], int)
    a = np.array([pyo.value(c) for f in forms for c in f.linear_coefs], float)
    return csr_array((a, (i, j)), (len(forms), len(place)))
