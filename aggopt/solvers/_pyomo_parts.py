"""Parts of a problem in Pyomo: its objective, its constraints and its variables."""

from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.core.expr.visitor import identify_variables

from aggopt.core.validation import Floats
from aggopt.errors import JobError

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


def require_known(problem: Any) -> None:
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
    if any(_is_off(v) for v in variables(problem, fixed=True)):
        raise JobError(
            "A variable of whole numbers is fixed between two of them.",
            fix="fix it at a whole number, or unfix it.",
        )
    if not variables(problem):
        raise JobError(
            "The problem has no variable that a solver could choose.",
            fix="pass an objective or constraints with a variable that is not fixed.",
        )


def _is_off(v: Any) -> bool:
    whole = v.fixed and not v.is_continuous() and v.value is not None
    return bool(whole and v.value != round(v.value))


def objective(problem: Any) -> Any:
    """Return the one objective; refuse none and several."""
    found = list(_active(problem, pyo.Objective))
    if len(found) != 1:
        raise JobError(
            f"The problem has {len(found)} active objectives.",
            fix="declare one, or deactivate the others.",
        )
    return found[0]


def constraints(problem: Any) -> list[Any]:
    """Return the active constraints that have a bound."""
    every = _active(problem, pyo.Constraint)
    return [c for c in every if c.has_lb() or c.has_ub()]


def variables(problem: Any, *, fixed: bool = False) -> list[Any]:
    """Return the variables of active parts, whichever block declares them."""
    found: dict[int, Any] = {}
    for part in (objective(problem).expr, *(c.body for c in constraints(problem))):
        for v in identify_variables(part, include_fixed=fixed):
            found.setdefault(id(v), v)
    return list(found.values())


def missed(problem: Any) -> float:
    """Return the largest violation of any constraint at the problem's point.

    Bounds of a variable, and that it is whole, are constraints, too.
    """
    worst = 0.0
    for row in constraints(problem):
        at = pyo.value(row.body)
        if row.has_lb():
            worst = max(worst, pyo.value(row.lower) - at)
        if row.has_ub():
            worst = max(worst, at - pyo.value(row.upper))
    for v in variables(problem):
        if v.value is None:  # no solver was given it: nothing depends on it
            continue
        left, right = v.bounds
        worst = worst if left is None else max(worst, left - v.value)
        worst = worst if right is None else max(worst, v.value - right)
        if not v.is_continuous():
            worst = max(worst, abs(v.value - round(v.value)))
    return float(worst)


def multipliers_by_name(problem: Any) -> dict[str, Floats] | None:
    """Return the multipliers in the suffix `dual`, by constraint; None without it.

    Pyomo's multiplier is the rate at which the objective rises with the side of a row.
    Here it is the rate at which the objective improves, per unit of loosening.  For an
    equality, the unit is by how much its left side may exceed the right.
    """
    left = getattr(problem, "dual", None)
    if not isinstance(left, pyo.Suffix):
        return None
    sign = 1.0 if objective(problem).sense == pyo.maximize else -1.0
    found = {}
    for block in problem.component_objects(pyo.Constraint, active=True):
        rows = [row for row in block.values() if row in left]
        if rows:
            found[block.name] = np.array([_loosened(r, sign * left[r]) for r in rows])
    return found or None


def _loosened(row: Any, higher: float) -> float:
    """Return a multiplier of a row from that of its upper side."""
    if row.equality or not row.has_lb():
        return float(higher)
    return float(abs(higher) if row.has_ub() else -higher)


def _active(problem: Any, kind: Any) -> Any:
    return problem.component_data_objects(kind, active=True, descend_into=True)
