"""Groups of which enough records have a value of their own."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from aggopt.core.types import F64, I64, Bool
from aggopt.core.validation import Labels
from aggopt.privacy._requirement import Requirement


@dataclass(frozen=True, eq=False)
class Observed(Requirement):
    """Each group has `least` records whose value is `there` (n,).

    With the `units` (n,) of these records, it is records of so many units.  A union of
    groups that satisfy this satisfies it.
    """

    model: ClassVar[str] = "observed"

    attribute: str
    there: Bool = field(repr=False)
    least: int
    units: Labels | None = field(default=None, repr=False)

    @property
    def n(self) -> int:
        """How many records there are."""
        return len(self.there)

    @property
    def name(self) -> str:
        """What is counted."""
        return "values that are not missing"

    @property
    def asked(self) -> float:
        """How many there must be."""
        return float(self.least)

    def found(self, records: I64, starts: I64) -> F64:
        """Return how many values each group has, (groups,)."""
        own = self.there[records]
        if self.units is None:
            return np.add.reduceat(own.astype(np.float64), starts[:-1])
        groups = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        pairs = np.stack([groups[own], self.units[records[own]]])
        distinct = np.unique(pairs, axis=1)[0]
        return np.bincount(distinct, minlength=len(starts) - 1).astype(np.float64)

    def broken(self, records: I64, starts: I64) -> Bool:
        """Whether each group has fewer than that, (groups,)."""
        return np.asarray(self.found(records, starts) < self.least)

    def keeps(self, found: float) -> str:
        """Say which k such groups keep."""
        return f"k of at most {int(found)}"
