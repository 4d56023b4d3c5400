"""A function that declares a program, as a model: the program judges its own answer.

The function takes x (n,), standardised, labels (n,), sizes (m,) and settings, and
returns a problem of cvxpy with a variable "c", the centroids (m,).  The objective and
the violations of constraints are those of the problem at its variables.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from aggopt.core.plugins.function import UserFunction
from aggopt.core.validation import Floats, Labels
from aggopt.errors import JobError

ABOUT = (  # arguments and result of a function
    "write a function of (x, labels, sizes, *, its settings) that returns "
    "cvxpy.Problem(cvxpy.Minimize(...), [...]), in which c = "
    'cvxpy.Variable(len(sizes), name="c").'
)


@dataclass(frozen=True, eq=False)
class DeclaredData:
    """One standardised attribute (n,), its groups (n,), and settings."""

    x: Floats = field(repr=False)
    labels: Labels = field(repr=False)
    settings: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @cached_property
    def sizes(self) -> Floats:
        """Number of records in each group, n_j (m,)."""
        return np.bincount(self.labels).astype(np.float64)


class DeclaredPoint(NamedTuple):
    """Centroids (m,), with the problem's objective and violations at its variables."""

    c: Floats
    cost: float
    missed: Mapping[str, float]


@dataclass(frozen=True)
class Declaration(UserFunction):
    """A function (x, labels, sizes, *, settings) to a problem of cvxpy."""

    data: ClassVar[tuple[str, ...]] = ("x", "labels", "sizes")
    given: ClassVar[tuple[str, ...]] = ()

    def told(self, x: Floats, labels: Labels, /, **settings: Any) -> DeclaredData:
        """Return the data that the function receives."""
        return DeclaredData(x, labels, settings)

    def build(
        self, data: DeclaredData, language: str, *, start: Floats | None = None
    ) -> Any:
        """Return the problem that the function declares, `start` in its centroids.

        Raises
        ------
        JobError
            The result is not a problem of cvxpy that minimises, or its variable "c"
            does not have this shape.
        """
        given = (data.x.copy(), data.labels.copy(), data.sizes.copy())
        problem = self.run(*given, **data.settings)
        self._require_centroids(problem, len(data.sizes))
        if start is not None:
            problem.var_dict["c"].save_value(start)
        return problem

    def _require_centroids(self, problem: Any, m: int) -> None:
        import cvxpy as cp

        name = self.origin.name
        if type(problem) is not cp.Problem:
            seen = f"a {type(problem).__name__}, and no cvxpy.Problem"
            raise JobError(f"{name} returns {seen}.", fix=ABOUT)
        if not isinstance(problem.objective, cp.Minimize):
            raise JobError(f"{name} maximises.", fix="minimise its negative.")
        c = problem.var_dict.get("c")
        if c is None or c.shape != (m,):
            seen = "no variable" if c is None else f"a variable of shape {c.shape}"
            raise JobError(f'{name} has {seen} called "c", for {m} groups.', fix=ABOUT)
        if c.is_complex():
            raise JobError(f"{name} has complex centroids.", fix=ABOUT)

    def point(self, data: DeclaredData, reading: Any) -> DeclaredPoint:
        """Return a point unchanged, or that of centroids (m,) with the best others."""
        if isinstance(reading, DeclaredPoint):
            return reading
        c = np.asarray(reading, np.float64)
        problem = self.build(data, "cvxpy")
        complete(problem, c)
        found = self.origin.run(point_in, problem, data)
        return found or DeclaredPoint(c, np.nan, {"variables": np.inf})


def point_in(problem: Any, data: DeclaredData) -> DeclaredPoint | None:
    """Return the point of a solved problem; None without a solution."""
    c, cost = problem.var_dict["c"].value, problem.objective.value
    if c is None or cost is None or any(v.value is None for v in problem.variables()):
        return None
    return DeclaredPoint(np.asarray(c, np.float64), float(cost), missed_by(problem))


def cost_at(data: DeclaredData, at: DeclaredPoint) -> float:
    """Return the problem's objective at a point."""
    return at.cost


def missed_at(data: DeclaredData, at: DeclaredPoint) -> dict[str, float]:
    """Return a point's violation of each constraint of the problem."""
    return dict(at.missed)


def missed_by(problem: Any) -> dict[str, float]:
    """Return the violations of constraints of cvxpy, by label or by place.

    A declaration of a variable, such as nonneg, is a constraint of its name.
    """
    found: dict[str, float] = {}
    for place, row in enumerate(problem.constraints, 1):
        name = row.label or f"constraint {place}"
        worst = float(np.max(row.violation(), initial=0.0))
        found[name] = max(worst, found.get(name, 0.0))
    for variable in problem.variables():
        away = np.abs(variable.value - variable.project(variable.value))
        found[f"variable {variable.name()}"] = float(np.max(away, initial=0.0))
    return found


def complete(problem: Any, centroids: Floats) -> None:
    """Give the variables the values that are best with these centroids (m,)."""
    import cvxpy as cp

    from aggopt.solvers import solve

    c = problem.var_dict["c"]
    if len(problem.variables()) > 1:
        fixed = [*problem.constraints, c == centroids]
        solve(cp.Problem(problem.objective, fixed))
    c.save_value(centroids)
