"""Simulated annealing: few near groups are dissolved and remade at a time."""

from math import inf

import numpy as np

from aggopt.algorithms.boxes.loss_tables import pack_losses
from aggopt.algorithms.boxes.state import LossTables
from aggopt.core.deadline import Deadline
from aggopt.core.types import F64, I32, I64
from aggopt.encoding.generalisation import DistinctRecords, GeneralisedTable
from aggopt.partition._generalising.state import (
    LARGE,
    MOST,
    FurtherRequirements,
    HullGroups,
    RebuildTrial,
    RecordSpace,
)
from aggopt.partition._local_search.search import Batch

NEAR = 40  # near combinations whose groups a record may join
EXACT = 25_000  # combinations up to which the nearest are found by comparing all
WINDOW = 60  # places in each order in which near ones are looked for, beyond
ORDERS = 3  # such orders for each attribute that comes first
SAMPLE = 1000  # pairs that tell which attributes differ most
PART = 200  # combinations between two chances for Ctrl-C
ROUNDS = 200  # temperatures
HOT = 0.3  # first temperature, times the mean loss of a group
COLD = 0.85  # share of the search at whose end the temperature is 0
MOVES = 10  # rounds between two descents


def create_record_space(
    table: GeneralisedTable,
    distinct: DistinctRecords,
    k: int,
    weights: F64 | None,
    requirements: FurtherRequirements | None,
) -> RecordSpace:
    """Return the records as arrays for compiled code, with the near ones of each."""
    losses = pack_losses(table.attributes)
    rows = distinct.positions
    near, distances = find_near_rows(losses, rows)
    order = np.argsort(distinct.of_record, kind="stable").astype(np.int64)
    first = np.concatenate([[0], np.cumsum(distinct.counts)]).astype(np.int64)
    return RecordSpace(
        np.ascontiguousarray(table.positions),
        losses,
        k,
        np.asarray(distinct.of_record, np.int64),
        first,
        order,
        near,
        estimate_prices(distinct.counts, near, distances, k),
        np.ones(len(table)) if weights is None else weights,
        requirements,
    )


def find_near_rows(
    losses: LossTables, rows: I64, exact: int = EXACT
) -> tuple[I32, F64]:
    """Return near others of each row and their pair losses, nearest first, (c, T) each.

    The nearest for up to `exact` rows, and near ones for more.
    """
    from aggopt.partition._generalising import near_kernels as kernels

    c, d = rows.shape
    width = max(1, min(NEAR, c - 1))
    near = np.full((c, width), -1, np.int32)
    distances = np.full((c, width), inf)
    sequence = _sort_attributes(losses, rows)
    orders, window = (1, min(width, c)) if c <= exact else (ORDERS, WINDOW)
    rng = np.random.default_rng(0)
    for j in range(d):
        for _ in range(orders):
            columns = [j, *rng.permutation(np.delete(np.arange(d), j))]
            order = np.lexsort(rows[:, columns[::-1]].T).astype(np.int64)
            kernels.find_near_in_order(
                losses, rows, sequence, order, window, near, distances
            )
    if c <= exact:
        for start in range(0, c, PART):
            stop = min(start + PART, c)
            kernels.find_near_all(losses, rows, sequence, start, stop, near, distances)
    return near, distances


def _sort_attributes(losses: LossTables, rows: I64) -> I64:
    """Return the attributes (d,), by the mean loss of random pairs, largest first."""
    from aggopt.partition._generalising import near_kernels as kernels

    pairs = np.random.default_rng(0).integers(len(rows), size=(SAMPLE, 2))
    means = np.zeros(rows.shape[1])
    kernels.add_pair_losses(losses, rows, pairs, means)
    return np.argsort(-means, kind="stable").astype(np.int64)


def estimate_prices(counts: I64, near: I32, distances: F64, k: int) -> F64:
    """Return a lower bound on the loss of each distinct record in a group of k, (c,).

    No group of k records loses less for each.
    """
    reached = counts[:, None] + np.cumsum(np.where(near >= 0, counts[near], 0), axis=1)
    place = np.argmax(reached >= k, axis=1)
    row = np.arange(len(counts))
    last = np.where(reached[:, -1] >= k, distances[row, place], distances[:, -1])
    return np.where((counts >= k) | ~np.isfinite(last), 0.0, last)


