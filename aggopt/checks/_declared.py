"""Cost and violations by name of a declared program at a point."""

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from aggopt.checks.law import require

OF_VARIABLES = "of its variables"  # violations of domains, not of a constraint


def language_of(problem: Any) -> str:
    """Return the modelling language of a problem."""
    return "cvxpy" if hasattr(problem, "var_dict") else "pyomo"


def class_of(problem: Any) -> str:
    """Return the class of a problem: LP, QP, SOCP, SDP, MILP, MIQP, NLP or MINLP."""
    language = import_module(f"aggopt.solvers._{language_of(problem)}")
    return str(language.problem_class(problem))


def constraint_names(problem: Any) -> set[str]:
    """Return the names of its constraints."""
    if language_of(problem) == "cvxpy":
        return {str(row.label) for row in problem.constraints}
    from pyomo.environ import Constraint

    return {row.name for row in problem.component_objects(Constraint)}


def shape_of(problem: Any, name: str) -> tuple[int, ...] | None:
    """Return the shape of a variable that it declares, None of one that it does not."""
    if language_of(problem) == "cvxpy":
        known = problem.var_dict.get(name)
        return None if known is None else tuple(known.shape)
    known = getattr(problem, name, None)
    if known is None or not len(known):
        return None
    last = max(known.index_set())
    return tuple(i + 1 for i in last) if isinstance(last, tuple) else (last + 1,)


def is_symmetric(problem: Any, name: str) -> bool:
    """Whether a variable is declared as a symmetric matrix."""
    return language_of(problem) == "cvxpy" and problem.var_dict[name].is_symmetric()


def put(problem: Any, at: Any) -> None:
    """Set the variables that it declares to the values of a point."""
    for name, value in at._asdict().items():
        if shape_of(problem, name) is None:
            continue
        if language_of(problem) == "cvxpy":
            problem.var_dict[name].save_value(np.asarray(value, dtype=np.float64))
            continue
        values = np.asarray(value, dtype=np.float64)
        for where in getattr(problem, name):
            number = float(values[where])
            getattr(problem, name)[where].set_value(number, skip_validation=True)
    if language_of(problem) == "cvxpy":  # Pyomo names such a variable itself
        lacking = [v.name() for v in problem.variables() if v.value is None]
        require(not lacking, f"its point has no value of {', '.join(lacking)}")


def taken(problem: Any, names: tuple[str, ...]) -> list[npt.NDArray[Any]] | None:
    """Return the values of variables of a solved problem; None where one has none."""
    found = []
    for name in names:
        if language_of(problem) != "cvxpy" or name not in problem.var_dict:
            return None
        found.append(problem.var_dict[name].value)
    return None if any(value is None for value in found) else found


def cost(problem: Any) -> float:
    """Return its objective at the values that its variables have."""
    if language_of(problem) == "cvxpy":
        return float(problem.objective.value)
    from pyomo.environ import Objective, value

    return float(value(next(problem.component_data_objects(Objective, active=True))))


def missed(problem: Any) -> dict[str, float]:
    """Return by how much its constraints are missed, by their names.

    Violations of the domains of its variables have the name `OF_VARIABLES`.
    """
    found: dict[str, float] = {}
    for name, amount in _missed(problem):
        found[name] = max(amount, found.get(name, 0.0))
    return found


def _missed(problem: Any) -> Iterator[tuple[str, float]]:
    if language_of(problem) == "cvxpy":
        for row in problem.constraints:
            yield str(row.label), float(np.max(row.violation(), initial=0.0))
        for variable in problem.variables():
            away = np.abs(variable.value - variable.project(variable.value))
            yield OF_VARIABLES, float(np.max(away, initial=0.0))
        return
    from pyomo.environ import Constraint, Var, value

    for block in problem.component_objects(Constraint):
        for row in block.values():
            yield block.name, _outside(value(row.body), row.lb, row.ub)
    for variables in problem.component_objects(Var):
        for one in variables.values():
            away = _outside(one.value, one.lb, one.ub)
            broken = 0.0 if one.is_continuous() else abs(one.value - round(one.value))
            yield OF_VARIABLES, max(away, broken)


def _outside(body: float, low: float | None, high: float | None) -> float:
    below = 0.0 if low is None else low - body
    above = 0.0 if high is None else body - high
    return float(max(below, above, 0.0))
