"""Requirements of groups as rows of the pair program.

A row of record i has an entry for each class of records, such as the confidential
values: sum_j w_ij level(class_j) + x_i own >= side.  It holds for every group of k or
more records that satisfies the requirement.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np

from aggopt.core.validation import Floats, Labels

TOLERANCE = 1e-3  # violation from which on a row enters
SLACK = 1e-9  # more than rounding takes off a threshold or a mean
PARTNERS = 4  # nearest records of each class, or stratum of classes, in the first lists
STRATA = 4  # strata of an ordered attribute, at least


class PromisedRows(NamedTuple):
    """Rows: apex (f,), own (f,), sides (f,), and a level for each class (f, c)."""

    apex: Labels
    own: Floats
    sides: Floats
    levels: Floats


@dataclass(frozen=True, eq=False)
class PairRequirement(ABC):
    """A requirement of groups that depends on the classes of their records.

    Attributes
    ----------
    classes : (n,)
        Class of each record, 0..count-1.
    """

    classes: Labels = field(repr=False)

    def reorder(self, order: Labels) -> Self:
        """Return the requirement of the records in another order."""
        return replace(self, classes=self.classes[order])

    @cached_property
    def count(self) -> int:
        """Number of classes."""
        return int(self.classes.max()) + 1

    @cached_property
    def shares(self) -> Floats:
        """Share of the records in each class, (count,)."""
        return np.bincount(self.classes) / len(self.classes)

    @cached_property
    def least_sizes(self) -> Floats:
        """Fewest records of a group with each record, (n,); 1 if nothing is known."""
        return np.ones(len(self.classes))

    def find_least_size(self, k: int) -> int:
        """Return the fewest records, k or more, of a group that satisfies it."""
        return k

    def find_strata(self, k: int) -> Labels:
        """Return the stratum of each record (n,): each has partners in all of them."""
        return self.classes

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

    @abstractmethod
    def separate(self, together: Floats, x: Floats, k: int) -> PromisedRows:
        """Return violated rows.

        together (n, c) is how much each record is with each class, itself included.
        """


@dataclass(frozen=True, eq=False)
class OrderedCloseness(PairRequirement):
    """t-closeness by the ordered distance: the classes are values in their order.

    By Kantorovich, the mean over a group of any f with |f(a) - f(b)| <= the distance of
    the values is within t of its mean over the table.
    """

    t: float

    @cached_property
    def cumulative(self) -> Floats:
        """Share of the records up to each class but the last."""
        return np.cumsum(self.shares)[:-1]

    def find_least_size(self, k: int) -> int:
        """Return the fewest records, k or more, of a group that is t-close.

        A group of s records has shares that are multiples of 1 / s.
        """
        F = self.cumulative
        n = len(self.classes)
        for s in range(k, n):
            if _mean(np.abs(np.round(F * s) / s - F)) <= self.t + SLACK:
                return s
        return n

    @cached_property
    def least_sizes(self) -> Floats:
        """Fewest records of a group with each record: one or more has its value."""
        F = self.cumulative
        n = len(self.classes)
        sizes = np.full(self.count, n)
        for s in range(1, n):
            open_classes = np.flatnonzero(sizes == n)
            if not len(open_classes):
                break
            counts = np.round(F * s)
            above = np.abs(np.maximum(counts, 1) / s - F)
            below = np.abs(np.minimum(counts, s - 1) / s - F)
            left = np.concatenate([[0.0], np.cumsum(below)])
            right = np.concatenate([np.cumsum(above[::-1])[::-1], [0.0]])
            distances = (left + right) / max(len(F), 1)
            is_close = distances[open_classes] <= self.t + SLACK
            sizes[open_classes[is_close]] = s
        return sizes[self.classes].astype(np.float64)

    def find_strata(self, k: int) -> Labels:
        """Return strata of records of neighbouring values."""
        rank = np.argsort(np.argsort(self.classes, kind="stable"))
        return rank * max(k, STRATA) // len(rank)

    def separate(self, together: Floats, x: Floats, k: int) -> PromisedRows:
        """Return the row of the steepest f of each record that is too far."""
        totals = together.sum(axis=1, keepdims=True)
        shares = together / np.where(totals > 0, totals, 1.0)
        gaps = np.cumsum(shares, axis=1)[:, :-1] - self.cumulative
        far = np.abs(gaps).sum(axis=1) / max(self.count - 1, 1) > self.t + TOLERANCE
        apex = np.flatnonzero(far & (totals[:, 0] > 0))
        steps = np.sign(gaps[apex]) / max(self.count - 1, 1)
        levels = np.zeros((len(apex), self.count))
        np.cumsum(steps, axis=1, out=levels[:, 1:])  # -f, up to a constant
        levels -= (levels @ self.shares)[:, None]
        own = levels[np.arange(len(apex)), self.classes[apex]]
        return PromisedRows(
            apex, own, np.full(len(apex), -k * (self.t + SLACK)), levels
        )


@dataclass(frozen=True, eq=False)
class LimitedShares(PairRequirement):
    """(alpha, k)-anonymity: no class has more than a share alpha of a group."""

    alpha: float

    def separate(self, together: Floats, x: Floats, k: int) -> PromisedRows:
        """Return the row of each record and class that has too large a share."""
        apex, over = np.nonzero(together > k * self.alpha + TOLERANCE)
        levels = np.zeros((len(apex), self.count))
        levels[np.arange(len(apex)), over] = -1.0
        own = levels[np.arange(len(apex)), self.classes[apex]]
        sides = np.full(len(apex), -k * (self.alpha + SLACK))
        return PromisedRows(apex, own, sides, levels)


@dataclass(frozen=True, eq=False)
class DistinctClasses(PairRequirement):
    """Distinct l-diversity, or l units: records of l classes or more in each group.

    Outside any q < l classes a group has l - q records or more.
    """

    least: int

    def separate(self, together: Floats, x: Floats, k: int) -> PromisedRows:
        """Return for each record the row of the classes that it is with most."""
        order = np.argsort(-together, axis=1)
        ordered = np.take_along_axis(together, order, axis=1)
        outside = ordered.sum(axis=1, keepdims=True) - np.cumsum(ordered, axis=1)
        q = np.arange(1, min(self.least, self.count))
        lacking = (self.least - q) * x[:, None] - outside[:, : len(q)]
        if not lacking.size:
            return PromisedRows(*_no_rows(self.count))
        worst = lacking.argmax(axis=1)
        apex = np.flatnonzero(lacking.max(axis=1) > TOLERANCE)
        levels = np.ones((len(apex), self.count))
        for row, i in enumerate(apex):
            levels[row, order[i, : worst[i] + 1]] = 0.0
        own = levels[np.arange(len(apex)), self.classes[apex]]
        own = own - (self.least - 1.0 - worst[apex])
        return PromisedRows(apex, own, np.zeros(len(apex)), levels)


def _no_rows(count: int) -> tuple[Labels, Floats, Floats, Floats]:
    none = np.zeros(0)
    return np.zeros(0, np.intp), none, none, np.zeros((0, count))


def _mean(values: Floats) -> float:
    """Return the mean of the values, 0 without any."""
    return float(values.mean()) if len(values) else 0.0
