"""Columns of the master: groups without repetition; input and result of pricing."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from aggopt.core.types import I32, I64, Bool, Floats, Labels

CHUNK = 20_000  # groups that are evaluated at once


@dataclass(frozen=True, eq=False)
class GroupColumns:
    """Groups (q, 2k - 1): records in ascending order, then -1; and their sizes (q,)."""

    members: I32
    sizes: Labels

    def at(self, chosen: Any) -> "GroupColumns":
        """Return the groups at some positions, or selected by a mask."""
        return GroupColumns(self.members[chosen], self.sizes[chosen])


def sort_groups(members: I32) -> GroupColumns:
    """Return groups with sorted records; the rows `members` end in -1 if short."""
    last = np.iinfo(np.int32).max
    rows = np.sort(np.where(members < 0, last, members), axis=1)
    rows = np.where(rows == last, -1, rows).astype(np.int32)
    return GroupColumns(rows, (rows >= 0).sum(axis=1))


def group_columns(labels: Labels, k: int) -> GroupColumns:
    """Return the groups of labels (n,) as rows of records, up to 2k - 1 each."""
    order = np.argsort(labels, kind="stable")
    sizes = np.bincount(labels)
    rows = np.full((len(sizes), max(1, 2 * k - 1)), -1, np.int32)
    start = np.cumsum(sizes) - sizes
    rows[labels[order], np.arange(len(labels)) - start[labels[order]]] = order
    return GroupColumns(rows, sizes)


def number_groups(groups: GroupColumns, n: int) -> Labels:
    """Return labels (n,) of a partition into these groups, by first records."""
    groups = groups.at(np.argsort(groups.members[:, 0]))
    labels = np.empty(n, np.intp)
    labels[groups.members[groups.members >= 0]] = np.repeat(
        np.arange(len(groups.sizes)), groups.sizes
    )
    return labels


def compute_group_sse(
    Z: Floats,
    groups: GroupColumns,
    exact: bool = False,
    weights: Floats | None = None,
) -> Floats:
    """Return the sum of squares of each group about its centroid, (q,).

    `exact` uses differences only: for groups that are far from 0 relative to their
    spread.  With `weights` (n,) both sum and mean are weighted.
    """
    sums = np.empty(len(groups.sizes))
    for size in np.unique(groups.sizes):
        of_size = np.flatnonzero(groups.sizes == size)
        for part in np.array_split(of_size, 1 + len(of_size) // CHUNK):
            rows = Z[groups.members[part, :size]]
            rows = rows - rows[:, :1] if exact else rows
            if weights is None:
                squares = (rows - rows.mean(axis=1, keepdims=True)) ** 2
            else:
                row_weights = weights[groups.members[part, :size], None]
                means = (row_weights * rows).sum(axis=1) / row_weights.sum(axis=1)
                squares = row_weights * (rows - means[:, None]) ** 2
            sums[part] = squares.sum((1, 2))
    return sums


class ColumnPool:
    """Groups without repetition, in the order of their first occurrence."""

    def __init__(
        self,
        Z: Floats,
        k: int,
        exact: bool = False,
        weights: Floats | None = None,
    ) -> None:
        self.Z = Z
        self.exact = exact
        self.weights = weights
        self.all = GroupColumns(
            np.empty((0, 2 * k - 1), np.int32), np.empty(0, np.intp)
        )
        self.costs = np.empty(0)
        self._place: dict[bytes, int] = {}

    def add(self, groups: GroupColumns) -> Labels:
        """Add groups that the pool lacks; return their positions in it."""
        have = len(self.costs)
        new: list[int] = []
        for row, key in enumerate(map(bytes, groups.members)):
            if key not in self._place:
                self._place[key] = have + len(new)
                new.append(row)
        added = groups.at(new)
        self.all = GroupColumns(
            np.concatenate([self.all.members, added.members]),
            np.concatenate([self.all.sizes, added.sizes]),
        )
        costs = compute_group_sse(self.Z, added, self.exact, self.weights)
        self.costs = np.append(self.costs, costs)
        return np.arange(have, len(self.costs))

    def places(self, groups: GroupColumns) -> Labels:
        """Return the positions of groups in the pool, which contains them, (q,)."""
        return np.array([self._place[bytes(row)] for row in groups.members], np.intp)


class Distances(NamedTuple):
    """Distances for the costs of groups; all weights are 1 for unweighted records.

    Attributes
    ----------
    pair : (n, n)
        Squared distances of records, times the weights of both.
    pull : (n, n)
        Squared distances from record i to j, times the weight of j: from a medoid.
    near : (n, 2k)
        Sums of the q least entries of a row of `pair`, without the record itself.
    weight : (n,)
        Weight of each record.
    """

    pair: Floats
    pull: Floats
    near: Floats
    weight: Floats


class Prices(NamedTuple):
    """Duals: of records, u (n,), and of cuts.

    Attributes
    ----------
    penalty : (cuts,)
        Cost of as many records of a cut in a group as its divisor, -s_l >= 0.
    divisor : (cuts,)
        Divisor of each cut.
    inside : (cuts, n)
        Whether a cut counts each record.
    first, cuts : (n + 1,), (c,)
        The cuts of positive cost that count record i: cuts[first[i] : first[i + 1]].
    mate_first, mates
        Likewise the records that must be in one group with record i.
    before : (n,)
        The copy that must be chosen before record i; -1 without one.
    """

    u: Floats
    penalty: Floats
    divisor: I64
    inside: Bool
    first: I64
    cuts: I64
    mate_first: I64
    mates: I64
    before: I64


class Limits(NamedTuple):
    """Limits of a search for groups, and of its work.

    Attributes
    ----------
    largest
        Largest reduced cost of wanted groups.
    keep, room
        Number of returned groups, for each medoid and in total.
    candidates, nodes, all_nodes
        Candidates and nodes for each medoid, nodes in total; 0: no limit.
    """

    largest: float
    keep: int
    room: int
    candidates: int
    nodes: int
    all_nodes: int


RETURNED, WANTED, NODES, MEDOIDS = range(4)  # positions in `PricingResult.counts`


class PricingResult(NamedTuple):
    """Groups (room, 2k - 1), their reduced costs, and the progress of the search.

    Attributes
    ----------
    lowest : (n,)
        The least reduced cost found from each medoid; `largest` if none was found.
    done : (n,)
        Whether all wanted groups of each medoid were found.
    counts : (4,)
        Groups returned, groups found, nodes and candidates, medoids completed.
    """

    members: I32
    reduced: Floats
    lowest: Floats
    done: Bool
    counts: I64

    @classmethod
    def create_empty(cls, n: int, k: int, limits: Limits) -> "PricingResult":
        """Return empty arrays for the result of pricing groups of n records."""
        return cls(
            np.full((limits.room, 2 * k - 1), -1, np.int32),
            np.empty(limits.room),
            np.full(n, limits.largest),
            np.zeros(n, np.bool_),
            np.zeros(4, np.int64),
        )
