"""Published values that violate the job's bounds, or are not whole."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import inf
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from aggopt.core.plural import plural
from aggopt.data.parsing.entries import Values, make_entry_reader
from aggopt.job import AttributeSection


@dataclass(frozen=True)
class BoundsCheck:
    """Result for an attribute whose values must be within bounds, or whole.

    Attributes
    ----------
    lower, upper, integer
        Requirements of the job on its published values.
    beyond
        Number of values below lower or above upper, or not numbers.
    broken
        Number of values that are not whole numbers, if these are required.
    """

    attribute: str
    lower: float | None
    upper: float | None
    integer: bool
    beyond: int
    broken: int

    @property
    def holds(self) -> bool:
        """Whether all values satisfy the job's requirements."""
        return not (self.beyond or self.broken)

    def __str__(self) -> str:
        """Return the requirement and the result."""
        bounds = []
        if self.lower is not None:
            bounds.append(f"lower = {self.lower:g}")
        if self.upper is not None:
            bounds.append(f"upper = {self.upper:g}")
        if self.integer:
            bounds.append("integer = true")
        parts = []
        if self.beyond:
            parts.append(f"{plural(self.beyond, 'published value')} beyond")
        if self.broken:
            parts.append(f"{plural(self.broken, 'published value')} not whole")
        says = f"DOES NOT HOLD: {', '.join(parts)}" if parts else "holds"
        return f"{self.attribute!r}: {', '.join(bounds)} {says}."


def check_bounds(
    frame: nw.DataFrame[Any], sections: Mapping[str, AttributeSection], decimal: str
) -> tuple[BoundsCheck, ...]:
    """Return a bounds check for every attribute with lower, upper or integer.

    Entries are numbers, or text that spells them with this `decimal` point; missing
    values count as neither.
    """
    return tuple(_check_column(frame, sections, decimal))


def _check_column(
    frame: nw.DataFrame[Any], sections: Mapping[str, AttributeSection], decimal: str
) -> Iterator[BoundsCheck]:
    for name, section in sections.items():
        if not section.limited:
            continue
        column = frame[name]
        ends = (
            -inf if section.lower is None else section.lower,
            inf if section.upper is None else section.upper,
        )
        if column.dtype == nw.Float32:  # which rounds the ends as it does the values
            ends = float(np.float32(ends[0])), float(np.float32(ends[1]))
        values = Values.of(column, make_entry_reader(decimal))

        def outside(value: Any, ends: tuple[float, float] = ends) -> bool:
            return value is not None and not (
                isinstance(value, int | float) and ends[0] <= value <= ends[1]
            )

        yield BoundsCheck(
            name,
            section.lower,
            section.upper,
            section.integer,
            values.count(outside),
            values.count(_is_broken) if section.integer else 0,
        )


def _is_broken(value: Any) -> bool:
    return isinstance(value, float) and not value.is_integer()
