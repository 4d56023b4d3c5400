"""Class of a problem in Pyomo, and its linear program, if it is one."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import fsum, inf, isfinite, isinf, sqrt
from typing import Any, NamedTuple

import numpy as np
import pyomo.environ as pyo
from pyomo.core.expr.visitor import identify_variables
from pyomo.repn import generate_standard_repn

from aggopt.core.types import Floats
from aggopt.errors import JobError
from aggopt.solvers._linear_bound import LinearProgram
from aggopt.solvers.termination import ProgramScale, Terms, scale

# The kinds of components that solvers receive, and kinds that require nothing of a
# solution.  Pyomo silently ignores any other kind.
KINDS = frozenset(
    {
        pyo.Var,
        pyo.Constraint,
        pyo.Objective,
        pyo.Expression,
        pyo.Param,
        pyo.Set,
        pyo.Block,
        pyo.Suffix,
        pyo.BooleanVar,
    }
)


def require_known_parts(problem: Any) -> None:
    """Refuse problems with parts that no solver would receive.

    Raises
    ------
    JobError
        The problem has an active component of another kind than `KINDS`, no variable,
        or an integer variable that is fixed between whole numbers.
    """
    parts = problem.component_objects(active=True, descend_into=True)
    strange = sorted({c.ctype.__name__ for c in parts if c.ctype not in KINDS})
    if strange:
        raise JobError(
            f"The problem has active components of kind {', '.join(strange)}, "
            "which solvers are not given.",
            fix="state them as constraints, by a transformation of Pyomo such as "
            "gdp.bigm, or deactivate them.",
        )
    if any(_is_off(v) for v in list_variables(problem, fixed=True)):
        raise JobError(
            "A variable of whole numbers is fixed between two of them.",
            fix="fix it at a whole number, or unfix it.",
        )
    if not list_variables(problem):
        raise JobError(
            "The problem has no variable that a solver could choose.",
            fix="pass an objective or constraints with a variable that is not fixed.",
        )


def _is_off(v: Any) -> bool:
    """Whether a fixed integer variable has a value that is no whole number."""
    is_fixed_integer = v.fixed and not v.is_continuous() and v.value is not None
    return bool(is_fixed_integer and v.value != round(v.value))


def get_objective(problem: Any) -> Any:
    """Return the one objective; refuse none and several."""
    objectives = list(_list_active(problem, pyo.Objective))
    if len(objectives) != 1:
        raise JobError(
            f"The problem has {len(objectives)} active objectives.",
            fix="declare one, or deactivate the others.",
        )
    return objectives[0]


def list_constraints(problem: Any) -> list[Any]:
    """Return the active constraints that have a bound."""
    every = _list_active(problem, pyo.Constraint)
    return [c for c in every if c.has_lb() or c.has_ub()]


def list_variables(problem: Any, *, fixed: bool = False) -> list[Any]:
    """Return the variables of active parts, whichever block declares them."""
    by_id: dict[int, Any] = {}
    for part in (
        get_objective(problem).expr,
        *(c.body for c in list_constraints(problem)),
    ):
        for v in identify_variables(part, include_fixed=fixed):
            by_id.setdefault(id(v), v)
    return list(by_id.values())


def measure_violation(problem: Any) -> float:
    """Return the largest violation of any constraint at the problem's point.

    Bounds of a variable, and that it is whole, are constraints, too.
    """
    worst = 0.0
    for row in list_constraints(problem):
        at = pyo.value(row.body)
        if row.has_lb():
            worst = max(worst, pyo.value(row.lower) - at)
        if row.has_ub():
            worst = max(worst, at - pyo.value(row.upper))
    for v in list_variables(problem):
        if v.value is None:  # no solver was given it: nothing depends on it
            continue
        left, right = v.bounds
        worst = worst if left is None else max(worst, left - v.value)
        worst = worst if right is None else max(worst, v.value - right)
        if not v.is_continuous():
            worst = max(worst, abs(v.value - round(v.value)))
    return float(worst)


def read_named_multipliers(problem: Any) -> dict[str, Floats] | None:
    """Return the multipliers in the suffix `dual`, by constraint; None without it.

    Pyomo's multiplier is the rate at which the objective rises with the side of a row.
    Here it is the rate at which the objective improves, per unit of loosening.  For an
    equality, the unit is by how much its left side may exceed the right.
    """
    left = getattr(problem, "dual", None)
    if not isinstance(left, pyo.Suffix):
        return None
    sign = 1.0 if get_objective(problem).sense == pyo.maximize else -1.0
    multipliers = {}
    for block in problem.component_objects(pyo.Constraint, active=True):
        rows = [row for row in block.values() if row in left]
        if rows:
            multipliers[block.name] = np.array(
                [_sign_multiplier(r, sign * left[r]) for r in rows]
            )
    return multipliers or None


def _sign_multiplier(row: Any, higher: float) -> float:
    """Return a multiplier of a row from that of its upper side."""
    if row.equality or not row.has_lb():
        return float(higher)
    return float(abs(higher) if row.has_ub() else -higher)


def _list_active(problem: Any, kind: Any) -> Any:
    return problem.component_data_objects(kind, active=True, descend_into=True)


CONVEX = 1e-9  # share of the largest eigenvalue: one above its negative counts as 0
DENSE = 1500  # most variables of a quadratic form whose eigenvalues are computed


def find_problem_class(problem: Any) -> str:
    """Class of a problem: one of `CLASSES`; convex quadratic rows make it an SOCP.

    Raises
    ------
    JobError
        No solver would be given all of it.
    """
    require_known_parts(problem)
    is_mixed = any(not v.is_continuous() for v in list_variables(problem))
    cost = get_objective(problem)
    bend = _find_curvature(
        _make_standard_form(cost.expr), -1.0 if cost.sense == pyo.maximize else 1.0
    )
    rows = _find_worst_curvature(problem)
    if "other" in (bend, rows) or (is_mixed and rows == "convex"):
        return "MINLP" if is_mixed else "NLP"
    if rows == "convex":
        return "SOCP"
    return ("MI" if is_mixed else "") + ("QP" if bend == "convex" else "LP")


def _make_standard_form(expression: Any) -> Any:
    return generate_standard_repn(expression, quadratic=True)


def _find_worst_curvature(problem: Any) -> str:
    """Return "none", "convex" or "other": the worst of all rows."""
    worst = "none"
    for row in list_constraints(problem):
        degree = row.body.polynomial_degree()
        if degree in (0, 1):
            continue
        if degree != 2 or (row.has_lb() and row.has_ub()):
            return "other"
        if (
            _find_curvature(
                _make_standard_form(row.body), 1.0 if row.has_ub() else -1.0
            )
            == "other"
        ):
            return "other"
        worst = "convex"
    return worst


def _find_curvature(form: Any, sign: float) -> str:
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
    eigenvalues = np.linalg.eigvalsh(hessian)
    return (
        "convex"
        if eigenvalues[0] >= -CONVEX * max(abs(eigenvalues[-1]), 1e-300)
        else "other"
    )


class PyomoProgram(NamedTuple):
    """The program to be minimised, and the constraint of each of its rows."""

    program: LinearProgram
    rows: list[Any]


def extract_pyomo_program(problem: Any) -> PyomoProgram | None:
    """Return the linear program, whose costs may be squares; None for any other."""
    cost = get_objective(problem)
    rows = list_constraints(problem)
    sign = -1.0 if cost.sense == pyo.maximize else 1.0
    free = list_variables(problem)
    place = {id(v): j for j, v in enumerate(free)}
    forms = [_make_standard_form(row.body) for row in rows]
    goal = _make_standard_form(cost.expr)
    if any(not v.is_continuous() for v in free) or _is_other(forms, goal):
        return None
    low, high = _compute_row_sides(rows, forms)
    squares = [v for v, _ in goal.quadratic_vars]
    program = LinearProgram(
        sign * _scatter_coefficients(goal.linear_vars, goal.linear_coefs, place),
        2 * sign * _scatter_coefficients(squares, goal.quadratic_coefs, place),
        sign * float(pyo.value(goal.constant)),
        _build_matrix(forms, place),
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


def _compute_row_sides(rows: list[Any], forms: list[Any]) -> tuple[Floats, Floats]:
    """Return low and high (m,) of the rows without their constants."""
    low = [pyo.value(r.lower) if r.has_lb() else -np.inf for r in rows]
    high = [pyo.value(r.upper) if r.has_ub() else np.inf for r in rows]
    constant = np.array([pyo.value(f.constant) for f in forms], float)
    left = np.array(low, float) - constant
    right = np.array(high, float) - constant
    moved = constant != 0  # and rounded
    left[moved] = np.nextafter(left[moved], -np.inf)
    right[moved] = np.nextafter(right[moved], np.inf)
    return left, right


def _scatter_coefficients(
    variables: Any, coefficients: Any, place: dict[int, int]
) -> Floats:
    dense = np.zeros(len(place))
    for v, c in zip(variables, coefficients, strict=True):
        dense[place[id(v)]] += pyo.value(c)
    return dense


def _build_matrix(forms: list[Any], place: dict[int, int]) -> Any:
    from scipy.sparse import csr_array

    counts = [len(f.linear_vars) for f in forms]
    i = np.repeat(np.arange(len(forms)), counts)
    j = np.array([place[id(v)] for f in forms for v in f.linear_vars], int)
    a = np.array([pyo.value(c) for f in forms for c in f.linear_coefs], float)
    return csr_array((a, (i, j)), (len(forms), len(place)))


ROUNDS = 4  # of narrowing the box; each looks at every row once
Interval = tuple[float, float]
Box = dict[int, Interval]


@dataclass(frozen=True)
class Form:
    """Sum of a x^2 + b x over `own` and a x y over `pairs`, between low and high."""

    single: dict[int, tuple[float, float]]  # by the id of x
    pairs: list[tuple[float, int, int]]
    constant: float
    low: float = -inf
    high: float = inf


def scale_of_problem(problem: Any, reached: float | None = None) -> ProgramScale | None:
    """Return the size of a problem's terms; None if unbounded or not quadratic.

    If an objective is `reached`, points with a worse objective are left out.

    >>> problem = pyo.ConcreteModel()
    >>> x = problem.x = pyo.Var([0, 1])
    >>> problem.row = pyo.Constraint(expr=x[0] ** 2 + x[1] ** 2 <= 4)
    >>> problem.cost = pyo.Objective(expr=3 * x[0])
    >>> round(scale_of_problem(problem).largest, 9)
    6.0
    """
    cost = get_objective(problem)
    goal = _read_quadratic_form(cost.expr)
    rows = [_read_quadratic_form(row.body, row) for row in list_constraints(problem)]
    known_rows = [row for row in rows if row is not None]
    if goal is None or len(known_rows) < len(rows):
        return None
    sign = -1.0 if cost.sense == pyo.maximize else 1.0
    used = set().union(*map(_list_used_variables, (goal, *known_rows)))
    box = {id(v): _read_bounds(v) for v in list_variables(problem) if id(v) in used}
    better = [] if reached is None else [_make_objective_row(goal, sign, reached)]
    for _ in range(ROUNDS):
        if all(isfinite(left) and isfinite(right) for left, right in box.values()):
            break
        for row in (*known_rows, *better):
            _reduce_box(row, box)
    ends = np.array(list(box.values())).reshape(-1, 2)
    sides = [s - row.constant for row in known_rows for s in (row.low, row.high)]
    terms = [term for row in known_rows for term in _iter_terms(row, box)]
    costs = list(_iter_terms(goal, box, upward=sign))
    return scale(
        _stack_terms(terms),
        np.array([s for s in sides if isfinite(s)]),
        _stack_terms(costs),
        (ends[:, 0], ends[:, 1]),
        goal.constant,
    )


def _read_bounds(v: Any) -> Interval:
    left, right = v.bounds
    return -inf if left is None else left, inf if right is None else right


def _read_quadratic_form(expression: Any, row: Any = None) -> Form | None:
    standard = generate_standard_repn(expression, quadratic=True)
    if standard.nonlinear_expr is not None:
        return None
    of_variable: dict[int, tuple[float, float]] = {}
    pairs = []
    for v, b in zip(standard.linear_vars, standard.linear_coefs, strict=True):
        of_variable[id(v)] = (0.0, float(pyo.value(b)))
    for (u, v), a in zip(
        standard.quadratic_vars, standard.quadratic_coefs, strict=True
    ):
        if u is v:
            of_variable[id(u)] = (
                float(pyo.value(a)),
                of_variable.get(id(u), (0.0, 0.0))[1],
            )
        else:
            pairs.append((float(pyo.value(a)), id(u), id(v)))
    of_variable = {
        j: coefficients for j, coefficients in of_variable.items() if any(coefficients)
    }
    pairs = [pair for pair in pairs if pair[0]]
    low = -inf if row is None or not row.has_lb() else float(pyo.value(row.lower))
    high = inf if row is None or not row.has_ub() else float(pyo.value(row.upper))
    return Form(of_variable, pairs, float(pyo.value(standard.constant)), low, high)


def _stack_terms(terms: list[Interval]) -> Terms:
    pairs = np.array(terms).reshape(-1, 2)
    return Terms(pairs[:, 0], pairs[:, 1])


def _iter_terms(form: Form, box: Box, *, upward: float = 0.0) -> Iterator[Interval]:
    """Yield coefficients and reaches, but of squares that only add, `upward`, none."""
    for j, (a, b) in form.single.items():
        reach = max(map(abs, box[j]))
        yield b, reach
        if a:
            yield a, 0.0 if a * upward > 0 else reach * reach
    for a, i, j in form.pairs:
        yield a, max(map(abs, box[i])) * max(map(abs, box[j]))


def _make_objective_row(goal: Form, sign: float, reached: float) -> Form:
    """Return the row that all points satisfy that are at least as good as `reached`."""
    of_variable = {j: (sign * a, sign * b) for j, (a, b) in goal.single.items()}
    pairs = [(sign * a, i, j) for a, i, j in goal.pairs]
    return Form(of_variable, pairs, sign * goal.constant, high=sign * reached)


def _list_used_variables(form: Form) -> set[int]:
    return {*form.single, *(j for _, *variables in form.pairs for j in variables)}


def _reduce_box(row: Form, box: Box) -> None:
    """Narrow the box to the range that a row leaves each of its variables."""
    spans = {j: _compute_square_range(a, b, box[j]) for j, (a, b) in row.single.items()}
    ranges = [
        *spans.values(),
        *(_compute_product_range(a, box[i], box[j]) for a, i, j in row.pairs),
    ]
    lower_ends = [s[0] for s in ranges]
    upper_ends = [s[1] for s in ranges]
    endless = sum(map(isinf, lower_ends)), sum(map(isinf, upper_ends))
    end_sums = fsum(filter(isfinite, lower_ends)), fsum(filter(isfinite, upper_ends))
    for j, (a, b) in row.single.items():
        top = (
            row.high
            - row.constant
            - _sum_other_ends(end_sums[0], endless[0], spans[j][0], -inf)
        )
        bottom = (
            row.low
            - row.constant
            - _sum_other_ends(end_sums[1], endless[1], spans[j][1], inf)
        )
        left, right = _solve_square_range(a, b, bottom, top)
        box[j] = max(box[j][0], left), min(box[j][1], right)


def _sum_other_ends(total: float, endless: int, term: float, nothing: float) -> float:
    """Return the sum of the other terms' ends; `nothing` if one of them has no end."""
    others = endless - isinf(term)
    return nothing if others else total - (0.0 if isinf(term) else term)


