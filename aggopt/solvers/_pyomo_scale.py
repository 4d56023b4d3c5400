"""Ranges of the variables of a quadratic program in Pyomo, and its scale."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import fsum, inf, isfinite, isinf, sqrt
from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.repn import generate_standard_repn

from aggopt.solvers._pyomo_parts import constraints, objective, variables
from aggopt.solvers._scale import ProgramScale, Terms, scale

ROUNDS = 4  # of narrowing the box; each looks at every row once
Interval = tuple[float, float]
Box = dict[int, Interval]


@dataclass(frozen=True)
class Form:
    """Sum of a x^2 + b x over `own` and a x y over `pairs`, between low and high."""

    own: dict[int, tuple[float, float]]  # by the id of x
    pairs: list[tuple[float, int, int]]
    constant: float
    low: float = -inf
    high: float = inf


def scale_of_problem(problem: Any, reached: float | None = None) -> ProgramScale | None:
    """Return the scale of a problem; None if it is not moderate or not quadratic.

    If an objective is `reached`, points with a worse objective are left out.

    >>> problem = pyo.ConcreteModel()
    >>> x = problem.x = pyo.Var([0, 1])
    >>> problem.row = pyo.Constraint(expr=x[0] ** 2 + x[1] ** 2 <= 4)
    >>> problem.cost = pyo.Objective(expr=3 * x[0])
    >>> round(scale_of_problem(problem).largest, 9)
    6.0
    """
    cost = objective(problem)
    goal = _form(cost.expr)
    rows = [_form(row.body, row) for row in constraints(problem)]
    known = [row for row in rows if row is not None]
    if goal is None or len(known) < len(rows):
        return None
    sign = -1.0 if cost.sense == pyo.maximize else 1.0
    used = set().union(*map(_used, (goal, *known)))
    box = {id(v): _bounds(v) for v in variables(problem) if id(v) in used}
    better = [] if reached is None else [_at_least_as_good(goal, sign, reached)]
    for _ in range(ROUNDS):
        if all(isfinite(left) and isfinite(right) for left, right in box.values()):
            break
        for row in (*known, *better):
            _narrow(row, box)
    ends = np.array(list(box.values())).reshape(-1, 2)
    sides = [s - row.constant for row in known for s in (row.low, row.high)]
    terms = [term for row in known for term in _terms(row, box)]
    costs = list(_terms(goal, box, upward=sign))
    return scale(
        _stacked(terms),
        np.array([s for s in sides if isfinite(s)]),
        _stacked(costs),
        (ends[:, 0], ends[:, 1]),
        goal.constant,
    )


def _bounds(v: Any) -> Interval:
    left, right = v.bounds
    return -inf if left is None else left, inf if right is None else right


def _form(expression: Any, row: Any = None) -> Form | None:
    found = generate_standard_repn(expression, quadratic=True)
    if found.nonlinear_expr is not None:
        return None
    own: dict[int, tuple[float, float]] = {}
    pairs = []
    for v, b in zip(found.linear_vars, found.linear_coefs, strict=True):
        own[id(v)] = (0.0, float(pyo.value(b)))
    for (u, v), a in zip(found.quadratic_vars, found.quadratic_coefs, strict=True):
        if u is v:
            own[id(u)] = (float(pyo.value(a)), own.get(id(u), (0.0, 0.0))[1])
        else:
            pairs.append((float(pyo.value(a)), id(u), id(v)))
    own = {j: both for j, both in own.items() if any(both)}
    pairs = [pair for pair in pairs if pair[0]]
    low = -inf if row is None or not row.has_lb() else float(pyo.value(row.lower))
    high = inf if row is None or not row.has_ub() else float(pyo.value(row.upper))
    return Form(own, pairs, float(pyo.value(found.constant)), low, high)


def _stacked(terms: list[Interval]) -> Terms:
    both = np.array(terms).reshape(-1, 2)
    return Terms(both[:, 0], both[:, 1])


def _terms(form: Form, box: Box, *, upward: float = 0.0) -> Iterator[Interval]:
    """Yield coefficients and reaches, but of squares that only add, `upward`, none."""
    for j, (a, b) in form.own.items():
        most = max(map(abs, box[j]))
        yield b, most
        if a:
            yield a, 0.0 if a * upward > 0 else most * most
    for a, i, j in form.pairs:
        yield a, max(map(abs, box[i])) * max(map(abs, box[j]))


def _at_least_as_good(goal: Form, sign: float, reached: float) -> Form:
    """Return the row that all points satisfy that are at least as good as `reached`."""
    own = {j: (sign * a, sign * b) for j, (a, b) in goal.own.items()}
    pairs = [(sign * a, i, j) for a, i, j in goal.pairs]
    return Form(own, pairs, sign * goal.constant, high=sign * reached)


def _used(form: Form) -> set[int]:
    return {*form.own, *(j for _, *both in form.pairs for j in both)}


def _narrow(row: Form, box: Box) -> None:
    """Narrow the box to the range that a row leaves each of its variables."""
    spans = {j: _span(a, b, box[j]) for j, (a, b) in row.own.items()}
    whole = [*spans.values(), *(_product(a, box[i], box[j]) for a, i, j in row.pairs)]
    least, most = [s[0] for s in whole], [s[1] for s in whole]
    endless = sum(map(isinf, least)), sum(map(isinf, most))
    known = fsum(filter(isfinite, least)), fsum(filter(isfinite, most))
    for j, (a, b) in row.own.items():
        top = row.high - row.constant - _rest(known[0], endless[0], spans[j][0], -inf)
        bottom = row.low - row.constant - _rest(known[1], endless[1], spans[j][1], inf)
        left, right = _solved(a, b, bottom, top)
        box[j] = max(box[j][0], left), min(box[j][1], right)


def _rest(known: float, endless: int, own: float, nothing: float) -> float:
    """Return the sum of the other terms' ends; `nothing` if one of them has no end."""
    others = endless - isinf(own)
    return nothing if others else known - (0.0 if isinf(own) else own)


def _times(a: float, b: float) -> float:
    return 0.0 if a == 0 or b == 0 else a * b


def _product(a: float, one: Interval, other: Interval) -> Interval:
    every = [_times(a, _times(p, q)) for p in one for q in other]
    return min(every), max(every)


def _span(a: float, b: float, x: Interval) -> Interval:
    """Return the range of a x^2 + b x, which is a (x + h)^2 - a h^2, h = b / 2a."""
    if a == 0:
        return _product(b, x, (1.0, 1.0))
    h = b / (2 * a)
    left, right = x[0] + h, x[1] + h
    ends = left * left, right * right
    nearest = 0.0 if left <= 0 <= right else min(ends)
    low, high = sorted((_times(a, nearest), _times(a, max(ends))))
    return low - a * h * h, high - a * h * h


def _solved(a: float, b: float, low: float, high: float) -> Interval:
    """Return an interval that contains all x with low <= a x^2 + b x <= high."""
    if a == 0:
        left, right = sorted((low / b, high / b))
        return left, right
    h = b / (2 * a)
    square = (high if a > 0 else low) / a + h * h
    away = sqrt(square) if square >= 0 else inf
    return -away - h, away - h
