"""Pricing: groups of negative reduced cost, and the Lagrangian bound."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import fsum
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from aggopt.core.deadline import Deadline
from aggopt.core.types import I32, Bool, Floats, Labels
from aggopt.partition._optimal.columns import (
    Distances,
    GroupColumns,
    Limits,
    Prices,
    PricingResult,
    sort_groups,
)

if TYPE_CHECKING:
    from aggopt.algorithms.pair_bound import PairPrices

COPIES = 24  # duplicates; fewer are priced like other records
VARIANTS = 400  # of one group, by exchange of duplicates


@dataclass(frozen=True, eq=False)
class Duplicates:
    """Duplicates among the records, of points that occur MANY times or more.

    Attributes
    ----------
    place : (n,)
        Number of each record's point.
    before : (n,)
        The previous duplicate of a record in the table, -1 for the first, or if fewer.
    many : (n,)
        Whether a record's point occurs that often.
    spare : (n,)
        Whether enough duplicates precede it that no group needs it.
    """

    place: Labels
    before: Labels
    many: Bool
    spare: Bool

    @classmethod
    def of(cls, Z: Floats, k: int) -> "Duplicates":
        """Return which records (n, d), also weighted, repeat often enough to matter."""
        _, place, sizes = np.unique(Z, axis=0, return_inverse=True, return_counts=True)
        place = place.ravel()
        many = sizes[place] >= max(k, COPIES)
        order = np.argsort(place, kind="stable")
        before = np.full(len(Z), -1, np.intp)
        same = (place[order[1:]] == place[order[:-1]]) & many[order[1:]]
        before[order[1:][same]] = order[:-1][same]
        rank = np.empty(len(Z), np.intp)
        rank[order] = np.arange(len(Z)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return cls(place, before, many, many & (rank >= 2 * k - 1))

    @property
    def some(self) -> bool:
        """Whether any record repeats often enough to matter."""
        return bool(self.many.any())

    def average_duals(self, u: Floats) -> Floats:
        """Return the records' duals (n,), averaged over duplicate records.

        Dual feasible if u is: they are the mean over all permutations of duplicates.
        """
        mean = np.bincount(self.place, u) / np.bincount(self.place)
        return np.where(self.many, mean[self.place], u)

    def extend_bounds(self, bounds: Floats) -> Floats:
        """Return bounds (n,) with each first duplicate's bound for all the others."""
        first = np.flatnonzero(self.before < 0)
        of_place = np.full(int(self.place.max()) + 1, np.inf)
        np.minimum.at(of_place, self.place[first], bounds[first])
        return np.where(self.many, of_place[self.place], bounds)

    def list_variants(self, groups: GroupColumns, u: Floats) -> GroupColumns:
        """Return groups with duplicates exchanged, those of highest duals first.

        If a group prices out at averaged duals, its first variant does at the duals u.
        """
        has_duplicates = np.append(self.many, False)[groups.members].any(axis=1)
        rows = [groups.members[~has_duplicates]]
        for members, size in zip(
            groups.members[has_duplicates], groups.sizes[has_duplicates], strict=True
        ):
            rows.append(self._list_group_variants(members, members[:size], u))
        return sort_groups(np.concatenate(rows))

    def _list_group_variants(self, row: I32, records: I32, u: Floats) -> I32:
        """Return variants of one group (rows of records), its duplicates exchanged."""
        copied = records[self.many[records]]
        places, counts = np.unique(self.place[copied], return_counts=True)
        blocks = []
        for place, count in zip(places, counts, strict=True):
            duplicates = np.flatnonzero(self.place == place)
            duplicates = duplicates[np.argsort(-u[duplicates], kind="stable")]
            usable = len(duplicates) // count * count
            blocks.append(duplicates[:usable].reshape(-1, count))
        number = min(VARIANTS, max(len(block) for block in blocks))
        rows = np.full((number, len(row)), -1, row.dtype)
        rows[:, : len(records) - len(copied)] = records[~self.many[records]]
        at = len(records) - len(copied)
        for block in blocks:
            width = block.shape[1]
            rows[:, at : at + width] = block[np.arange(number) % len(block)]
            at += width
        return rows


PAYS = -1e-9  # reduced costs below count as negative
WORK = 1_000_000  # nodes between two checks of the deadline
MORE = 4  # factor of that if one medoid has more
NEAR = 12  # neighbours that heuristic pricing may add
FORBIDDEN = 1e7  # penalty of a pair that must be apart, for squared distances near 1
UNWANTED = 1e9  # cost of a record that no group needs

