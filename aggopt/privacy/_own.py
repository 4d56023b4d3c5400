"""A privacy model of the user's: a function that judges one group at a time."""

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
from aggopt.privacy._requirement import Check, Requirement


@dataclass(frozen=True)
class OwnJudge(UserFunction):
    """A function f(values, *, whole, **settings) of the user's.

    It gets the confidential values of one group, a copy, and as `whole`, if it takes
    that, those of all records, which it cannot change.  It returns whether the group
    satisfies it.
    """

    data: ClassVar[tuple[str, ...]] = ("values",)
    given: ClassVar[tuple[str, ...]] = ("whole",)

    def __call__(
        self, values: npt.NDArray[Any], whole: npt.NDArray[Any], how: Mapping[str, Any]
    ) -> bool:
        """Return what it says of the values of a group, `how` being its settings.

        Raises
        ------
        JobError
            It fails, or says neither True nor False.
        """
        found = self.run(values, whole=whole, **how)
        if not isinstance(found, bool | np.bool_):
            raise JobError(
                f"The privacy model {self.origin.name} returns something of type "
                f"{type(found).__name__}.",
                fix="return True where the values of the group satisfy it, else False.",
            )
        return bool(found)


@dataclass(frozen=True)
class OwnCheck(Check):
    """What groups have of what a function of the user's asks: 1 where all satisfy it.

    Attributes
    ----------
    counted_by
        The code that says so.
    """

    counted_by: str = ""

    def __str__(self) -> str:
        """Say it with counts, and who counted."""
        says = "holds" if self.holds else "DOES NOT HOLD"
        said = f"{self.promise} {says} for {self.attribute!r}, by {self.counted_by}"
        if self.holds:
            return f"{said}."
        return (
            f"{said}: {self.broken} of {self.groups} groups fail, the smallest of "
            f"{self.worst} records."
        )


@dataclass(frozen=True, eq=False)
class OwnRequirement(Requirement):
    """Each group satisfies what a function of the user's asks of its values.

    Nothing is known of a union of groups.

    Attributes
    ----------
    values : (n,)
        Those of all records.
    judge, settings
        The function and its settings.
    counts : (n,)
        How many records of a table have each of them, where it has each once; None
        where there is one value of each record.
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
        own = self.values
        found = own.view() if self.counts is None else np.repeat(own, self.counts)
        found.setflags(write=False)
        return found

    @property
    def n(self) -> int:
        """How many records there are."""
        return len(self.values)

    @property
    def name(self) -> str:
        """What the function is called."""
        return self.judge.origin.name

    @property
    def asked(self) -> float:
        """That it is satisfied."""
        return 1.0

    def found(self, records: I64, starts: I64) -> F64:
        """Return 1 for each group that satisfies it, else 0, (groups,)."""
        return np.where(self.broken(records, starts), 0.0, 1.0)

    def broken(self, records: I64, starts: I64) -> Bool:
        """Whether each group does not satisfy it, (groups,), as the function says."""
        satisfied = [
            self.judge(self.values[records[start:end]], self.whole, self.settings)
            for start, end in pairwise(starts.tolist())
        ]
        return ~np.array(satisfied, np.bool_)

    def short(self, records: I64, starts: I64) -> F64:
        """Return 1 for each group that does not satisfy it: how far is not known."""
        return self.broken(records, starts).astype(np.float64)

    def keeps(self, found: float) -> str:
        """Say nothing: what else it could be asked is not known."""
        return ""

    def stated(self, check: Check) -> OwnCheck:
        """Return what groups have, and who says so."""
        return OwnCheck(**vars(check), counted_by=str(self.judge.origin))
