"""What a model file declares of itself, and the models by name."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from aggopt.core.registry import Method, Registry


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
    objective, violation
        (data, point) to what is minimised, and to the largest violation, in NumPy:
        every answer is judged by these, never by what a solver says.
    point
        (data, reading) to a point; returns None where a reading is none.
    reader
        (problem, data) to what is wanted of a solved problem, such as labels.
    example
        Returns small data, which solvers take a second or less for.
    multipliers, proven
        (problem, data) to multipliers, and (data, multipliers) to the bound that they
        prove, whoever found them; None where the solver's bound is all there is.
    """

    kind: str
    languages: tuple[str, ...]
    data: Callable[..., Any]
    build: Callable[..., Any]
    objective: Callable[[Any, Any], float]
    violation: Callable[[Any, Any], float]
    reader: Callable[[Any, Any], Any]
    example: Callable[[], Any]
    point: Callable[..., Any] = no_point
    multipliers: Callable[[Any, Any], Any] | None = None
    proven: Callable[[Any, Any], float] | None = None

    @property
    def kinds(self) -> tuple[str, str]:
        """By what a solver may say that it takes this model: its name, its class."""
        return self.name, self.kind


MODELS = Registry("aggopt.models", Model, "model")