class GroupSearch:
    """The groups that a search changes, and the best groups so far."""

    def __init__(self, space: RecordSpace, labels: I64, seed: int) -> None:
        from aggopt.partition._generalising import group_kernels as kernels

        self.space = space
        self.groups = _create_groups(space, labels)
        self.trial = _create_trial(space, seed)
        kernels.fill_groups(space, self.groups, labels)
        self._lowest = kernels.sum_losses(self.groups)
        self._best = labels.copy()

    @property
    def labels(self) -> I64:
        """The best labels so far, (n,); numbers may be skipped."""
        return self._best

    def run(self, steps: float, clock: Deadline) -> None:
        """Make this many trials, or trials until the clock is over."""
        batch = Batch()
        done = 0
        turn = 0
        while not clock.over and done < steps:
            share = (
                done / steps if steps < inf else clock.spent / float(clock.seconds or 1)
            )
            end = steps * (turn + 1) / ROUNDS if steps < inf else inf
            temperature = self._choose_temperature(share)
            done += self._rebuild(temperature, end - done, batch, clock)
            turn += 1
            if turn % MOVES == 0:
                self._move_records()
            self._look()
            clock.report(min(share, 1.0))
        while not clock.over and self._move_records():
            pass
        self._look()

    def _choose_temperature(self, share: float) -> float:
        groups = max(1, int((self.groups.size > 0).sum()))
        return HOT * self._lowest / groups * max(0.0, 1 - share / COLD) ** 2

    def _rebuild(
        self, temperature: float, left: float, batch: Batch, clock: Deadline
    ) -> int:
        """Make trials at one temperature: all that are left, or a batch of them."""
        from aggopt.partition._generalising import rebuild_kernels as kernels

        done = 0
        while done < left and not clock.over:
            count = int(min(batch.count, np.ceil(left - done)))
            with batch:
                kernels.rebuild_each(
                    self.space, self.groups, self.trial, temperature, count
                )
            done += count
            if left == inf:
                break
        return done

    def _move_records(self) -> int:
        """Move single records where they cost less; return how many."""
        from aggopt.partition._generalising import move_kernels as kernels

        if self.space.requirements is not None:
            return 0
        return int(kernels.move_records(self.space, self.groups, self.trial))

    def _look(self) -> None:
        """Keep the groups if they lose less than the best so far."""
        from aggopt.partition._generalising import group_kernels as kernels

        loss = kernels.sum_losses(self.groups)
        if loss < self._lowest:
            self._lowest = loss
            np.copyto(self._best, self.groups.label)


def _create_groups(space: RecordSpace, labels: I64) -> HullGroups:
    """Return empty groups, as many as there may ever be."""
    n, d = space.positions.shape
    groups = int(labels.max()) + 1
    size = n // space.k + 1 + groups
    spare = np.zeros(2 * size, np.int64)
    spare[: size - groups] = np.arange(groups, size)
    return HullGroups(
        label=np.full(n, -1, np.int64),
        head=np.full(size, -1, np.int64),
        following=np.full(n, -1, np.int64),
        preceding=np.full(n, -1, np.int64),
        lowest=np.zeros((size, d), np.int64),
        highest=np.zeros((size, d), np.int64),
        size=np.zeros(size, np.int64),
        mass=np.zeros(size),
        loss=np.zeros(size),
        spare=spare,
        open=np.ones(size, np.bool_),
        counts=np.array([size - groups], np.int64),
    )


def _create_trial(space: RecordSpace, seed: int) -> RebuildTrial:
    """Return a trial without records; `seed` is that of all random choices."""
    n, d = space.positions.shape
    capacity = (LARGE + 1) * MOST * space.k + 1
    requirements = space.requirements
    levels = units = 0
    if requirements is not None:
        levels = int(requirements.promise.diverse.level.max(initial=0)) + 1
        units = int(requirements.units.level.max(initial=0)) + 1
    return RebuildTrial(
        records=np.zeros(capacity, np.int64),
        source=np.zeros(capacity, np.int64),
        target=np.zeros(capacity, np.int64),
        joined=np.zeros(capacity, np.int64),
        dissolved=np.zeros(MOST, np.int64),
        lowest=np.zeros((capacity, d), np.int64),
        highest=np.zeros((capacity, d), np.int64),
        size=np.zeros(capacity, np.int64),
        mass=np.zeros(capacity),
        loss=np.zeros(capacity),
        changed=np.zeros(capacity, np.int64),
        old_lowest=np.zeros((capacity, d), np.int64),
        old_highest=np.zeros((capacity, d), np.int64),
        old_size=np.zeros(capacity, np.int64),
        old_mass=np.zeros(capacity),
        old_loss=np.zeros(capacity),
        seen_levels=np.zeros(levels, np.int64),
        seen_units=np.zeros(units, np.int64),
        members=np.zeros(n if requirements is not None else 0, np.int64),
        random_state=np.random.default_rng(seed).integers(
            2**63, size=1, dtype=np.uint64
        ),
        counts=np.zeros(6, np.int64),
    )
