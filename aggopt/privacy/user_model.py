"""User privacy models: functions that judge one group at a time."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from aggopt.core.plugins.function import UserFunction
from aggopt.core.types import F64, I64, Bool
from aggopt.errors import JobError
from aggopt.privacy.requirement import Check, Requirement


@dataclass(frozen=True)
class OwnJudge(UserFunction):
    """A user function f(values, *, whole, **settings).

    It receives a copy of the confidential values of one group.  If it takes `whole`, it
    also receives the values of all records, read-only.  It returns whether the group
    satisfies the requirement.
    """

    data: ClassVar[tuple[str, ...]] = ("values",)
    offered: ClassVar[tuple[str, ...]] = ("whole",)

    def __call__(
        self,
        values: npt.NDArray[Any],
        all_values: npt.NDArray[Any],
        settings: Mapping[str, Any],
    ) -> bool:
        """Return its verdict on the values of a group, with these settings.

        Raises
        ------
        JobError
            The function fails, or returns neither True nor False.
        """
        verdict = self.run(values, whole=all_values, **settings)
        if not isinstance(verdict, bool | np.bool_):
            raise JobError(
                f"The privacy model {self.origin.name} returns something of type "
                f"{type(verdict).__name__}.",
                fix="return True if the values of the group satisfy it, else False.",
            )
        return bool(verdict)


@dataclass(frozen=True)
class OwnCheck(Check):
    """Result of a user requirement on groups: 1 if all satisfy it.

    Attributes
    ----------
    counted_by
        The code that judged the groups.
    """

    counted_by: str = ""

    def __str__(self) -> str:
        """Return a sentence with counts and the code that counted."""
        says = "holds" if self.holds else "DOES NOT HOLD"
        sentence = f"{self.promise} {says} for {self.attribute!r}, by {self.counted_by}"
        if self.holds:
            return f"{sentence}."
        return (
            f"{sentence}: {self.broken} of {self.groups} groups fail, the smallest of "
            f"{self.worst} records."
        )


@dataclass(frozen=True, eq=False)
class OwnRequirement(Requirement):
    """Each group satisfies a user function of its values.

    A union of groups that satisfy it need not satisfy it.

    Attributes
    ----------
    values : (n,)
        Values of all records.
    judge, settings
        The function and its settings.
    counts : (n,)
        Number of records with each value, if `values` has each value once; None if it
        has one value for each record.
    """

    model: ClassVar[str] = "own"
    additive: ClassVar[bool] = False

    attribute: str
    values: npt.NDArray[Any] = field(repr=False)
    judge: OwnJudge
    settings: Mapping[str, Any] = field(repr=False)
    counts: I64 | None = field(default=None, repr=False)

    @cached_property
    def whole(self) -> npt.NDArray[Any]:
        """The values of all records of the table, which cannot be changed."""
        values = self.values
        all_values = (
            values.view() if self.counts is None else np.repeat(values, self.counts)
        )
        all_values.setflags(write=False)
        return all_values

    @property
    def n(self) -> int:
        """Number of records."""
        return len(self.values)

    @property
    def name(self) -> str:
        """Name of the function."""
        return self.judge.origin.name

    @property
    def required(self) -> float:
        """1: the function is satisfied."""
        return 1.0

    def measure_groups(self, records: I64, starts: I64) -> F64:
        """Return 1 for each group that satisfies it, else 0, (groups,)."""
        return np.where(self.find_broken(records, starts), 0.0, 1.0)

    def find_broken(self, records: I64, starts: I64) -> Bool:
        """Whether each group violates it, (groups,); the function decides."""
        satisfied = [
            self.judge(self.values[records[start:end]], self.whole, self.settings)
            for start, end in pairwise(starts.tolist())
        ]
        return ~np.array(satisfied, np.bool_)

    def measure_shortfall(self, records: I64, starts: I64) -> F64:
        """Return 1 for each group that violates it: the function has no finer scale."""
        return self.find_broken(records, starts).astype(np.float64)

    def describe_kept(self, value: float) -> str:
        """Return "": alternatives for a user function are unknown."""
        return ""

    def complete_check(self, check: Check) -> OwnCheck:
        """Return the check with the origin of the function."""
        return OwnCheck(**vars(check), counted_by=str(self.judge.origin))
