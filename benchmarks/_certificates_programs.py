"""`solve` on small programs that are no model's, held against exact enumeration.

x in 0..reach, y and z in 0..3, three rows, either sense; coefficients, costs and reach
on scales up to 1e10 apart.  Of LP and MILP the optimum is worked out in fractions: over
all vertices, or over all whole y and z.  Of QP the bound is held against vertices, and
the best points between two of them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import cvxpy as cp
import numpy as np
import pyomo.environ as pyo
from _certificates_groups import Found
from _certificates_instances import Instance

from aggopt.solvers import SOLVERS, Outcome, Status, solve

KINDS = ("LP", "QP", "MILP")
NAMES = {
    "LP": ("cvxpy:highs", "cvxpy:clarabel", "pyomo:highs", "pyomo:scip"),
    "QP": ("cvxpy:highs", "cvxpy:clarabel", "pyomo:highs", "pyomo:scip"),
    "MILP": ("cvxpy:highs", "pyomo:highs", "pyomo:scip"),
}
ROUNDING, BEST = 1e-9, 2e-6
SECONDS = 5.0
Point = tuple[Fraction, ...]


@dataclass(frozen=True)
class Small:
    """Minimise constant + cost'v + bend sum (v - 1)^2 over y and z; or maximise less.

    Subject to rows v >= least, 0 <= v <= most.
    """

    kind: str
    cost: list[float]
    rows: list[list[float]]
    least: list[float]
    most: list[float]
    constant: float
    bend: float
    maximised: bool


def programs(of_: Instance) -> Iterator[Found]:
    """Yield what a solver says of one program."""
    rng = np.random.default_rng([of_.seed, 12])
    kind = KINDS[of_.seed % 3]
    names = [n for n in NAMES[kind] if SOLVERS[n].installed]
    name, small = str(rng.choice(names)), _small(rng, kind)
    problem = (_in_cvxpy if name.startswith("cvxpy") else _in_pyomo)(small)
    outcome = solve(problem, name, time_limit=SECONDS)
    yield Found(f"solve {kind}: {name}", tuple(_lies(small, problem, outcome)))


def _small(rng: np.random.Generator, kind: str) -> Small:
    power = int(rng.choice([0, 0, 2, 4, 6, 9, 10]))
    unit = 10.0 ** -float(rng.choice([0, power, power]))
    rows = rng.integers(-3, 6, (3, 3)).astype(float)
    cost = rng.integers(-4, 9, 3).astype(float)
    rows[:, 0] *= unit
    cost[0] *= 10.0 ** -float(rng.choice([0, power]))
    cost[1] *= 1 - float(rng.choice([0, 4e-10, 1e-7]))
    return Small(
        kind,
        cost.tolist(),
        rows.tolist(),
        (rng.integers(-4, 8, 3) * 0.5).tolist(),
        [float(rng.integers(1, 9)) * 10.0**power, 3.0, 3.0],
        float(rng.choice([0.0, 7.0, -(10.0**power)])),
        1.5 if kind == "QP" else 0.0,
        bool(rng.random() < 0.5),
    )


def _in_cvxpy(small: Small) -> cp.Problem:
    whole = small.kind == "MILP"
    v = [cp.Variable(), cp.Variable(integer=whole), cp.Variable(integer=whole)]
    cost = sum(c * x for c, x in zip(small.cost, v, strict=True)) + small.constant
    if small.bend:
        cost += small.bend * (cp.square(v[1] - 1) + cp.square(v[2] - 1))
    rows = [x >= 0 for x in v] + [x <= m for x, m in zip(v, small.most, strict=True)]
    for row, least in zip(small.rows, small.least, strict=True):
        rows.append(sum(a * x for a, x in zip(row, v, strict=True)) >= least)
    goal = cp.Maximize(-cost) if small.maximised else cp.Minimize(cost)
    return cp.Problem(goal, rows)


def _in_pyomo(small: Small) -> Any:
    problem = pyo.ConcreteModel()
    domain = pyo.Integers if small.kind == "MILP" else pyo.Reals
    problem.x = pyo.Var(bounds=(0, small.most[0]))
    problem.y = pyo.Var([1, 2], bounds=(0, 3), domain=domain)
    v = [problem.x, problem.y[1], problem.y[2]]
    cost = sum(c * x for c, x in zip(small.cost, v, strict=True)) + small.constant
    if small.bend:
        cost += small.bend * ((v[1] - 1) ** 2 + (v[2] - 1) ** 2)
    problem.rows = pyo.ConstraintList()
    for row, least in zip(small.rows, small.least, strict=True):
        body = sum(a * x for a, x in zip(row, v, strict=True) if a)
        if any(row):
            problem.rows.add(body >= least)
        elif least > 0:
            problem.rows.add(v[1] >= 4)
    sense = pyo.maximize if small.maximised else pyo.minimize
    problem.cost = pyo.Objective(expr=-cost if small.maximised else cost, sense=sense)
    return problem


def _lies(small: Small, problem: Any, outcome: Outcome) -> Iterator[str]:
    sign = -1.0 if small.maximised else 1.0
    reached = [float(_worth(small, at)) for at in _points(small)]
    if not reached:
        if outcome.status is Status.OPTIMAL and small.kind != "QP":
            yield "optimal, where there is no point"
        return
    best = min(reached)
    if outcome.status is Status.INFEASIBLE:
        yield f"infeasible, where {best} is reached"
    bound = None if outcome.bound is None else sign * outcome.bound
    size = max(1.0, abs(best))
    if bound is not None and bound > best + ROUNDING * size:
        yield f"bound {bound} above {best}, which is reached"
    if outcome.status is Status.OPTIMAL:
        own = (
            problem.value
            if isinstance(problem, cp.Problem)
            else pyo.value(problem.cost)
        )
        if sign * own > best + BEST * size:
            yield f"optimal at {own}, where {best} is reached"


def _worth(small: Small, at: Point) -> Fraction:
    linear = sum(Fraction(c) * x for c, x in zip(small.cost, at, strict=True))
    bent = Fraction(small.bend) * sum((x - 1) ** 2 for x in at[1:])
    return linear + bent + Fraction(small.constant)


def _points(small: Small) -> list[Point]:
    """Return feasible points, in fractions, the best of a linear program among them."""
    if small.kind == "MILP":
        return list(_whole(small))
    corners = list(_vertices(small))
    if small.kind == "LP":
        return corners
    return corners + [_between(small, *pair) for pair in combinations(corners, 2)]


def _between(small: Small, one: Point, other: Point) -> Point:
    """Return the best point between two."""
    way = [b - a for a, b in zip(one, other, strict=True)]
    q = Fraction(small.bend) * sum(w * w for w in way[1:])
    if q == 0:
        return one
    slope = sum(Fraction(c) * w for c, w in zip(small.cost, way, strict=True))
    bent = zip(one[1:], way[1:], strict=True)
    slope += 2 * Fraction(small.bend) * sum((a - 1) * w for a, w in bent)
    s = min(max(-slope / (2 * q), Fraction(0)), Fraction(1))
    return tuple(a + s * w for a, w in zip(one, way, strict=True))


def _sides(small: Small) -> list[tuple[list[Fraction], Fraction]]:
    """Return all rows a'v >= b, those of the box among them."""
    given = zip(small.rows, small.least, strict=True)
    sides = [([Fraction(a) for a in row], Fraction(b)) for row, b in given]
    for j, most in enumerate(small.most):
        unit = [Fraction(int(i == j)) for i in range(3)]
        sides += [(unit, Fraction(0)), ([-a for a in unit], Fraction(-most))]
    return sides


