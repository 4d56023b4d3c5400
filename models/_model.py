"""What a model file declares of itself, and the models by name."""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, isnan
from typing import Any

from aggopt.core.registry import Method


def no_point(data: Any, reading: Any) -> None:
    """Return None: what is read off this model's problems is no point of it."""


@dataclass(frozen=True, kw_only=True)
class Model(Method):
    """One optimisation model: data, declaration, and how a point of it is judged.

    Attributes
    ----------
    kind
        The class of its problems, one of `aggopt.solvers._solver.CLASSES`.
    languages
        Those that `build` declares it in.
    data
        What it is to be told: a frozen class that refuses what makes no sense.
    build
        (data, language) to a problem that is declared and not solved.
    objective
        (data, point) to what is minimised, in NumPy.
    violations
        (data, point) to by how much each constraint is missed, by its name in the
        file's head; 0 or less where it holds.  Every answer is judged by these two,
        never by what a solver says.
    point
        (data, reading) to a point; returns None where a reading is none.
    reader
        (problem, data) to what is wanted of a solved problem, such as labels.
    multipliers, proven
        (problem, data) to multipliers, and (data, multipliers) to the bound that they
        prove, whoever found them; None where the solver's bound is all there is.
    fallback
        (data) to what is read of a point that is feasible, found without a solver; None
        where there is none.
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
        """Whether its own problem judges its answers."""
        return False

    @property
    def judge(self) -> str | None:
        """What judges its answers, unless it is of this package."""
        return None

    @property
    def kinds(self) -> tuple[str, str]:
        """By what a solver may say that it takes this model: its name, its class."""
        return self.name, self.kind

    def violation(self, data: Any, at: Any) -> float:
        """Return the largest violation at a point, 0 where every constraint holds.

        One that is no number is infinite.
        """
        missed = self.violations(data, at).values()
        return max([0.0, *(inf if isnan(v) else float(v) for v in missed)])
