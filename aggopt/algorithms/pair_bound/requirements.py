"""Requirements of groups as rows of the pair program.

A row of record i has an entry for each class of records, such as the confidential
values: sum_j w_ij level(class_j) + x_i own >= side.  It holds for every group of k or
more records that satisfies the requirement.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property
from math import ceil
from typing import NamedTuple, Self

import numpy as np

from aggopt.core.validation import Floats, Labels

TOLERANCE = 1e-3  # violation from which on a row enters
SLACK = 1e-9  # more than rounding takes off a threshold or a mean
PARTNERS = 4  # nearest records of each class, or stratum of classes, in the first lists
STRATA = 4  # strata of an ordered attribute, at least
MOST_STRATA = 64
TRIED = 10_000  # sizes of groups that are tried for a least size, at most


class PromisedRows(NamedTuple):
    """Rows: apex (f,), own (f,), sides (f,), and a level for each class (f, c)."""

    apex: Labels
    own: Floats
    sides: Floats
    levels: Floats

    @classmethod
    def make_none(cls, count: int) -> "PromisedRows":
        """Return an empty set of rows, for `count` classes."""
        none = np.zeros(0)
        return cls(np.zeros(0, np.intp), none, none, np.zeros((0, count)))


@dataclass(frozen=True, eq=False)
class PairRequirement:
    """A requirement of groups that depends on the classes of their records.

    It has no rows here, so that any groups satisfy it; kinds of requirements add rows.

    Attributes
    ----------
    classes : (n,)
        Class of each record, 0..count-1.
    table : (count,)
        Share of each class in the whole table; of the records if omitted.
    """

    classes: Labels = field(repr=False)
    table: Floats | None = field(default=None, repr=False, kw_only=True)

    def select(self, records: Labels) -> Self:
        """Return the requirement of some records, or of all in another order.

        The table that groups are compared with is the same.
        """
        return replace(self, classes=self.classes[records], table=self.shares)

    def limit_classes(self, max_count: int) -> "PairRequirement":
        """Return the requirement, or a weaker one of at most `max_count` classes."""
        if self.count <= max_count:
            return self
        return PairRequirement(np.zeros_like(self.classes))

    @cached_property
    def count(self) -> int:
        """Number of classes."""
        return len(self.shares)

    @cached_property
    def shares(self) -> Floats:
        """Share of the table in each class, (count,)."""
        if self.table is not None:
            return self.table
        return np.bincount(self.classes) / len(self.classes)

    def find_least_size(self, k: int) -> int:
        """Return the fewest records, k or more, of a group that satisfies it."""
        return k

    def limit_shares(self, masses: Floats, k: int, *, is_weighted: bool) -> Floats:
        """Return upper bounds on x_i = k / W (n,), W the weight of a group with i."""
        return np.full(len(self.classes), np.inf)

    def find_strata(self, k: int) -> Labels:
        """Return the stratum of each record (n,): each has partners in all of them."""
        few = self.count <= MOST_STRATA
        return self.classes if few else np.zeros_like(self.classes)

    def find_partners(self, records: Floats, k: int) -> Labels:
        """Return the nearest records in each stratum (n, q); of its own, itself too."""
        from scipy.spatial import cKDTree

        strata = self.find_strata(k)
        lists = []
        for stratum in np.unique(strata):
            members = np.flatnonzero(strata == stratum)
            number = np.arange(1, min(PARTNERS, len(members)) + 1)
            near = cKDTree(records[members]).query(records, number)[1]
            lists.append(members[near])
        return np.hstack(lists)

    def separate(self, together: Floats, x: Floats, k: int) -> PromisedRows:
        """Return violated rows.

        together (n, c) is how much each record is with each class, itself included.
        """
        return PromisedRows.make_none(self.count)


@dataclass(frozen=True, eq=False)
class LimitedShares(PairRequirement):
    """(alpha, k)-anonymity: no class has more than a share alpha of a group."""

    alpha: float

    def find_least_size(self, k: int) -> int:
        """Return the fewest records, k or more, of which no class has too many."""
        present = np.bincount(self.classes)
        for size in range(k, min(len(self.classes), k + TRIED)):
            max_share = int(self.alpha * size * (1 + SLACK) + SLACK)
            if np.minimum(present, max_share).sum() >= size:
                return size
        return min(len(self.classes), k + TRIED)

    def separate(self, together: Floats, x: Floats, k: int) -> PromisedRows:
        """Return the row of each record and class that has too large a share."""
        totals = together.sum(axis=1, keepdims=True)
        apex, over = np.nonzero(together > totals * self.alpha + TOLERANCE)
        levels = np.zeros((len(apex), self.count))
        levels[np.arange(len(apex)), over] = -1.0
        apex_levels = levels[np.arange(len(apex)), self.classes[apex]]
        sides = np.full(len(apex), -k * (self.alpha + SLACK))
        return PromisedRows(apex, apex_levels, sides, levels)


@dataclass(frozen=True, eq=False)
class DistinctClasses(PairRequirement):
    """Distinct l-diversity, or l units: records of l classes or more in each group.

    Outside any q < l classes a group has l - q records or more.
    """

    least: int

    def find_least_size(self, k: int) -> int:
        """Return the fewest records, k or more: one of each class at least."""
        return max(k, self.least)

    def separate(self, together: Floats, x: Floats, k: int) -> PromisedRows:
        """Return for each record the row of the classes that it is with most."""
        order = np.argsort(-together, axis=1)
        ordered = np.take_along_axis(together, order, axis=1)
        outside = ordered.sum(axis=1, keepdims=True) - np.cumsum(ordered, axis=1)
        q = np.arange(1, min(self.least, self.count))
        lacking = (self.least - q) * x[:, None] - outside[:, : len(q)]
        if not lacking.size:
            return PromisedRows.make_none(self.count)
        worst = lacking.argmax(axis=1)
        apex = np.flatnonzero(lacking.max(axis=1) > TOLERANCE)
        levels = np.ones((len(apex), self.count))
        for row, i in enumerate(apex):
            levels[row, order[i, : worst[i] + 1]] = 0.0
        apex_levels = levels[np.arange(len(apex)), self.classes[apex]]
        apex_levels = apex_levels - (self.least - 1.0 - worst[apex])
        return PromisedRows(apex, apex_levels, np.zeros(len(apex)), levels)


@dataclass(frozen=True, eq=False)
class LimitedWeights(PairRequirement):
    """Dominance: no record has more than a share of the weight of its group.

    Attributes
    ----------
    weights : (n,)
        Weights of the records, above 0, of any scale.
    share
        The largest share.
    """

    weights: Floats = field(repr=False)
    share: float

    def select(self, records: Labels) -> Self:
        """Return the requirement of some records, or of all in another order."""
        return replace(
            self, classes=self.classes[records], weights=self.weights[records]
        )

    def find_least_size(self, k: int) -> int:
        """Return the fewest records: the heaviest has 1 / s of the weight or more."""
        return max(k, ceil((1 - SLACK) / self.share))

    def limit_shares(self, masses: Floats, k: int, *, is_weighted: bool) -> Floats:
        """Return upper bounds on x_i (n,): a group with i weighs w_i / share or more.

        Without weights in the loss, the group has the number of records that the
        heaviest others need for that.
        """
        if is_weighted:
            ratios = masses / self.weights
            if np.ptp(ratios) > SLACK * ratios.max():
                return np.full(len(masses), np.inf)
            return np.asarray(k * self.share / masses * (1 + 2 * SLACK))
        # the heaviest others of i; i itself may be among them, which only helps
        heaviest = np.cumsum(np.sort(self.weights)[::-1]) * (1 + SLACK)
        others = self.weights / self.share * (1 - SLACK) - self.weights
        sizes = np.searchsorted(heaviest, others) + 2.0
        return np.asarray(np.where(others > 0, k / sizes, np.inf))
