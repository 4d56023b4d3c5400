"""What searches are to keep of groups: checked exactly, and kept by merging."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from aggopt.core.plural import many
from aggopt.core.types import Bool
from aggopt.core.validation import Floats, Labels
from aggopt.errors import InfeasibleInputError
from aggopt.partition._constraints.arguments import Asked, require
from aggopt.partition._constraints.l_diversity import levels_of, require_reachable
from aggopt.partition._constraints.state import (
    Promise,
    close_to,
    diverse_in,
    promise_of,
)
from aggopt.partition._constraints.t_closeness import CloseToTable
from aggopt.privacy._dominance import Dominance
from aggopt.privacy._models.l_diversity import Diversity
from aggopt.privacy._requirement import Requirement, broken_by


@dataclass(frozen=True, eq=False)
class Constraints:
    """What a search is to keep.

    t, or l of levels, or both, of one attribute; and that no record has more than a
    share of its group's weight.
    """

    closeness: CloseToTable | None = None
    diversity: Diversity | None = None
    dominance: Dominance | None = None

    @property
    def requirements(self) -> tuple[Requirement, ...]:
        """The requirements on groups, t first."""
        close = () if self.closeness is None else self.closeness.requirements
        others = filter(None, (self.diversity, self.dominance))
        return (*close, *others)

    @cached_property
    def kept(self) -> Promise | None:
        """The state of t and l by which compiled searches decide changes, if any."""
        if self.closeness is None and self.diversity is None:
            return None
        close = diverse = None
        if self.closeness is not None:
            ordered = self.closeness.only("local_search")
            close = close_to(ordered, self.closeness.limits[0])
        if self.diversity is not None:
            of = self.diversity
            diverse = diverse_in(of.codes, of.least, of.kind)
        return promise_of(close, diverse)

    @property
    def name(self) -> str:
        """What is asked: "t = 0.1", "l = 3", or several of them."""
        return " and ".join(f"{r.model} = {r.asked:g}" for r in self.requirements)

    def broken(self, labels: Labels) -> Bool:
        """Whether each group of labels (n,) breaks a requirement, decided exactly."""
        return broken_by(self.requirements, labels)

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


def promised(asked: Asked, n: int) -> Constraints | None:
    """Return what is promised of n records; None if nothing is.

    Raises
    ------
    TableError, JobError, InfeasibleInputError
        What is asked for cannot be read, or not be kept by any groups.
    """
    require(asked)
    if asked.t is None and asked.l is None:
        return None
    closeness = diversity = None
    if asked.t is not None:
        closeness = CloseToTable.of(asked.confidential, n, asked.t, asked.bins)  # type: ignore[arg-type]
        closeness.only("local_search")
    if asked.l is not None:
        level = levels_of(asked.confidential, n, asked.levels, asked.boundaries)  # type: ignore[arg-type]
        require_reachable(np.bincount(level), asked.l, asked.diversity)
        diversity = Diversity("", level, int(asked.l), asked.diversity)
    return Constraints(closeness, diversity)


def with_dominance(
    promise: Constraints | None, weights: Floats, share: float
) -> Constraints:
    """Return it with what no record may exceed of the weight of its group.

    Raises
    ------
    InfeasibleInputError
        One record has more of the weight of all.
    """
    dominance, n = Dominance(weights, share), len(weights)
    if not dominance.satisfied(np.zeros(n, np.intp)):
        raise InfeasibleInputError(
            f"dominance = {share:g}, and one of {many(n, 'record')} has more than that "
            "of the weight of all: no groups keep it.",
            fix="correct that weight, leave the record out, or allow a larger "
            "dominance.",
        )
    return replace(promise or Constraints(), dominance=dominance)
