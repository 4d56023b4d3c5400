"""The measures of typed attributes by name, each declared in a file of this folder."""

from collections.abc import Callable
from dataclasses import dataclass

from aggopt.core.registry import Registry
from aggopt.measure._typed_pair import AttributePair
from aggopt.measure.registry import Declared, TypedComparison

Figure = float | None  # None if it is not defined


@dataclass(frozen=True, kw_only=True)
class TypedMeasure(Declared):
    """A measure of attributes of any types, by attribute or of all together.

    Attributes
    ----------
    each, whole
        Function that computes it for one attribute, which may have `weights`, or else
        for all attributes together.
    """

    each: Callable[[AttributePair], Figure] | None = None
    whole: Callable[[TypedComparison], Figure] | None = None

    def shown(self, found: Figure) -> str:
        """Return a figure in its printed form; "" if it is not defined."""
        if found is None:
            return ""
        return f"{100 * found:.2f} %" if self.percent else f"{found:.4g}"


TYPED = Registry("aggopt.measure.types", TypedMeasure, "measure of typed attributes")
