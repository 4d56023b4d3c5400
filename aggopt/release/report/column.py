"""A numeric attribute before and after."""

from dataclasses import dataclass, field

import numpy as np

from aggopt.core.types import F64
from aggopt.data.table import Table
from aggopt.release.figures.distributions import LONG, counts_dates, read_plain_numbers


@dataclass(frozen=True, eq=False)
class ReportedColumn:
    """Values of an attribute; nan if missing.

    Attributes
    ----------
    name
        Name of the attribute.
    before, after
        Originals and released values (n,), dates in days since 1970, times and lengths
        in hours; `before` is None without the originals.
    unit
        What 1 is; nothing for numbers, whose unit the table has.
    dated
        Whether these are dates.
    """

    name: str
    before: F64 | None = field(repr=False)
    after: F64 = field(repr=False)
    unit: str = ""
    dated: bool = False

    @property
    def both(self) -> tuple[F64, F64] | None:
        """Originals and released values of records that miss neither, (m,)."""
        if self.before is None:
            return None
        is_present = ~(np.isnan(self.before) | np.isnan(self.after))
        return self.before[is_present], self.after[is_present]


def make_reported_column(
    name: str, original: Table | None, released: Table
) -> ReportedColumn:
    """Return a numeric attribute of both tables."""
    before = None if original is None else read_plain_numbers(original, name)
    after = read_plain_numbers(released, name)
    if name not in released.clocks:
        return ReportedColumn(name, before, after)
    dated = counts_dates(released.clocks[name])
    unit = "days" if dated else "hours"
    if before is not None:
        before = before / LONG[unit]
    return ReportedColumn(name, before, after / LONG[unit], unit, dated)
