"""What groups must satisfy of one confidential attribute, and whether they do."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from aggopt.core.types import F64, I64, Bool
from aggopt.errors import InfeasibleInputError
from aggopt.privacy._distance import starts_of

LEAST = 1e-15  # that what is broken falls short by, whatever rounding makes of it


@dataclass(frozen=True)
class Check:
    """What groups have of what was asked.

    Attributes
    ----------
    attribute, promise
        Whose values, and what was asked of them: "distinct l", "entropy l",
        "recursive (3.0, l)", "t (ordered)", ...; with the number of levels, and of
        the distinct values behind them, where l counts levels.
    asked, found
        What was asked, and what the worst group has.
    holds
        Decided in whole numbers, before `found` was rounded.
    groups, broken
        How many groups there are, and how many do not satisfy it.
    worst
        Records in the worst group; in the smallest of several.
    trivial
        Whether the attribute has one value only, so that t holds and says nothing.
    sign
        "<=" where less protects better, else ">=".
    keeps
        What these groups do satisfy, as a job could ask for it: "l of at most 2".
    """

    attribute: str
    promise: str
    asked: float
    found: float
    holds: bool
    groups: int
    broken: int
    worst: int
    trivial: bool = False
    sign: str = ">="
    keeps: str = ""

    def __str__(self) -> str:
        """Say it with counts; no value of a record."""
        says = "holds" if self.holds else "DOES NOT HOLD"
        if self.trivial:
            return (
                f"{self.promise} {self.sign} {self.asked:g} {says} trivially for "
                f"{self.attribute!r}: it has one value only, known of everybody."
            )
        return (
            f"{self.promise} {self.sign} {self.asked:g} {says} for "
            f"{self.attribute!r}: the worst group, of {self.worst} records, has "
            f"{self.found:.6g}"
            + ("." if self.holds else f"; {self.broken} of {self.groups} groups fail.")
        )


class Requirement(ABC):
    """What a privacy model asks of one confidential attribute of n records.

    Groups come as records, group by group, and where each group starts (groups + 1,):
    group g is records[starts[g]:starts[g + 1]]; a record may be in several.

    Attributes
    ----------
    attribute
        Its name.
    model
        The name of the privacy model.
    sign
        "<=" where less protects better, else ">=".
    additive
        Whether a union of groups that satisfy it satisfies it: then no groups do
        where one group of all records does not.
    lasting
        Whether a group that breaks it does so with any records more, so that groups are
        never merged to one that does.
    """

    attribute: str
    model: ClassVar[str]
    sign: ClassVar[str] = ">="
    additive: ClassVar[bool] = True
    lasting: ClassVar[bool] = False

    @property
    @abstractmethod
    def n(self) -> int:
        """How many records there are."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What is counted, as the audit says it."""

    @property
    @abstractmethod
    def asked(self) -> float:
        """What the worst group is held against."""

    @abstractmethod
    def found(self, records: I64, starts: I64) -> F64:
        """Return what each group has, (groups,), rounded."""

    @abstractmethod
    def broken(self, records: I64, starts: I64) -> Bool:
        """Whether each group does not satisfy it, (groups,), decided exactly."""

    @abstractmethod
    def keeps(self, found: float) -> str:
        """Say what groups of which the worst has `found` do satisfy."""

    def short(self, records: I64, starts: I64) -> F64:
        """Return how far each group is from satisfying it, 0 if it does."""
        share = self.found(records, starts) / self.asked
        over = share - 1 if self.sign == "<=" else 1 - share
        return np.where(self.broken(records, starts), np.maximum(over, LEAST), 0.0)

    def extreme(self, records: I64, starts: I64, found: F64) -> float:
        """Return what the worst group has, rounded once."""
        return float(found.max() if self.sign == "<=" else found.min())

    @property
    def trivial(self) -> bool:
        """Whether any groups satisfy it, which then says nothing."""
        return False

    def satisfied(self, labels: npt.NDArray[Any]) -> bool:
        """Whether each group of labels (n,) satisfies it, decided exactly."""
        return not self.broken(*members(labels)).any()

    def check(self, labels: npt.NDArray[Any]) -> Check:
        """Return what the groups of labels (n,) have of it, and whether they do."""
        records, starts = members(labels)
        sizes = np.diff(starts)
        broken, found = self.broken(records, starts), self.found(records, starts)
        worst = found.max() if self.sign == "<=" else found.min()
        exact = self.extreme(records, starts, found)
        said = Check(
            attribute=self.attribute,
            promise=self.name,
            asked=self.asked,
            found=exact,
            holds=not broken.any(),
            groups=len(sizes),
            broken=int(broken.sum()),
            worst=int(sizes[found == worst].min()),
            trivial=self.trivial,
            sign=self.sign,
            keeps=self.keeps(exact),
        )
        return self.stated(said)

    def stated(self, check: Check) -> Check:
        """Return what groups have with what the model says beside it."""
        return check

    def infeasible(self, k: int) -> InfeasibleInputError | None:
        """Return why no groups of k records or more satisfy it; None if some may."""
        whole = self.check(np.zeros(self.n, np.intp))
        if whole.holds or not self.additive:
            return None
        better = "less" if self.sign == "<=" else "more"
        return InfeasibleInputError(
            f"{whole.promise} {whole.sign} {whole.asked:g} cannot be kept of "
            f"{self.attribute!r}: all {whole.worst} records together have "
            f"{whole.found:.6g}, and not every group can have {better}.",
            fix=f"{', or '.join([*self.ways(whole), 'drop it, as identifier'])}.",
        )

    def ways(self, whole: Check) -> list[str]:
        """Return what else could be promised where `whole`, of all records, fails."""
        return [f"promise {whole.keeps}"]


def members(labels: npt.NDArray[Any]) -> tuple[I64, I64]:
    """Return the records group by group, and where each group starts."""
    return np.argsort(labels, kind="stable"), starts_of(np.bincount(labels))


def broken_by(requirements: Sequence[Requirement], labels: npt.NDArray[Any]) -> Bool:
    """Whether each group of labels (n,) breaks a requirement, (groups,), exactly."""
    records, starts = members(labels)
    found = np.zeros(len(starts) - 1, np.bool_)
    for requirement in requirements:
        found |= requirement.broken(records, starts)
    return found
