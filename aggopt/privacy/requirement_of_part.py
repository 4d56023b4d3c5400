"""A requirement on all records of a table, applied to some records."""

from dataclasses import dataclass, field

from aggopt.core.types import F64, I64, Bool
from aggopt.privacy.requirement import Check, Requirement


@dataclass(frozen=True, eq=False)
class OfPart(Requirement):
    """A requirement applied to groups of some records of a table.

    Attributes
    ----------
    whole
        The requirement on the values, each present once.
    which : (n,)
        Index of the value of each record.
    """

    whole: Requirement = field(repr=False)
    which: I64 = field(repr=False)

    @property
    def attribute(self) -> str:  # type: ignore[override]
        """Name of the attribute."""
        return self.whole.attribute

    @property
    def model(self) -> str:  # type: ignore[override]
        """The name of the privacy model."""
        return self.whole.model

    @property
    def sign(self) -> str:  # type: ignore[override]
        """Sign of the comparison that protects."""
        return self.whole.sign

    @property
    def additive(self) -> bool:  # type: ignore[override]
        """Whether a union of groups that satisfy it satisfies it."""
        return self.whole.additive

    @property
    def n(self) -> int:
        """Number of these records."""
        return len(self.which)

    @property
    def name(self) -> str:
        """Name of the measured quantity."""
        return self.whole.name

    @property
    def required(self) -> float:
        """Required value for the worst group."""
        return self.whole.required

    @property
    def trivial(self) -> bool:
        """Whether any groups satisfy it."""
        return self.whole.trivial

    def measure_groups(self, records: I64, starts: I64) -> F64:
        """Return the value of each group, (groups,)."""
        return self.whole.measure_groups(self.which[records], starts)

    def find_broken(self, records: I64, starts: I64) -> Bool:
        """Whether each group violates it, (groups,)."""
        return self.whole.find_broken(self.which[records], starts)

    def measure_shortfall(self, records: I64, starts: I64) -> F64:
        """Return the shortfall of each group."""
        return self.whole.measure_shortfall(self.which[records], starts)

    def find_worst(self, records: I64, starts: I64, values: F64) -> float:
        """Return the value of the worst group, rounded once."""
        return self.whole.find_worst(self.which[records], starts, values)

    def complete_check(self, check: Check) -> Check:
        """Return the check with additions of the model."""
        return self.whole.complete_check(check)

    def describe_kept(self, value: float) -> str:
        """Return the requirement that these groups satisfy."""
        return self.whole.describe_kept(value)

    def list_remedies(self, total: Check) -> list[str]:
        """Return feasible alternatives."""
        return self.whole.list_remedies(total)
