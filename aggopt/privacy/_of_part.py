"""A requirement on all records of a table, asked of some of them."""

from dataclasses import dataclass, field

from aggopt.core.types import F64, I64, Bool
from aggopt.privacy._requirement import Check, Requirement


@dataclass(frozen=True, eq=False)
class OfPart(Requirement):
    """What a requirement asks of groups of some records of a table.

    Attributes
    ----------
    whole
        The requirement on values, each of which it has once.
    which : (n,)
        Which of these values each record has.
    """

    whole: Requirement = field(repr=False)
    which: I64 = field(repr=False)

    @property
    def attribute(self) -> str:  # type: ignore[override]
        """Whose values."""
        return self.whole.attribute

    @property
    def model(self) -> str:  # type: ignore[override]
        """The name of the privacy model."""
        return self.whole.model

    @property
    def sign(self) -> str:  # type: ignore[override]
        """Which way protects."""
        return self.whole.sign

    @property
    def additive(self) -> bool:  # type: ignore[override]
        """Whether a union of groups that satisfy it satisfies it."""
        return self.whole.additive

    @property
    def n(self) -> int:
        """How many records there are here."""
        return len(self.which)

    @property
    def name(self) -> str:
        """What is counted."""
        return self.whole.name

    @property
    def asked(self) -> float:
        """What the worst group is held against."""
        return self.whole.asked

    @property
    def trivial(self) -> bool:
        """Whether any groups satisfy it."""
        return self.whole.trivial

    def found(self, records: I64, starts: I64) -> F64:
        """Return what each group has, (groups,)."""
        return self.whole.found(self.which[records], starts)

    def broken(self, records: I64, starts: I64) -> Bool:
        """Whether each group does not satisfy it, (groups,)."""
        return self.whole.broken(self.which[records], starts)

    def short(self, records: I64, starts: I64) -> F64:
        """Return how far each group is from satisfying it."""
        return self.whole.short(self.which[records], starts)

    def extreme(self, records: I64, starts: I64, found: F64) -> float:
        """Return what the worst group has, rounded once."""
        return self.whole.extreme(self.which[records], starts, found)

    def stated(self, check: Check) -> Check:
        """Return what groups have with what the model says beside it."""
        return self.whole.stated(check)

    def keeps(self, found: float) -> str:
        """Say what such groups do satisfy."""
        return self.whole.keeps(found)

    def ways(self, whole: Check) -> list[str]:
        """Return what else could be promised."""
        return self.whole.ways(whole)
