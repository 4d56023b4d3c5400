"""Searches that improve labels, in portions between two checks of the clock.

A `Collection` keeps their distinct groups: columns for an integer program.
"""

from math import isfinite
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from aggopt.core.deadline import Deadline, compile_time
from aggopt.core.types import I64
from aggopt.core.validation import Floats, Labels, renumber_groups
from aggopt.partition._local_search import setup
from aggopt.partition._local_search.setup import has_large_groups
from aggopt.partition._local_search.state import FOUND, Collected, Weights
from aggopt.partition._mdav import split_large
from aggopt.partition.constraints import Promise

PORTION = 0.05  # seconds between two checks of the clock and of Ctrl-C, roughly
COUNT = 64  # in the first portion


class Batch:
    """Batch size that grows or shrinks until a batch takes PORTION seconds."""

    def __init__(self) -> None:
        self.count = COUNT

    def __enter__(self) -> None:
        self._started = compile_time.now()

    def __exit__(self, *_: object) -> None:
        spent = compile_time.now() - self._started
        if spent < PORTION / 2:
            self.count *= 2
        elif spent > 2 * PORTION:
            self.count = max(1, self.count // 2)


class Cooling(NamedTuple):
    """Temperatures at the beginning and at the end of a search."""

    begin: float
    end: float

    def at(self, done: Floats) -> Floats:
        """Return the temperature at each completed share: it falls geometrically."""
        return np.asarray(self.begin * (self.end / self.begin) ** done)


def compute_shares(done: npt.ArrayLike, clock: Deadline) -> Floats:
    """Return completed shares, of work or of the time limit, the larger of both."""
    spent = clock.spent / clock.seconds if clock.seconds else 0.0
    return np.clip(done, spent, 1.0)


# Temperatures at the beginning and at the end, in units of `Search._compute_units`: of
# perturbations and of annealing.
PERTURBATIONS = Cooling(0.3, 0.015)
ANNEALING = Cooling(0.5, 0.05)
COOLED = Cooling(0.1, 0.01)  # of perturbations after annealing
PROMISED = Cooling(0.5, 0.003)  # of annealing under constraints


SLOTS = 1 << 16  # at first


class Collection:
    """Collects the groups of n records that accepted changes made.

    Two groups with equal hashes of 64 bits count as one: among 10^6 groups that happens
    once in 10^7 searches, and a missing column does no harm.
    """

    def __init__(self, n: int) -> None:
        keys = np.random.default_rng(0).integers(1, 2**63, size=n, dtype=np.uint64)
        self.arrays = Collected(
            keys,
            np.zeros(SLOTS, np.uint64),
            np.zeros(SLOTS, np.int64),
            np.zeros(8 * SLOTS, np.int64),
            np.zeros(1, np.int64),
        )

    def __len__(self) -> int:
        """Return the number of groups."""
        return int(self.arrays.counts[FOUND])

    def add(self, labels: Labels) -> None:
        """Add the groups of labels (n,) to the collection."""
        from aggopt.partition._local_search import search_kernels as kernels

        order = np.argsort(labels, kind="stable")
        start = np.concatenate(([0], np.cumsum(np.bincount(labels))))
        while self._is_full(len(start), len(labels)):
            self._grow()
        kernels.add_groups(self.arrays, order.astype(np.int64), start)

    def groups(self) -> tuple[I64, I64]:
        """Return (start, ids): group c has the records ids[start[c] : start[c + 1]].

        The records of a group are in ascending order, the groups in the order of their
        first occurrence.
        """
        count = len(self)
        start = self.arrays.start[: count + 1].copy()
        ids = self.arrays.ids[: start[-1]]
        group = np.repeat(np.arange(count), np.diff(start))
        return start, ids[np.lexsort((ids, group))]

    def reserve(self) -> None:
        """Enlarge the arrays if a quarter of them is used."""
        used = int(self.arrays.start[len(self)])
        while self._is_full(3 * len(self), 3 * used):
            self._grow()

    def _is_full(self, groups: int, members: int) -> bool:
        """Whether these numbers of further groups and members may not fit."""
        a = self.arrays
        return 2 * (len(self) + groups) >= len(a.slots) or a.start[
            len(self)
        ] + members >= len(a.ids)

    def _grow(self) -> None:
        """Double the size of all arrays."""
        from aggopt.partition._local_search import search_kernels as kernels

        old = self.arrays
        count = len(self)
        self.arrays = Collected(
            old.key,
            np.zeros(2 * len(old.slots), np.uint64),
            np.zeros(2 * len(old.start), np.int64),
            np.zeros(2 * len(old.ids), np.int64),
            np.zeros(1, np.int64),
        )
        kernels.add_groups(self.arrays, old.ids, old.start[: count + 1])


def improve_labels(
    Z: Floats,
    labels: Labels,
    k: int,
    near: Labels,
    *,
    perturbations: float,
    seed: int,
    clock: Deadline,
    pool: Collection | None = None,
    order: Labels | None = None,
    promise: Promise | None = None,
    cooling: Cooling | None = None,
    weights: Weights | None = None,
) -> Labels:
    """Return labels (n,) of groups of k or more, with the same or less loss.

    Parameters
    ----------
    Z : (n, d)
        Records, scaled for distances.
    labels : (n,)
        Groups of k records or more.  Without constraints, groups of 2k or more are
        split, and none becomes so large again.
    near : (n, c)
        Records whose groups a record may change with.
    perturbations
        Number per record, after a first descent; inf: until the clock is over.
    seed, clock
        Seed of the perturbations; deadline.  Without a limit the seed determines the
        labels.
    pool
        Collects the groups of the search.
    order : (n,)
        Order in which records are perturbed; 0..n-1 if omitted.
    promise
        Constraints that the given groups satisfy; none if omitted.
    cooling
        Temperatures of perturbations; if omitted, none may increase the loss.
    weights
        Weights of records; none if omitted.
    """
    fit = _split_if_allowed(Z, labels, k, has_large_groups(promise, weights))
    search = Search(Z, fit, k, near, seed, promise, weights)
    turns = np.arange(len(Z)) if order is None else np.asarray(order, np.intp)
    search.descend(turns, clock)
    search.perturb(turns, perturbations, clock, cooling, pool)
    return search.labels


def anneal_labels(
    Z: Floats,
    labels: Labels,
    k: int,
    near: Labels,
    *,
    proposals: float,
    seed: int,
    clock: Deadline,
    promise: Promise | None = None,
    cooling: Cooling | None = None,
    spare: float = 0.0,
    weights: Weights | None = None,
) -> Labels:
    """Return labels (n,) after annealing with `proposals` changes per record.

    They may lose more than the given ones. Groups have k + `spare` records or more on
    average: some are dissolved first, so that others may change their sizes. The other
    arguments are those of `improve_labels`.
    """
    fit = _split_if_allowed(Z, labels, k, has_large_groups(promise, weights))
    search = Search(Z, fit, k, near, seed, promise, weights)
    search.loosen(spare)
    search.anneal(proposals, clock, cooling)
    return renumber_groups(search.groups.label)


def _split_if_allowed(Z: Floats, labels: Labels, k: int, grown: bool) -> Labels:
    """Return labels (n,) with groups of 2k or more split, unless `grown` is set."""
    labels = renumber_groups(labels)
    return labels if grown else split_large(Z, labels, k)


class Search:
    """Groups under change, and the best groups so far."""

    def __init__(
        self,
        Z: Floats,
        labels: Labels,
        k: int,
        near: Labels,
        seed: int,
        promise: Promise | None = None,
        weights: Weights | None = None,
    ) -> None:
        self.space = setup.create_space(Z, near, k, promise, weights)
        self.groups = setup.create_groups(self.space, labels)
        self.trail = setup.create_trail(self.groups, seed)
        self._now = self._lowest = float(self.groups.loss.sum())
        self._best = self.groups.label.copy()
        self._unit = self._compute_units()
        self._cooling = ANNEALING if promise is None else PROMISED

    @property
    def labels(self) -> Labels:
        """The labels of least loss so far, (n,)."""
        return renumber_groups(self._best)

    def descend(self, order: Labels, clock: Deadline) -> None:
        """Make changes that lower the loss until none does, or the time is over."""
        from aggopt.partition._local_search import search_kernels as kernels

        kernels.queue_all(self.trail, order)
        batch = Batch()
        done = False
        while not done and not clock.over:
            with batch:
                done = kernels.descend_without_undo(
                    self.space, self.groups, self.trail, batch.count
                )
        self._now = float(self.groups.loss.sum())
        self._keep_best()

    def perturb(
        self,
        order: Labels,
        perturbations: float,
        clock: Deadline,
        cooling: Cooling | None = None,
        pool: Collection | None = None,
    ) -> None:
        """Perturb the groups near each record, in this order, and descend each time."""
        from aggopt.partition._local_search import search_kernels as kernels

        n = len(order)
        batch = Batch()
        total = round(perturbations * n) if isfinite(perturbations) else perturbations
        done = 0
        while done < total and not clock.over:
            count = int(min(batch.count, total - done, n - done % n))
            turns = np.arange(done, done + count)
            records = order[turns % n]
            worse = np.zeros(count)
            if cooling is not None:
                worse = self._unit[records] * cooling.at(
                    compute_shares(turns / total, clock)
                )
            if pool is not None:
                pool.reserve()
            columns = None if pool is None else pool.arrays
            with batch:
                self._now += kernels.perturb_each(
                    self.space, self.groups, self.trail, records, worse, columns
                )
            done += count
            if done % n == 0 or done >= total or clock.over:
                self._keep_best()  # not after each portion, whose length is random
            clock.report(float(compute_shares(done / total, clock)))

    def loosen(self, spare: float) -> None:
        """Dissolve groups until the average size is k + spare records, if possible.

        This precedes an annealing, which preserves the number of groups.
        """
        from aggopt.partition._local_search import search_kernels as kernels

        max_groups = int(len(self.groups.label) / (self.space.k + spare))
        turns = max(0, int(np.count_nonzero(self.groups.size)) - max_groups)
        if turns:
            kernels.dissolve_random(self.space, self.groups, self.trail, turns)

    def anneal(
        self, proposals: float, clock: Deadline, cooling: Cooling | None = None
    ) -> None:
        """Anneal the groups with `proposals` random changes per record."""
        from aggopt.partition._local_search import search_kernels as kernels

        n = len(self._unit)
        steps = int(proposals * n) // kernels.STEP + 1
        done = 0
        batch = Batch()
        while done < steps and not clock.over:
            turns = np.arange(done, min(done + batch.count, steps))
            temperature = (cooling or self._cooling).at(
                compute_shares(turns / steps, clock)
            )
            with batch:
                self._now += kernels.anneal(
                    self.space, self.groups, self.trail, temperature, self._unit, done
                )
            done += len(turns)
            clock.report(float(compute_shares(done / steps, clock)))
        self._now = float(self.groups.loss.sum())
        self._keep_best()

    def _compute_units(self) -> Floats:
        """Return the squared distance that equals temperature 1, for each record (n,).

        It is half that of a record's nearest neighbours, times its weight. Under
        constraints, which may keep neighbours apart, it is the average loss of a
        record.
        """
        from aggopt.partition._local_search import search_kernels as kernels

        n = len(self.space.Z)
        if self.space.promise is not None:
            return np.full(n, self._now / n)
        units = np.empty(n)
        nearest = min(kernels.NEAREST, self.space.near.shape[1])
        kernels.measure_spacing(self.space, np.empty(nearest), units)
        weights = self.space.weights
        return units if weights is None else units * weights.values

    def _keep_best(self) -> None:
        """Store the present labels if their loss is the least so far."""
        if self._now < self._lowest:
            self._lowest = self._now
            np.copyto(self._best, self.groups.label)
