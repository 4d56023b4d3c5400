"""The measures of typed attributes by name, each declared in a file of this folder."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from aggopt.core.registry import Method, Registry
from aggopt.measure.types._pair import AttributePair, TypedPair

Figure = float | None  # None where it is not defined


@dataclass(frozen=True, kw_only=True)
class TypedMeasure(Method):
    """A pure function of the original and the released table.

    Attributes
    ----------
    function
        Takes both tables, and returns a figure, or one for each attribute by name.
    range
        From least to largest value, such as "0..1"; "0.." has no largest.
    better
        "lower" or "higher"; "-" where neither is.
    source
        Where it is defined.
    each, whole
        Finds it of an attribute, or else of all attributes together.
    label
        How it is called where it is printed.
    percent
        Whether it is printed as a percentage.
    """

    function: Callable[..., Any]
    range: str
    better: str
    source: str
    label: str
    each: Callable[[AttributePair], Figure] | None = None
    whole: Callable[[TypedPair], Figure] | None = None
    percent: bool = True

    def shown(self, found: Figure) -> str:
        """Return a figure as it is printed; nothing where it is not defined."""
        if found is None:
            return ""
        return f"{100 * found:.2f} %" if self.percent else f"{found:.4g}"


TYPED = Registry("aggopt.measure.types", TypedMeasure, "measure of typed attributes")
