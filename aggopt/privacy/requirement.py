"""Requirements on the groups of one confidential attribute, and their checks."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from aggopt.core.plural import agree, plural
from aggopt.core.types import F64, I64, Bool
from aggopt.errors import InfeasibleInputError
from aggopt.privacy.distance import compute_starts

LEAST = 1e-15  # least shortfall of a violated requirement, despite rounding


@dataclass(frozen=True)
class Check:
    """Result of a requirement on groups.

    Attributes
    ----------
    attribute, promise
        Name of the attribute and of the requirement: "distinct l", "entropy l",
        "recursive (3.0, l)", "t (ordered)", ...  If l counts levels, it includes the
        number of levels and of their distinct values.
    asked, found
        Required value, and value of the worst group.
    holds
        Decided in whole numbers, before `found` was rounded.
    groups, broken
        Number of groups, and number of groups that violate the requirement.
    worst
        Records in the worst group; in the smallest if several are worst.
    trivial
        Whether the attribute has one value only, so that t holds but has no meaning.
    sign
        "<=" if less protects better, else ">=".
    keeps
        The requirement that these groups satisfy, as in a job: "l of at most 2".
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
        """Return a sentence with counts and without values of records."""
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
            + ("." if self.holds else f"; {self._describe_broken()}.")
        )

    def _describe_broken(self) -> str:
        """Return the number of groups that do not satisfy the requirement, as text."""
        groups = plural(self.groups, "group")
        return f"{self.broken} of {groups} {agree(self.broken, 'fails', 'fail')}"


class Requirement(ABC):
    """A requirement of a privacy model on one confidential attribute of n records.

    Groups are passed as records, group by group, and starts (groups + 1,): group g is
    records[starts[g]:starts[g + 1]].  A record may be in several groups.

    Attributes
    ----------
    attribute
        Name of the attribute.
    model
        The name of the privacy model.
    sign
        "<=" if less protects better, else ">=".
    additive
        Whether a union of groups that satisfy it satisfies it.  Then no groups do if
        one group of all records does not.
    lasting
        Whether a group that violates it still does with any further records.  Then
        groups are never merged into a group that violates it.
    """

    attribute: str
    model: ClassVar[str]
    sign: ClassVar[str] = ">="
    additive: ClassVar[bool] = True
    lasting: ClassVar[bool] = False

    @property
    @abstractmethod
    def n(self) -> int:
        """Number of records."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Name of the measured quantity in the audit."""

    @property
    @abstractmethod
    def required(self) -> float:
        """Required value for the worst group."""

    @abstractmethod
    def measure_groups(self, records: I64, starts: I64) -> F64:
        """Return the value of each group, (groups,), rounded."""

    @abstractmethod
    def find_broken(self, records: I64, starts: I64) -> Bool:
        """Whether each group violates it, (groups,), decided exactly."""

    @abstractmethod
    def describe_kept(self, value: float) -> str:
        """Return the requirement that groups satisfy if the worst has `value`."""

    def measure_shortfall(self, records: I64, starts: I64) -> F64:
        """Return the shortfall of each group, 0 if it satisfies the requirement."""
        share = self.measure_groups(records, starts) / self.required
        over = share - 1 if self.sign == "<=" else 1 - share
        return np.where(self.find_broken(records, starts), np.maximum(over, LEAST), 0.0)

    def find_worst(self, records: I64, starts: I64, values: F64) -> float:
        """Return the value of the worst group, rounded once."""
        return float(values.max() if self.sign == "<=" else values.min())

    @property
    def trivial(self) -> bool:
        """Whether any groups satisfy it, so that it has no meaning."""
        return False

    def is_satisfied(self, labels: npt.NDArray[Any]) -> bool:
        """Whether each group of labels (n,) satisfies it, decided exactly."""
        return not self.find_broken(*sort_by_group(labels)).any()

    def check(self, labels: npt.NDArray[Any]) -> Check:
        """Return the check of the groups of labels (n,)."""
        records, starts = sort_by_group(labels)
        sizes = np.diff(starts)
        broken = self.find_broken(records, starts)
        values = self.measure_groups(records, starts)
        worst = values.max() if self.sign == "<=" else values.min()
        exact = self.find_worst(records, starts, values)
        check = Check(
            attribute=self.attribute,
            promise=self.name,
            asked=self.required,
            found=exact,
            holds=not broken.any(),
            groups=len(sizes),
            broken=int(broken.sum()),
            worst=int(sizes[values == worst].min()),
            trivial=self.trivial,
            sign=self.sign,
            keeps=self.describe_kept(exact),
        )
        return self.complete_check(check)

    def complete_check(self, check: Check) -> Check:
        """Return the check with additions of the model."""
        return check

    def explain_infeasible(self, k: int) -> InfeasibleInputError | None:
        """Return why no groups of k records or more satisfy it; None if some may."""
        total = self.check(np.zeros(self.n, np.intp))
        if total.holds or not self.additive:
            return None
        better = "less" if self.sign == "<=" else "more"
        return InfeasibleInputError(
            f"{total.promise} {total.sign} {total.asked:g} cannot be kept of "
            f"{self.attribute!r}: all {total.worst} records together have "
            f"{total.found:.6g}, and not every group can have {better}.",
            fix=", or ".join([*self.list_remedies(total), "drop it, as identifier."]),
        )

    def list_remedies(self, total: Check) -> list[str]:
        """Return feasible alternatives if `total`, the check of all records, fails."""
        return [f"promise {total.keeps}"]


def sort_by_group(labels: npt.NDArray[Any]) -> tuple[I64, I64]:
    """Return the records group by group, and the start of each group."""
    return np.argsort(labels, kind="stable"), compute_starts(np.bincount(labels))


def find_broken_groups(
    requirements: Sequence[Requirement], labels: npt.NDArray[Any]
) -> Bool:
    """Whether each group of labels (n,) breaks a requirement, (groups,), exactly."""
    records, starts = sort_by_group(labels)
    broken = np.zeros(len(starts) - 1, np.bool_)
    for requirement in requirements:
        broken |= requirement.find_broken(records, starts)
    return broken