Pair = tuple[int, int]


class SubsetCut(NamedTuple):
    """Records (T) and a divisor p of a cut, which every partition satisfies.

    Over its groups S, floor(|S & T| / p) adds up to floor(|T| / p) or less.
    """

    records: tuple[int, ...]
    divisor: int = 2

    @property
    def side(self) -> int:
        """Right-hand side of the cut: at most this many groups fit in its records."""
        return len(self.records) // self.divisor


@dataclass(frozen=True, eq=False)
class Duals:
    """Duals of the restricted master: of records (n,), and of cuts.

    Attributes
    ----------
    u, cuts, s
        Duals of records, cuts, and the dual s_l <= 0 of each cut.
    together, apart
        Pairs of records that a branch requires, or forbids, in one group.
    """

    u: Floats
    cuts: Sequence[SubsetCut] = ()
    s: Floats = field(default_factory=lambda: np.empty(0))
    together: Sequence[Pair] = ()
    apart: Sequence[Pair] = ()

    @property
    def value(self) -> float:
        """Objective of the dual program, a lower bound if the duals are feasible."""
        terms = (cut.side * s for cut, s in zip(self.cuts, self.s, strict=True))
        return fsum([*self.u, *terms])

    def scale(self, share: float) -> "Duals":
        """Return the duals with those of records multiplied by `share`."""
        return Duals(share * self.u, self.cuts, self.s, self.together, self.apart)

    @classmethod
    def of_pairs(cls, prices: "PairPrices", k: int, many: Bool) -> "Duals":
        """Return the duals that pairs of records prove: no group prices out at them.

        A set with records of `many` duplicates has no cut.
        """
        u = prices.records.copy()
        cuts = []
        s = []
        for records, charge in zip(prices.sets, prices.charges.tolist(), strict=True):
            if many[records].any():
                u[records] -= charge / k
            else:
                cuts.append(SubsetCut(tuple(records.tolist()), k))
                s.append(-charge)
        return cls(u, cuts, np.array(s))

    @property
    def spread(self) -> Floats:
        """Duals of records (n,), each with its share of the duals of cuts.

        No group prices out at them if none does at these.
        """
        u = self.u.copy()
        for cut, s in zip(self.cuts, self.s.tolist(), strict=True):
            u[[*cut.records]] += s / cut.divisor
        return u

    def mix(self, other: "Duals", share: float) -> "Duals":
        """Return the duals between these and others of equal cuts, without branches."""
        u = (1 - share) * self.u + share * other.u
        return Duals(u, self.cuts, (1 - share) * self.s + share * other.s)


@dataclass(frozen=True, eq=False)
class PricedGroups:
    """Groups that price out, with reduced costs, and bounds for all others.

    Attributes
    ----------
    lowest : (n,)
        Lower bound of the reduced cost of groups with medoid i, if done.
    done
        Whether every medoid was searched exhaustively.
    complete
        Whether done, and no group that prices out was dropped.
    """

    groups: GroupColumns
    reduced: Floats
    lowest: Floats
    done: bool
    complete: bool


@dataclass(frozen=True)
class PricingEffort:
    """Limits on candidates and nodes for each medoid (0: none), and on columns."""

    candidates: int = 0
    nodes: int = 0
    keep: int = 15
    room: int = 100_000


