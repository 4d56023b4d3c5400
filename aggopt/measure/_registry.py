"""The measures by name: each is declared in its own file of this folder."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import Enum
from math import inf
from typing import Any, TypeVar

import numpy.typing as npt

from aggopt.core.registry import Method, Registry
from aggopt.errors import JobError
from aggopt.measure._pair import Pair

Found = TypeVar("Found")
TAKEN = {  # by an `Assessment` and the arguments of `assess`
    *("n", "d", "varying", "linkage_limit", "linkage_blocks", "further"),
    *("original", "released", "safety", "delta", "weights", "whole"),
}


class Heading(Enum):
    """What stands above the sections of the table that `assess` prints, in order."""

    RISK = "Risk (lower is better)"
    LOSS = "Loss (lower is better)"
    LITERATURE = "Figures of the literature (lower is better)"
    SATISFACTION = "Satisfaction (higher is better)"


@dataclass(frozen=True, eq=False)
class Comparison:
    """Two tables and the arguments of `assess`; what is found of them, found once."""

    pair: Pair
    safety: float
    delta: npt.ArrayLike
    weights: npt.ArrayLike
    whole: int
    _found: dict[Callable[..., Any], Any] = field(default_factory=dict, repr=False)

    def once(self, of: Callable[["Comparison"], Found]) -> Found:
        """Return what `of` finds; it is called the first time only."""
        if of not in self._found:
            self._found[of] = of(self)
        found: Found = self._found[of]
        return found

    def figure(self, measure: "Measure") -> Any:
        """Return what a measure finds of these tables, found once.

        Raises
        ------
        JobError
            It says no `of`, by which `assess` finds it.
        """
        if measure.of is None:
            raise JobError(
                f"{measure.name} is not found by a comparison.",
                fix=f"call aggopt.measure.{measure.name}.",
            )
        return self.once(measure.of)


@dataclass(frozen=True, kw_only=True)
class Measure(Method):
    """A pure function of the original and the released table.

    Attributes
    ----------
    function
        Takes the tables that it `needs`, in the original units, and its own arguments.
    range
        From least to largest value, such as "0..1"; "0.." has no largest.
    better
        "lower" or "higher"; "-" where neither is.
    source
        Where it is defined.
    needs
        "both" tables, or one of "original" and "released".
    of
        Finds it in a comparison; None where `assess` leaves it out.
    heading
        Under which `assess` prints it; None where it does not.
    label, says
        How it is called there, and what it means, of an `Assessment`.
    percent
        Whether it is printed as a percentage.
    parts
        Its parts by name, of an `Assessment`, printed below it.
    """

    function: Callable[..., Any]
    range: str
    better: str
    source: str
    needs: str = "both"
    of: Callable[[Comparison], Any] | None = None
    heading: Heading | None = None
    label: str = ""
    says: Callable[[Any], str] | None = None
    percent: bool = True
    parts: Callable[[Any], Iterable[tuple[str, float | None]]] | None = None

    def __post_init__(self) -> None:
        if self.name in TAKEN:
            raise JobError(
                f"A measure is called {self.name!r}, as a part of every assessment is.",
                fix="give it another name.",
            )

    @property
    def highest(self) -> float:
        """The largest value it can have."""
        most = self.range.partition("..")[2]
        return float(most) if most.isdigit() else inf


MEASURES = Registry("aggopt.measure", Measure, "measure")
