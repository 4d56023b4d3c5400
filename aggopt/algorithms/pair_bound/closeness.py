"""t-closeness as rows of the pair program, by any distance that is a sum over sets.

The distance of a group's distribution P from the table's F is

    sum_A v_A |P(A) - F(A)|

over sets A of classes: the values up to each one for the ordered distance, the single
values for the equal distance, the nodes of a tree for the hierarchical distance.  So
the mean over a group of f = sum_A +-v_A [class in A] is within t of its mean over the
table, for any signs and for their mixtures.
"""

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from aggopt.algorithms.pair_bound.requirements import (
    SLACK,
    STRATA,
    TOLERANCE,
    TRIED,
    PairRequirement,
    PromisedRows,
)
from aggopt.core.validation import Floats, Labels


@dataclass(frozen=True, eq=False)
class PairCloseness(PairRequirement):
    """t-closeness: the distance of each group from the table is at most t."""

    t: float

    @property
    @abstractmethod
    def set_weights(self) -> Floats:
        """Weight v_A of each set of classes in the distance, (a,)."""

    @abstractmethod
    def sum_sets(self, values: Floats) -> Floats:
        """Return the sums (r, a) over the classes of each set, of values (r, count)."""

    @abstractmethod
    def spread_sets(self, values: Floats) -> Floats:
        """Return the sums (r, count) over the sets of each class, of values (r, a)."""

    @cached_property
    def set_shares(self) -> Floats:
        """Share of the records of the table in each set of classes, (a,)."""
        return np.asarray(self.sum_sets(self.shares[None])[0])

    def find_least_size(self, k: int) -> int:
        """Return the fewest records, k or more, of a group that is t-close.

        A group of s records has shares that are multiples of 1 / s.
        """
        F = self.set_shares
        max_size = min(len(self.classes), k + TRIED)
        for s in range(k, max_size):
            if self.set_weights @ np.abs(np.round(F * s) / s - F) <= self.t + SLACK:
                return s
        return max_size

    @cached_property
    def least_sizes(self) -> Floats:
        """Fewest records of a group with each record, (n,): one or more of its class.

        So s times a share is 1 or more in the sets of that class, and s - 1 or less in
        the others.
        """
        F = self.set_shares
        v = self.set_weights
        max_size = min(len(self.classes), TRIED)
        sizes = np.full(self.count, max_size)
        for s in range(1, max_size):
            is_open = sizes == max_size
            if not is_open.any():
                break
            counts = np.round(F * s)
            inside = v * np.abs(np.maximum(counts, 1) / s - F)
            outside = v * np.abs(np.minimum(counts, s - 1) / s - F)
            more = self.spread_sets((inside - outside)[None])[0]
            sizes[is_open & (outside.sum() + more <= self.t + SLACK)] = s
        return sizes[self.classes].astype(np.float64)

    def limit_shares(self, masses: Floats, k: int, *, is_weighted: bool) -> Floats:
        """Return upper bounds on x_i (n,): k over the least size of a group with i."""
        if is_weighted:
            return np.full(len(masses), np.inf)
        return np.asarray(k / self.least_sizes)

    def separate(self, together: Floats, x: Floats, k: int) -> PromisedRows:
        """Return the violated row of each record whose group is not t-close."""
        totals = together.sum(axis=1, keepdims=True)
        gaps = self.sum_sets(together / np.where(totals > 0, totals, 1.0))
        gaps -= self.set_shares
        far = np.abs(gaps) @ self.set_weights > self.t + TOLERANCE
        apex = np.flatnonzero(far & (totals[:, 0] > 0))
        levels = self.spread_sets(-np.sign(gaps[apex]) * self.set_weights)  # -f
        levels -= (levels @ self.shares)[:, None]
        apex_levels = levels[np.arange(len(apex)), self.classes[apex]]
        sides = np.full(len(apex), -k * (self.t + SLACK))
        return PromisedRows(apex, apex_levels, sides, levels)


@dataclass(frozen=True, eq=False)
class OrderedCloseness(PairCloseness):
    """t-closeness by the ordered distance: the classes are values in their order.

    Attributes
    ----------
    gaps : (count - 1,)
        Distances of neighbouring values, of which the sum is 1; equal if omitted.
    """

    gaps: Floats | None = field(default=None, repr=False)

    @property
    def set_weights(self) -> Floats:
        """Distance of each value but the last from the next."""
        if self.gaps is not None:
            return self.gaps
        return np.full(self.count - 1, 1.0 / max(self.count - 1, 1))

    def sum_sets(self, values: Floats) -> Floats:
        """Return, for each class but the last, the sum of the values up to it."""
        return np.asarray(np.cumsum(values, axis=1)[:, :-1])

    def spread_sets(self, values: Floats) -> Floats:
        """Return, for each class, the sum of the values from it on."""
        out = np.zeros((len(values), self.count))
        out[:, :-1] = np.cumsum(values[:, ::-1], axis=1)[:, ::-1]
        return out

    def find_strata(self, k: int) -> Labels:
        """Return strata of records of neighbouring values."""
        rank = np.argsort(np.argsort(self.classes, kind="stable"))
        return rank * max(k, STRATA) // len(rank)

    def limit_classes(self, max_count: int) -> PairRequirement:
        """Return the requirement on blocks of values, each moved to its middle.

        No value moves by more than half of the widest block, and the table moves alike:
        so the distance of a group rises by at most that width.
        """
        if self.count <= max_count:
            return self
        place = np.concatenate([[0.0], np.cumsum(self.set_weights)])
        block = np.arange(self.count) * max_count // self.count
        first = np.flatnonzero(np.diff(block, prepend=-1))
        last = np.append(first[1:], self.count) - 1
        middle = (place[first] + place[last]) / 2
        return replace(
            self,
            classes=block[self.classes],
            table=np.add.reduceat(self.shares, first),
            t=self.t + float((place[last] - place[first]).max()),
            gaps=np.diff(middle),
        )


@dataclass(frozen=True, eq=False)
class NestedCloseness(PairCloseness):
    """t-closeness by the equal or the hierarchical distance: the classes are leaves.

    Attributes
    ----------
    paths : (count, depth)
        Nodes from each leaf up to below the root; -1 after the end of a shorter path.
    heights : (a,)
        Weight of each node: half of its height below its parent's, as a share of the
        tree's height.
    """

    paths: Labels = field(repr=False)
    heights: Floats = field(repr=False)

    @property
    def set_weights(self) -> Floats:
        """Weight of each node."""
        return self.heights

    @cached_property
    def _members(self) -> Any:
        """Whether each leaf (count,) is below each node (a,), sparse."""
        from scipy.sparse import csr_array

        leaf, step = np.nonzero(self.paths >= 0)
        ones = np.ones(len(leaf))
        shape = (self.count, len(self.heights))
        return csr_array((ones, (leaf, self.paths[leaf, step])), shape)

    def sum_sets(self, values: Floats) -> Floats:
        """Return the sums over the leaves below each node."""
        return np.asarray(values @ self._members)

    def spread_sets(self, values: Floats) -> Floats:
        """Return the sums over the nodes above each leaf."""
        return np.asarray(values @ self._members.T)
