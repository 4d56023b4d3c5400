"""Declaration of a model file, and the models by name."""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, isnan
from typing import Any

from aggopt.core.registry import Method


def no_point(data: Any, reading: Any) -> None:
    """Return None, for models whose readings do not determine a point."""


@dataclass(frozen=True, kw_only=True)
class Model(Method):
    """One optimisation model: its data, its declaration, and the judge of its points.

    Attributes
    ----------
    kind
        The class of its problems, one of `aggopt.solvers.solver.CLASSES`.
    languages
        Languages in which `build` declares the model.
    data
        Class of its data: a frozen class that refuses invalid values.
    build
        (data, language) to a problem that is declared and not solved.
    objective
        (data, point) to the minimised objective, in NumPy.
    violations
        (data, point) to the violation of each constraint, by its name in the file's
        head; 0 or less if it holds.  The objective and the violations judge every
        answer; the solver's report never does.
    point
        (data, reading) to a point, or None if the reading is not a point.
    reader
        (problem, data) to the reading of a solved problem, such as labels.
    multipliers, proven
        (problem, data) to multipliers, and (data, multipliers) to the bound that any
        multipliers prove; None if only the solver has a bound.
    fallback
        (data) to the reading of a feasible point, found without a solver; None without
        a fallback.
    example
        Returns small data, which solvers take a second or less for.
    impossible
        Returns data that is refused, or whose problem is infeasible.
    """

    kind: str
    languages: tuple[str, ...]
    data: Callable[..., Any]
    build: Callable[..., Any]
    objective: Callable[[Any, Any], float]
    violations: Callable[[Any, Any], dict[str, float]]
    reader: Callable[[Any, Any], Any]
    point: Callable[..., Any] = no_point
    multipliers: Callable[[Any, Any], Any] | None = None
    proven: Callable[[Any, Any], float] | None = None
    fallback: Callable[[Any], Any] | None = None
    example: Callable[..., Any] | None = None
    impossible: Callable[..., Any] | None = None

    @property
    def declared(self) -> bool:
        """Whether the user's own problem, not this package, evaluates the answers."""
        return False

    @property
    def judge(self) -> str | None:
        """Text on the user's code that evaluates answers; None for other models."""
        return None

    @property
    def kinds(self) -> tuple[str, str]:
        """Name and problem class, by either of which a solver may accept the model."""
        return self.name, self.kind

    def violation(self, data: Any, at: Any) -> float:
        """Return the largest violation of a constraint at point `at`, 0 if all hold.

        A violation that is not a number counts as infinite.
        """
        missed = self.violations(data, at).values()
        return max([0.0, *(inf if isnan(v) else float(v) for v in missed)])