def _kept(sides: list[tuple[list[Fraction], Fraction]], at: Point) -> bool:
    return all(
        sum(a * x for a, x in zip(row, at, strict=True)) >= b for row, b in sides
    )


def _vertices(small: Small) -> Iterator[Point]:
    sides = _sides(small)
    for three in combinations(sides, 3):
        at = _meeting([row for row, _ in three], [b for _, b in three])
        if at is not None and _kept(sides, at):
            yield at


def _meeting(rows: list[list[Fraction]], b: list[Fraction]) -> Point | None:
    """Return where three planes meet, by Cramer's rule."""
    whole = _determinant(rows)
    if whole == 0:
        return None
    swapped = (
        [[*r[:j], b[i], *r[j + 1 :]] for i, r in enumerate(rows)] for j in range(3)
    )
    return tuple(_determinant(table) / whole for table in swapped)


def _determinant(m: list[list[Fraction]]) -> Fraction:
    (a, b, c), (d, e, f), (g, h, i) = m
    return a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)


def _whole(small: Small) -> Iterator[Point]:
    """Yield the ends of what x may be, of each whole y and z."""
    sides = _sides(small)
    for y, z in product(range(4), repeat=2):
        rest = [(row[0], b - row[1] * y - row[2] * z) for row, b in sides]
        ends = {b / a for a, b in rest if a}
        points = ((x, Fraction(y), Fraction(z)) for x in ends)
        yield from (at for at in points if _kept(sides, at))