class Pricer:
    """Squared distances `apart` (n, n), and the costs of groups."""

    def __init__(
        self, Z: Floats, k: int, near: Labels, weights: Floats | None = None
    ) -> None:
        from aggopt.partition._optimal import search_tree_kernels as kernels

        self.k = k
        self.n = len(Z)
        self.apart, sums = np.empty((self.n, self.n)), np.empty((self.n, 2 * k))
        kernels.fill_distances(Z, self.apart)
        pair = pull = self.apart
        if weights is not None:
            pull = self.apart * weights
            pair = weights[:, None] * pull
        kernels.fill_near_sums(pair, sums)
        record_weights = np.ones(self.n) if weights is None else weights
        self.distances = Distances(pair, pull, sums, record_weights)
        self.near = np.ascontiguousarray(near[:, :NEAR])
        self.duplicates = Duplicates.of(np.column_stack((Z, record_weights)), k)

    def price_heuristically(
        self, duals: Duals, start: GroupColumns
    ) -> tuple[GroupColumns, Floats]:
        """Return groups of negative reduced cost, by local search from `start`."""
        from aggopt.partition._optimal.pricing_kernels import improve_priced_groups

        ended = np.empty_like(start.members)
        reduced = np.empty(len(start.sizes))
        improve_priced_groups(
            self.distances,
            self.near,
            duals.u,
            self.k,
            start.members,
            start.sizes,
            ended,
            reduced,
        )
        pays = reduced < 100 * PAYS
        return sort_groups(ended[pays]), reduced[pays]

    def price_groups(
        self,
        duals: Duals,
        effort: PricingEffort,
        clock: Deadline,
        max_cost: float = PAYS,
    ) -> PricedGroups:
        """Return groups of reduced cost up to `max_cost`, by branch and bound.

        Duals are averaged over duplicates; among groups that differ in duplicates only,
        one is returned.
        """
        from aggopt.partition._optimal.pricing_kernels import price_groups

        prices = self._build_prices(duals)
        lowest = np.full(self.n, max_cost)
        done = self.duplicates.before >= 0
        parts = []
        waiting = np.flatnonzero(~done)
        work = WORK
        found_count = kept_count = 0
        while len(waiting) and kept_count < effort.room and not clock.over:
            began = clock.spent
            limits = Limits(
                max_cost,
                effort.keep,
                effort.room - kept_count,
                effort.candidates,
                effort.nodes,
                work,
            )
            result = PricingResult.create_empty(self.n, self.k, limits)
            price_groups(self.distances, self.k, prices, waiting, limits, result)
            count, groups, _, passed = result.counts.tolist()
            parts.append((result.members[:count], result.reduced[:count]))
            lowest = np.minimum(lowest, result.lowest)
            done = done | result.done
            found_count = found_count + groups
            kept_count = kept_count + count
            waiting = waiting[passed:]
            work = WORK if passed else MORE * work
            if not passed and MORE * (clock.spent - began) > clock.left:
                break  # the next batch would end too late
        members = (
            np.concatenate([p[0] for p in parts])
            if parts
            else _create_no_groups(self.k)
        )
        reduced = np.concatenate([p[1] for p in parts]) if parts else np.empty(0)
        all_done = bool(done.all())
        groups = GroupColumns(members, (members >= 0).sum(axis=1))
        lowest = self.duplicates.extend_bounds(lowest)
        return PricedGroups(
            groups, reduced, lowest, all_done, all_done and found_count == kept_count
        )

    def bound(self, duals: Duals, reduced_costs: Floats) -> float:
        """Return the lower bound on every partition's SSE that duals prove.

        Each group has one medoid, and a partition at most floor(n / k) groups: the sum
        of the floor(n / k) least reduced costs bounds the dual's infeasibility.
        """
        lowest = np.sort(reduced_costs)[: self.n // self.k]
        return duals.value + fsum(np.minimum(lowest, 0.0))

    def _build_prices(self, duals: Duals) -> Prices:
        """Return the duals as arrays for the kernels."""
        apart = [SubsetCut(tuple(pair)) for pair in duals.apart]
        cuts = [*duals.cuts, *apart]
        penalty = np.append(-duals.s, np.full(len(apart), FORBIDDEN))
        inside = np.zeros((max(1, len(cuts)), self.n), bool)
        for row, cut in enumerate(cuts):
            inside[row, list(cut.records)] = True
        live = [(at, cut.records) for at, cut in enumerate(cuts) if penalty[at] > 0]
        costly = [i for _, records in live for i in records]
        which = [at for at, records in live for _ in records]
        pairs = np.array([*duals.together], np.int64).reshape(-1, 2)
        both = np.concatenate([pairs, pairs[:, ::-1]])
        return Prices(
            np.where(
                self.duplicates.spare, -UNWANTED, self.duplicates.average_duals(duals.u)
            ),
            penalty,
            np.array([cut.divisor for cut in cuts], np.int64),
            inside,
            *_index_by_record(
                np.array(costly, np.int64), np.array(which, np.int64), self.n
            ),
            *_index_by_record(both[:, 0], both[:, 1], self.n),
            self.duplicates.before.astype(np.int64),
        )


def _create_no_groups(k: int) -> Any:
    """Return an array of no groups, (0, 2k - 1)."""
    return np.empty((0, 2 * k - 1), np.int32)


def _index_by_record(record: Any, partner: Any, n: int) -> tuple[Any, Any]:
    """Return (first, partners): record i has partners[first[i] : first[i + 1]]."""
    order = np.argsort(record, kind="stable")
    first = np.zeros(n + 1, np.int64)
    np.cumsum(np.bincount(record, minlength=n), out=first[1:])
    return first, np.ascontiguousarray(partner[order])
