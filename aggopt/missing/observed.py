"""Groups with enough records that have a value."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from aggopt.core.types import F64, I64, Bool
from aggopt.core.validation import Labels
from aggopt.privacy.requirement import Requirement


@dataclass(frozen=True, eq=False)
class Observed(Requirement):
    """Each group has `least` records whose value is `there` (n,).

    If `units` (n,) are given, these records must belong to at least `least` units.  A
    union of groups that satisfy the requirement satisfies it.
    """

    model: ClassVar[str] = "observed"

    attribute: str
    there: Bool = field(repr=False)
    least: int
    units: Labels | None = field(default=None, repr=False)

    @property
    def n(self) -> int:
        """Number of records."""
        return len(self.there)

    @property
    def name(self) -> str:
        """Name of the count."""
        return "values that are not missing"

    @property
    def asked(self) -> float:
        """Required count."""
        return float(self.least)

    def found(self, records: I64, starts: I64) -> F64:
        """Return the count of values, or of units, in each group, (groups,)."""
        own = self.there[records]
        if self.units is None:
            return np.add.reduceat(own.astype(np.float64), starts[:-1])
        groups = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        pairs = np.stack([groups[own], self.units[records[own]]])
        distinct = np.unique(pairs, axis=1)[0]
        return np.bincount(distinct, minlength=len(starts) - 1).astype(np.float64)

    def broken(self, records: I64, starts: I64) -> Bool:
        """Whether each group has fewer than `least`, (groups,)."""
        return np.asarray(self.found(records, starts) < self.least)

    def keeps(self, found: float) -> str:
        """Return the k that these groups satisfy, for a message."""
        return f"k of at most {int(found)}"
