"""Groups of which enough records have a value of their own."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from aggopt.core.types import F64, I64, Bool
from aggopt.privacy._requirement import Requirement


@dataclass(frozen=True, eq=False)
class Observed(Requirement):
    """Each group has `least` records whose value is `there` (n,).

    A union of groups that satisfy this satisfies it.
    """

    model: ClassVar[str] = "observed"

    attribute: str
    there: Bool = field(repr=False)
    least: int

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
        return np.add.reduceat(self.there[records].astype(np.float64), starts[:-1])

    def broken(self, records: I64, starts: I64) -> Bool:
        """Whether each group has fewer than that, (groups,)."""
        return np.asarray(self.found(records, starts) < self.least)

    def keeps(self, found: float) -> str:
        """Say which k such groups keep."""
        return f"k of at most {int(found)}"