def _scale_interval(a: float, b: float) -> float:
    return 0.0 if a == 0 or b == 0 else a * b


def _compute_product_range(a: float, one: Interval, other: Interval) -> Interval:
    every = [_scale_interval(a, _scale_interval(p, q)) for p in one for q in other]
    return min(every), max(every)


def _compute_square_range(a: float, b: float, x: Interval) -> Interval:
    """Return the range of a x^2 + b x, which is a (x + h)^2 - a h^2, h = b / 2a."""
    if a == 0:
        return _compute_product_range(b, x, (1.0, 1.0))
    h = b / (2 * a)
    left = x[0] + h
    right = x[1] + h
    ends = left * left, right * right
    nearest = 0.0 if left <= 0 <= right else min(ends)
    low, high = sorted((_scale_interval(a, nearest), _scale_interval(a, max(ends))))
    return low - a * h * h, high - a * h * h


def _solve_square_range(a: float, b: float, low: float, high: float) -> Interval:
    """Return an interval that contains all x with low <= a x^2 + b x <= high."""
    if a == 0:
        left, right = sorted((low / b, high / b))
        return left, right
    h = b / (2 * a)
    square = (high if a > 0 else low) / a + h * h
    away = sqrt(square) if square >= 0 else inf
    return -away - h, away - h
