"""What is promised of groups: checked exactly, and kept by merging."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from aggopt.core.types import I64, Bool
from aggopt.core.validation import Floats, Labels
from aggopt.partition._constraints.arguments import Asked, require
from aggopt.partition._constraints.l_diversity import (
    counts_of,
    levels_of,
    reaches,
    require_reachable,
)
from aggopt.partition._constraints.state import (
    Promise,
    close_to,
    diverse_in,
    promise_of,
)
from aggopt.partition._constraints.t_closeness import Closeness


@dataclass(frozen=True, eq=False)
class Promised:
    """t, or l in the `level` (n,) of each record, or both."""

    closeness: Closeness | None
    level: I64 | None = field(repr=False)
    l: int  # noqa: E741
    diversity: str

    @cached_property
    def kept(self) -> Promise:
        """What a search is to keep."""
        close = diverse = None
        if self.closeness is not None:
            ordered = self.closeness.only("local_search")
            close = close_to(ordered, self.closeness.limits[0])
        if self.level is not None:
            diverse = diverse_in(self.level, self.l, self.diversity)
        return promise_of(close, diverse)

    @property
    def name(self) -> str:
        """What is promised: "t = 0.1", "l = 3", or both."""
        names = []
        if self.closeness is not None:
            names.append(f"t = {float(self.closeness.t):g}")
        if self.level is not None:
            names.append(f"l = {self.l}")
        return " and ".join(names)

    def broken(self, labels: Labels) -> Bool:
        """Whether each group of labels (n,) breaks the promise, decided exactly."""
        sizes = np.bincount(labels)
        found = np.zeros(len(sizes), np.bool_)
        if self.closeness is not None:
            ordered = self.closeness.attributes[0]
            found |= ordered.numerators(labels) > self.closeness.limits[0][sizes]
        if self.level is not None:
            counts = counts_of(labels, self.level)
            found |= [not reaches(c, self.l, self.diversity) for c in counts]
        return found

    def united(self, records: Floats, labels: Labels) -> Labels:
        """Return unions of groups (n,) that keep the promise.

        While a group breaks it, the smallest that does joins the one that is nearest.
        """
        while (broken := self.broken(labels)).any():
            sizes = np.bincount(labels)
            one = int(np.where(broken, sizes, len(labels) + 1).argmin())
            sums = np.array([np.bincount(labels, z) for z in records.T])
            means = sums / sizes
            apart = ((means - means[:, one, None]) ** 2).sum(axis=0)
            apart[one] = np.inf
            labels = np.where(labels == one, apart.argmin(), labels)
            labels = np.unique(labels, return_inverse=True)[1].astype(np.intp)
        return labels


def promised(asked: Asked, n: int) -> Promised | None:
    """Return what is promised of n records; None if nothing is.

    Raises
    ------
    TableError, JobError, InfeasibleInputError
        What is asked for cannot be read, or not be kept by any groups.
    """
    require(asked)
    if asked.t is None and asked.l is None:
        return None
    closeness, level = None, None
    if asked.t is not None:
        closeness = Closeness.of(asked.confidential, n, asked.t, asked.bins)  # type: ignore[arg-type]
        closeness.only("local_search")
    if asked.l is not None:
        level = levels_of(asked.confidential, n, asked.levels, asked.boundaries)  # type: ignore[arg-type]
        require_reachable(np.bincount(level), asked.l, asked.diversity)
    return Promised(closeness, level, int(asked.l or 1), asked.diversity)
