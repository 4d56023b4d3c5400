"""The pair program of a table: listed pairs, cuts, and rounds that raise the bound.

A round takes primal-dual steps, proves a bound over all pairs from the multipliers, and
lists the pairs and the cuts that it lacks.  The model is `aggopt.models.pair_bound`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, log2

import numpy as np

from aggopt.algorithms.pair_bound import box_kernels as boxes
from aggopt.algorithms.pair_bound import certificate_kernels as certificate
from aggopt.algorithms.pair_bound import row_kernels as rows
from aggopt.algorithms.pair_bound import separation_kernels as separation
from aggopt.algorithms.pair_bound import step_kernels as steps
from aggopt.algorithms.pair_bound.cut_pool import CutPool
from aggopt.algorithms.pair_bound.nearest import (
    NEIGHBOUR_ROUNDING,
    PORTION,
    Nearest,
    iterate_leaves,
    measure_work,
    search_nearest,
)
from aggopt.algorithms.pair_bound.requirements import PairRequirement
from aggopt.core.types import I32, I64, Bool
from aggopt.core.validation import Floats, Labels

# A multiplier of a degree is at most LIMIT times what the last of the list would allow
# it alone.  So copies of a record, thousands perhaps, do not pay for all their pairs.
LIMIT = 4.0
LOCAL = (1e-3, 1e15)  # range of the scales of records: one may be far from all others
LOCAL_WEIGHTS, PLAIN_WEIGHTS = (0.05, 20.0), (1e-3, 1e3)  # ranges of omega
PROMISED_WEIGHTS = (0.05, 1e3)  # groups that satisfy a promise have far members
CELLS = 4_000_000  # records times classes, for which a promise has rows
# Times of parts of a round, measured in entries that a step visits in that time:
CELL = 6.0  # a cell of a promise
PAIR = 8.0  # an unlisted pair and a row of a promise
ENTRY = 30.0  # an entry that is listed
FOUND = 10.0  # a pair in reach
UNLISTED = 250.0  # a pair in reach that is not listed
SEPARATED = 15.0  # two pairs that share a record, in all separations
LISTED = 80.0  # a pair when the lists change
ROUND = 5e5  # all other parts of the round
CACHED = 0.6  # share of these times if all records stay in the cache
FAR = 50_000  # the share rises by 1 for each FAR records, up to 1
DISTANT = 0.3  # reduced cost of a pair that leaves the lists, by what is paid for it
STILL = 1e-20  # square of a movement that is none
FIRST_VIOLATION = 0.02  # of cuts that enter; halved when none is left
SIZE_ROUNDING = 1e-12  # share that sums of weights may be off by
LEAST_POWER = -960  # of the scale: its inverse does not overflow


@dataclass(frozen=True)
class RoundEffort:
    """Length of a round.

    Attributes
    ----------
    restarts, length
        Number of restarts of a round, and of steps before each.
    triangles
        New triangles of a record, at most.
    together
        Smallest value of a pair in which cuts are looked for.
    """

    restarts: int = 3
    length: int = 20
    triangles: int = 8
    together: float = 1e-3


@dataclass(frozen=True, eq=False)
class PairPrices:
    """Prices of records and of sets that prove a bound.

    A group of k to 2k - 1 records loses at least the prices of its records, less those
    of the sets that contain it.  A set U contains at most floor(|U| / k) groups of a
    partition: so the bound is the sum of the records' prices, less floor(|U| / k) times
    the price of each set.

    Attributes
    ----------
    records : (n,)
        Price of each record.
    sets
        Sets of records, ascending.
    charges : (u,)
        Price of each set, 0 or more.
    """

    records: Floats
    sets: tuple[Labels, ...]
    charges: Floats


class PairProgram:
    """The program of records (n, d) and its state; n of 2k or more, k of 2 or more.

    Attributes
    ----------
    order : (n,)
        The records in the order of the program's own.
    masses : (n,)
        Weights of the records, of mean 1; 1 without weights.
    neighbour_bound
        The neighbour bound, which is below the value of the start without weights.
    loses
        Whether any partition loses: not if each record has k - 1 copies.
    bound
        Largest bound proven so far, in the unit of the squares of the records.
    prices
        The prices that prove it, in the order of the caller's records; None with
        promises, or if it is the neighbour bound.
    work
        Entries and distances visited so far.  It grows alike under any load, so that
        results do not depend on the load.
    share
        Time of an entry: 1 if the records are many, and less if they stay in a cache.
    is_fixed
        Whether cuts of common neighbours, sets and rows of promises are given.
    """

    def __init__(
        self,
        records: Floats,
        k: int,
        *,
        effort: RoundEffort,
        weights: Floats | None = None,
        promises: Sequence[PairRequirement] = (),
        nearest: Nearest | None = None,
    ) -> None:
        n = len(records)
        self.n = n
        self.k = k
        self.effort = effort
        self.is_fixed = False
        nearest = nearest or search_nearest(records, k, weights=weights)
        self.order, self.boxes = nearest.order, nearest.boxes
        self.work = nearest.work
        self.share = min(1.0, CACHED + n / FAR)
        self.records = self.boxes.records
        self.masses = np.ones(n) if weights is None else weights[self.order]
        self.neighbour_bound = nearest.bound
        self.bound = nearest.bound * (1 - NEIGHBOUR_ROUNDING)
        self.prices: PairPrices | None = None
        last = nearest.distances[:, k - 2]
        self.loses = bool(last.any() or promises)
        max_classes = max(2, CELLS // n)
        self.promises = [
            promise.select(self.order).limit_classes(max_classes)
            for promise in promises
        ]
        self.is_weighted = weights is not None
        self._bound_sizes(is_weighted=self.is_weighted)
        self._set_scales(last)
        self.y = 0.5 * last * self.unit * self.masses
        self.limits = 0.5 * LIMIT * nearest.distances[:, -1] * self.unit * self.masses
        self.x = self.high.copy()
        self._list_start(nearest.near)
        counted = 0 if weights is None else n
        classes = np.zeros((len(self.promises), n), np.int32)
        for number, promise in enumerate(self.promises):
            classes[number] = promise.classes
        self.pool = CutPool.start(np.arange(counted, dtype=np.int32), classes)
        self.least = FIRST_VIOLATION
        self.build()
        if promises:  # whose partners are farther than the nearest
            for records_of in (self.pairs.first, self.pairs.second):
                np.maximum.at(self.limits, records_of, LIMIT * self.matrix.costs)

    def _bound_sizes(self, *, is_weighted: bool) -> None:
        """Set the bounds of each record's variable x_i = k / (size of its group)."""
        n, k = self.n, self.k
        self.low, self.high = np.full(n, k / (2 * k - 1)), np.ones(n)
        if is_weighted:
            self.low, self.high = _find_size_bounds(self.masses, k)
        for promise in self.promises:  # a group that satisfies it may not be split
            self.low = np.full(n, k / self.masses.sum() * (1 - SIZE_ROUNDING))
            limits = promise.limit_shares(self.masses, k, is_weighted=is_weighted)
            self.high = np.minimum(self.high, limits)

    def _set_scales(self, nearest: Floats) -> None:
        """Set the scale of costs, and of the multipliers of each record."""
        positive = nearest[nearest > 0]
        typical = float(np.median(positive)) / self.k if len(positive) else 1.0
        self.scale = 2.0 ** max(round(log2(typical)), LEAST_POWER)  # a power is exact
        self.unit = 1.0 / (self.k * self.scale)
        self.scales = np.clip(nearest * self.unit, *LOCAL) * self.masses
        self.weights = PROMISED_WEIGHTS if self.promises else LOCAL_WEIGHTS
        self.omega = 1.0

    def _list_start(self, near: I32) -> None:
        """List the pairs of the start: the nearest, and partners for requirements."""
        every = np.arange(self.n)
        self.keys = self._make_keys(np.repeat(every, near.shape[1]), near)
        for promise in self.promises:
            others = promise.find_partners(self.records, self.k)
            keys = self._make_keys(np.repeat(every, others.shape[1]), others)
            self.keys = _sort_keys(np.concatenate([self.keys, keys]))
        self.w = np.zeros(len(self.keys))
        self.missing = self.keys[:0]

    def use_plain_scale(self) -> None:
        """Let the multipliers of all records have one scale."""
        self.scales = np.ones(self.n)
        self.weights = PLAIN_WEIGHTS

    def _make_keys(self, one: Labels | I32, other: Labels | I32) -> I64:
        one, other = np.ravel(one).astype(np.int64), np.ravel(other).astype(np.int64)
        one, other = one[one != other], other[one != other]
        return _sort_keys(np.minimum(one, other) * self.n + np.maximum(one, other))

    def build(self) -> None:
        """List the entries of all rows in the listed pairs."""
        self.pairs = rows.link_pairs(self.keys, self.n)
        distances = rows.measure_pairs(self.records, self.pairs)
        masses = self.masses[self.pairs.first] * self.masses[self.pairs.second]
        costs = distances * self.unit * masses
        cuts = self.pool.cuts
        sides = self.pool.sides(self.k)
        row_start = np.zeros(len(sides) + 1, np.int64)
        room = self._count_entries(cuts)
        columns, entries = np.empty(room, np.int32), np.empty(room)
        size = rows.list_row_entries(
            self.records,
            self.masses,
            self.pairs,
            distances,
            cuts,
            self.k,
            row_start,
            columns,
            entries,
            np.full(self.n, rows.UNKNOWN, np.int32),
            np.zeros(self.n, np.bool_),
        )
        columns, entries = columns[:size], entries[:size]
        shape = len(costs) + self.n, len(sides)
        self.columns = steps.sort_by_column(row_start, columns, entries, shape)
        self.matrix = steps.Matrix(
            self.pairs.first,
            self.pairs.second,
            costs,
            self.columns.indptr.astype(np.int64),
            self.columns.indices.astype(np.int32),
            self.columns.data,
            float(self.k),
            sides,
            self.low,
            self.high,
            self.limits,
            self.masses,
        )
        self.work += ENTRY * self.share * size

    def _count_entries(self, cuts: rows.Cuts) -> int:
        """Return at least the number of entries of all cuts."""
        degrees = np.diff(self.pairs.start) + 1
        record_lists = (cuts.counted, cuts.ends, cuts.member, cuts.apex)
        lists = sum(int(degrees[records].sum()) for records in record_lists)
        return lists + 2 * len(cuts.caps) + 4 * len(cuts.triangles)

    @property
    def step_work(self) -> float:
        """Work of one step, which visits all entries."""
        matrix = self.matrix
        entries = len(matrix.first) * 2.0 + len(matrix.rows) * 2.0 + self.n
        return self.share * entries

    def improve(self) -> None:
        """Take the steps of a round, restarting from averages that are better."""
        self.work += ROUND + 2 * self.step_work
        effort = self.effort
        row_scales = self.scales[self.pool.apexes]
        at = steps.Iterate(self.w, self.x, self.y, self.pool.multipliers)
        lengths = steps.Lengths(*(np.empty(len(values)) for values in at))
        steps.set_lengths(self.matrix, self.columns, self.scales, row_scales, lengths)
        best = -inf
        best_y, best_cuts = at.y.copy(), at.cuts.copy()
        for _ in range(effort.restarts):
            before = [values.copy() for values in at]
            sums = steps.Iterate(*(np.zeros(len(values)) for values in at))
            self._take_steps(lengths, at, sums, effort.length)
            means = [values / effort.length for values in sums]
            value = self._evaluate(at.y, at.cuts)
            mean_value = self._evaluate(means[2], means[3])
            self.work += 2 * self.step_work
            if mean_value >= value:
                value = mean_value
                for values, mean in zip(at, means, strict=True):
                    values[:] = mean
            if value > best:
                best = value
                best_y[:], best_cuts[:] = at.y, at.cuts
            self._weigh(before, at, row_scales)
        self.y = best_y
        self.pool.set_multipliers(best_cuts)
        self.listed_value = best * self.scale

    def _evaluate(self, y: Floats, cuts: Floats) -> float:
        """Return the bound of multipliers if only the listed pairs count."""
        return steps.evaluate_multipliers(self.matrix, self.columns, y, cuts)

    def _take_steps(
        self, lengths: steps.Lengths, at: steps.Iterate, sums: steps.Iterate, count: int
    ) -> None:
        """Take steps in portions, between which Ctrl-C is raised."""
        portion = max(1, int(PORTION / self.step_work))
        left = np.empty(self.n), np.empty(len(at.cuts))
        for done in range(0, count, portion):
            part = min(portion, count - done)
            steps.take_steps(self.matrix, lengths, at, sums, left, self.omega, part)
            self.work += part * self.step_work

    def _weigh(
        self, before: list[Floats], at: steps.Iterate, row_scales: Floats
    ) -> None:
        """Balance the lengths of both kinds of steps by how far both moved."""
        w, x, y, cuts = (values - old for values, old in zip(at, before, strict=True))
        primal = float((w**2).sum() + (x**2).sum())
        dual = float(((y / self.scales) ** 2).sum() + ((cuts / row_scales) ** 2).sum())
        if primal > STILL and dual > STILL:
            omega = np.sqrt(self.omega * np.sqrt(dual / primal))
            self.omega = float(np.clip(omega, *self.weights))

    def certify(self) -> float:
        """Return the bound that the multipliers prove over all pairs."""
        attributes = self.records.shape[1]
        cut_multipliers = self.pool.multipliers
        sums = certificate.make_sums()
        prices = np.empty(self.n)
        certificate.add_listed(
            self.matrix, self.y, cut_multipliers, attributes, sums, prices
        )
        self.taken = self.columns @ cut_multipliers
        charges = self.pool.make_charges(self.masses)
        reaches = self._measure_reaches(charges.most)
        tops = boxes.Reaches(*(boxes.find_tops(self.boxes, v) for v in reaches))
        terms = len(self.keys) + 2 * self.n + len(cut_multipliers)
        missing: list[I64] = []
        for start, stop in iterate_leaves(self.boxes):
            first, second = self._find_pairs(reaches, tops, start, stop)
            self.work += PAIR * len(first) * len(self.pool.promises) / self.n
            keys = first.astype(np.int64) * self.n + second
            listed = rows.find_listed(self.keys, keys)
            reduced = np.empty(len(first))
            certificate.add_unlisted(
                self.records,
                self.unit,
                self.matrix,
                self.y,
                self.pool.cuts,
                charges,
                first,
                second,
                listed,
                reduced,
                sums,
                prices,
            )
            unlisted = np.count_nonzero(listed < 0)
            self.work += FOUND * len(first) + UNLISTED * unlisted
            enters = reduced < 0
            terms += int(enters.sum())
            missing.append(self._make_keys(first[enters], second[enters]))
        self.missing = np.concatenate(missing)
        value = certificate.compute_total(sums, terms) * self.scale
        if value > self.bound:
            self.bound = value
            self.prices = None if self.promises else self._read_prices(prices)
        return value

    def _read_prices(self, prices: Floats) -> PairPrices:
        """Return prices of records and the multipliers of sets as prices."""
        in_order = np.empty(self.n)
        in_order[self.order] = prices * self.scale
        cuts = self.pool.cuts
        members = np.split(self.order[cuts.member], cuts.set_start[1:-1])
        live = np.flatnonzero(self.pool.sizes > 0)
        sets = tuple(np.sort(members[u]) for u in live)
        return PairPrices(in_order, sets, self.k * self.scale * self.pool.sizes[live])

    def _measure_reaches(self, cut_totals: Floats) -> boxes.Reaches:
        """Return how near a pair must be so that multipliers may exceed its cost."""
        return boxes.Reaches(
            self.y / self.masses / self.unit,
            cut_totals / self.masses / self.unit,
            1.0 / self.masses,
        )

    def _find_pairs(
        self, reaches: boxes.Reaches, tops: boxes.Reaches, start: int, stop: int
    ) -> tuple[I32, I32]:
        """Return the pairs in the range of some leaves that multipliers may exceed."""
        counts = np.zeros(2, np.intp)
        room = 64 * (stop - start) * boxes.LEAF
        while True:
            first, second = np.empty(room, np.int32), np.empty(room, np.int32)
            boxes.find_pairs_in_range(
                self.boxes,
                reaches,
                tops,
                start,
                stop,
                first,
                second,
                counts,
                boxes.make_waiting(),
            )
            self.work += measure_work(self.boxes, int(counts[1]))
            if counts[0] <= room:
                return first[: counts[0]], second[: counts[0]]
            room = int(counts[0])

    def separate(self) -> int:
        """Drop idle cuts, and add those that listed pairs violate; return how many."""
        self.pool.drop_idle(is_fixed=self.is_fixed)
        is_together = self.w > self.effort.together
        support = rows.link_pairs(self.keys[is_together], self.n)
        weights = self.w[is_together]
        triangles = np.empty((self.n, self.effort.triangles, 3), np.int32)
        counts = np.zeros(self.n, np.int64)
        excess = np.zeros(len(weights))
        separation.separate_triangles(
            support,
            weights,
            self.x,
            self.least,
            triangles,
            counts,
            excess,
            self.k,
            (np.zeros(self.n), np.zeros(self.n)),
            np.empty(self.effort.triangles),
        )
        degrees = np.diff(support.start).astype(np.float64)
        self.work += SEPARATED * self.share * float((degrees**2).sum())
        added = self._add_triangles(triangles, counts)
        added += self._add_caps(support, weights)
        if not self.is_fixed:
            added += self._add_common(support, weights, excess)
            added += self._add_sets(support, weights)
            for number, promise in enumerate(self.promises):
                added += self._add_promised(number, promise, support, weights)
        if not added:
            self.least /= 2
        return added

    def _add_triangles(self, triangles: I32, counts: I64) -> int:
        """Add triangles that are not in the pool; return how many."""
        room = triangles.shape[1]
        new = self.pool.add_triangles(triangles[np.arange(room) < counts[:, None]])
        keys = self._make_keys(new[:, 1], new[:, 2])
        self.missing = np.concatenate([self.missing, keys])
        return len(new)

    def _add_common(
        self, support: rows.PairLists, weights: Floats, excess: Floats
    ) -> int:
        """Add cuts of the common neighbours of pairs; return how many."""
        worst = np.flatnonzero(excess > self.least)
        if len(worst) > self.n:
            worst = worst[np.argpartition(-excess[worst], self.n)[: self.n]]
            worst.sort()
        ends = np.stack([support.first[worst], support.second[worst]], axis=1)
        itself = np.zeros(len(ends), np.int32)
        end_start = np.zeros(len(ends) + 1, np.int64)
        room = int(np.diff(support.start)[ends].sum())
        record, side = np.empty(room, np.int32), np.empty(room, np.int32)
        size = separation.list_common(
            support, weights, ends, itself, end_start, record, side
        )
        self.pool.add_common(ends, itself, end_start, record[:size], side[:size])
        return len(ends)

    def _add_caps(self, support: rows.PairLists, weights: Floats) -> int:
        """Add caps of pairs that exceed the variable of a record; return how many."""
        new = []
        for one, other in (
            (support.first, support.second),
            (support.second, support.first),
        ):
            over = weights > self.x[one] + self.least
            new.append(np.stack([one[over], other[over]], axis=1))
        return self.pool.add_caps(np.concatenate(new))

    def _add_sets(self, support: rows.PairLists, weights: Floats) -> int:
        """Add sets of records with too many pairs within; return how many."""
        members = np.empty((self.n, 3 * self.k), np.int32)
        sizes = np.zeros(self.n, np.int64)
        growth = separation.make_growth(self.n)
        separation.grow_sets(
            support,
            weights,
            self.x,
            self.masses,
            self.k,
            self.least,
            members,
            sizes,
            growth,
        )
        some = np.flatnonzero(sizes)
        is_outside = np.arange(members.shape[1]) >= sizes[some, None]
        sets = np.sort(np.where(is_outside, self.n, members[some]), axis=1)
        some = some[np.sort(np.unique(sets, axis=0, return_index=True)[1])]
        self.pool.add_sets([np.sort(members[seed, : sizes[seed]]) for seed in some])
        return len(some)

    def _add_promised(
        self,
        number: int,
        promise: PairRequirement,
        support: rows.PairLists,
        weights: Floats,
    ) -> int:
        """Add the rows of a promise that the pairs violate; return how many."""
        together = np.zeros((self.n, promise.count))
        classes = promise.classes
        for one, other in (
            (support.first, support.second),
            (support.second, support.first),
        ):
            np.add.at(together, (one, classes[other]), weights)
        together[np.arange(self.n), classes] += self.x
        new = promise.separate(together, self.x, self.k)
        if self.is_weighted:  # groups weigh more or less than their records
            scaled = new.sides / self.k
            new = new._replace(
                own=new.own - scaled,
                sides=np.zeros(len(scaled)),
                levels=new.levels - scaled[:, None],
            )
        self.pool.merge_promised(number)
        self.work += CELL * (together.size + self.pool.cuts.levels.size)
        self.pool.add_promised(number, new)
        return len(new.apex)

    def list_missing(self) -> None:
        """List the pairs that the certificate or new cuts lack, and no idle ones."""
        self.work += LISTED * len(self.keys)
        stays = ~self._find_idle()
        old = self.keys[stays]
        keys = _sort_keys(np.concatenate([old, self.missing]))
        w = np.zeros(len(keys))
        w[np.searchsorted(keys, old)] = self.w[stays]
        self.keys = keys
        self.w = w
        self.build()

    def _find_idle(self) -> Bool:
        """Return which pairs have a high reduced cost and are in no cut.

        The certificate lists a pair again if its reduced cost falls below 0.
        """
        if self.is_fixed or self.promises:
            return np.zeros(len(self.keys), np.bool_)
        matrix = self.matrix
        degrees, reduced = steps.reduce_costs(matrix, self.taken, self.y)
        is_idle = np.asarray((self.w == 0) & (reduced > DISTANT * degrees))
        cuts = self.pool.cuts
        apex, one, other = cuts.triangles.T
        for first, second in (
            (apex, one),
            (apex, other),
            (one, other),
            cuts.ends.T,
            cuts.caps.T,
        ):
            low, high = np.minimum(first, second), np.maximum(first, second)
            number = rows.find_listed(self.keys, low.astype(np.int64) * self.n + high)
            is_idle[number[number >= 0]] = False
        return is_idle


def _sort_keys(keys: I64) -> I64:
    """Return the keys in ascending order, each once."""
    keys = np.sort(keys)
    return keys[np.diff(keys, prepend=-1) > 0]


def _find_size_bounds(masses: Floats, k: int) -> tuple[Floats, Floats]:
    """Return the least and the greatest k / W of a group of weight W with each record.

    A group has k to 2k - 1 records: the others are at best the lightest, or heaviest.
    """

    def add_lightest(values: Floats, count: int) -> Floats:
        ascending = np.sort(values)
        among = values <= ascending[count - 1]
        total = ascending[:count].sum()
        return np.asarray(np.where(among, total + ascending[count] - values, total))

    others = min(2 * k - 2, len(masses) - 1)
    lightest = masses + add_lightest(masses, k - 1)
    heaviest = masses - add_lightest(-masses, others)
    return k / heaviest * (1 - SIZE_ROUNDING), k / lightest * (1 + SIZE_ROUNDING)
