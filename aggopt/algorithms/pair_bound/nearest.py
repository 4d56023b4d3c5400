"""Nearest records, and the neighbour bound: the pair program without steps and cuts.

With weights, w_i sum_j w_j |x_i - x_j|^2 / 2W is what record i adds to the loss of its
group of weight W.  It is minimised over all choices of the others, k - 1 to 2k - 2:
larger groups can be split.
"""

from collections.abc import Callable, Iterator
from math import fsum, inf
from typing import NamedTuple

import numpy as np

from aggopt.algorithms.pair_bound.box_kernels import (
    LEAF,
    Boxes,
    build_box_tree,
    find_nearest,
    make_waiting,
)
from aggopt.core.memory import find_available_memory
from aggopt.core.parallel import ThreadPool, ignore_progress
from aggopt.core.types import I32
from aggopt.core.validation import Floats, Labels

LISTED = (
    20  # nearest others in a list, of up to FEW records; k + MORE if these are more
)
FEW = 5000
MORE = 5
LIST_BYTES = 250  # of memory for each entry of a list, pairs and cuts included
SMALL = 2**26  # bytes of lists that always fit
MANY = 20_000  # records from which on several threads search
PORTION = 2e7  # entries between two moments at which Ctrl-C is raised
VECTOR = 8  # distances that are computed in the time of one entry
CANDIDATES = 64  # others that are compared with a record of a weight, or 4 k if more
ROUNDS = 30  # of Dinkelbach's method, which needs some five
NEIGHBOUR_ROUNDING = 1e-12  # share of the neighbour bound that rounding may have added
MET = 1e-14  # share of a ratio by which it may still fall


class Nearest(NamedTuple):
    """Nearest records, and the neighbour bound.

    Attributes
    ----------
    order : (n,)
        The records in the order of the boxes.
    boxes
        The tree that finds them.
    near, distances : (n, count)
        The nearest others of each record, nearest first, and squared distances.
    bound
        The neighbour bound; what is proven of it after Ctrl-C.
    work
        Distances that were computed, as entries.
    is_cut, interrupted
        Whether the lists are shorter than usual, because memory is short; and whether
        Ctrl-C ended the search.
    """

    order: Labels
    boxes: Boxes
    near: I32
    distances: Floats
    bound: float
    work: float
    is_cut: bool
    interrupted: bool

    @property
    def is_listed(self) -> bool:
        """Whether the nearest are listed, as budget and memory sufficed for them."""
        return len(self.near[0]) > 0


class _Candidates(NamedTuple):
    """Some records: their weights (c,); distances (c, q) and weights of others."""

    own_weights: Floats
    apart: Floats
    weights: Floats


def search_nearest(
    records: Floats,
    k: int,
    *,
    weights: Floats | None = None,
    budget: float = inf,
    memory: int | None = None,
    jobs: int | None = None,
    progress: Callable[[float], None] = ignore_progress,
) -> Nearest:
    """Return the nearest records of each record, and the neighbour bound.

    Parameters
    ----------
    records : (n, d)
        n of 2k or more, k of 2 or more.
    weights : (n,)
        Sampling weights, of mean 1.
    budget
        Work that lists may take: beyond it there are none, only the bound.
    memory
        Bytes that lists may take; the free memory when omitted.
    jobs
        Number of threads among MANY records or more.
    progress
        Receives the share of the budget that is spent.
    """
    order, boxes = build_box_tree(records)
    ordered_weights = None if weights is None else weights[order]
    usual = choose_length(len(records), k, is_weighted=weights is not None)
    count = _cut_length(len(records), usual, memory) if budget > 0 else usual
    search = _NearestSearch(boxes, k, ordered_weights, jobs)
    length = count if budget > 0 and count >= k else 0
    near, distances, interrupted = search.fill(length, budget, progress)
    return Nearest(
        order,
        boxes,
        near,
        distances,
        fsum(search.shares) / 2,
        measure_work(boxes, search.compared),
        count < usual,
        interrupted,
    )


def choose_length(n: int, k: int, *, is_weighted: bool) -> int:
    """Return how many of the nearest records a list usually has."""
    count = (2 * k if is_weighted else k) + MORE
    return min(max(LISTED if n <= FEW else 0, count), n - 1)


def _cut_length(n: int, usual: int, memory: int | None) -> int:
    """Return the usual length of lists, or a smaller one if memory is short."""
    if memory is None:
        if usual * n * LIST_BYTES < SMALL:
            return usual
        memory = find_available_memory() // 2
    return min(usual, memory // (LIST_BYTES * n))


class _NearestSearch:
    """A search among boxes: what records add to the bound, and leaves compared."""

    def __init__(
        self, boxes: Boxes, k: int, weights: Floats | None, jobs: int | None
    ) -> None:
        self.boxes = boxes
        self.k = k
        self.weights = weights
        self.jobs = jobs if len(boxes.records) >= MANY else 1
        self.shares: list[float] = []
        self.compared = 0
        self.lightest = None if weights is None else np.sort(weights)[: 2 * k - 2]

    def fill(
        self, count: int, budget: float, progress: Callable[[float], None]
    ) -> tuple[I32, Floats, bool]:
        """Return lists of `count` nearest, their distances, and whether Ctrl-C came.

        The lists are empty after Ctrl-C, and if they would take more than a budget.
        """
        n = len(self.boxes.records)
        near, distances = np.empty((n, count), np.int32), np.empty((n, count))
        none = near[:, :0], distances[:, :0]

        def search(part: tuple[int, int]) -> None:
            self._search_leaves(part, near, distances)

        parts = [*iterate_leaves(self.boxes)]
        try:
            search(parts[0])
            expected = measure_work(self.boxes, self.compared) * len(parts)
            if count and expected > budget:
                self.shares, self.compared = [], 0
                return self.fill(0, budget, progress)
            share = expected / budget if budget else 0.0
            self._search_others(search, parts[1:], share, progress)
        except KeyboardInterrupt:
            return *none, True
        return near, distances, False

    def _search_others(
        self,
        search: Callable[[tuple[int, int]], None],
        parts: list[tuple[int, int]],
        share: float,
        progress: Callable[[float], None],
    ) -> None:
        """Search all parts, in threads if records are many."""

        def report(done: float) -> None:
            progress(min(1.0, done * share))

        report(0.0)
        if self.jobs == 1:
            for number, part in enumerate(parts, 1):
                search(part)
                report(number / len(parts))
        else:
            with ThreadPool(self.jobs) as threads:
                threads.map(search, parts, report)

    def _search_leaves(
        self, part: tuple[int, int], near: I32, distances: Floats
    ) -> None:
        """Fill in the lists of the records in some leaves, and sum their shares."""
        boxes, k, weights = self.boxes, self.k, self.weights
        n, count = near.shape
        needed = k - 1 if weights is None else max(CANDIDATES, 4 * k)
        wide = min(max(count, needed), n - 1)
        rows = slice(part[0] * LEAF, min(part[1] * LEAF, n))
        some = np.empty((rows.stop - rows.start, wide), np.int32)
        apart = np.full(some.shape, inf)
        compared = find_nearest(boxes, *part, some, apart, make_waiting())
        near[rows], distances[rows] = some[:, :count], apart[:, :count]
        if weights is None or self.lightest is None:
            share = float(apart[:, : k - 1].sum()) / k
        else:
            candidates = _Candidates(weights[rows], apart, weights[some])
            if wide < n - 1:
                candidates = _add_others(candidates, self.lightest)
            ratios = _minimise_ratio(candidates, k, float(self.lightest[: k - 1].sum()))
            share = fsum(weights[rows] * ratios)
        self.shares.append(share)
        self.compared += compared


def iterate_leaves(boxes: Boxes) -> Iterator[tuple[int, int]]:
    """Yield ranges of leaves that take a moment each."""
    leaves = len(boxes.node)
    step = max(1, int(PORTION / boxes.records.size))
    for start in range(0, leaves, step):
        yield start, min(start + step, leaves)


def measure_work(boxes: Boxes, compared: int) -> float:
    """Return the work of comparing the records of `compared` pairs of leaves."""
    entries: int = compared * LEAF**2 * boxes.records.shape[1]
    return entries / VECTOR


def _add_others(candidates: _Candidates, lightest: Floats) -> _Candidates:
    """Return the candidates, and others that represent all that are not listed.

    These are as many as a group may have, as far away as the last of the nearest, with
    the smallest weights of all records.
    """
    shape = len(candidates.apart), len(lightest)
    last = np.broadcast_to(candidates.apart[:, -1:], shape)
    return _Candidates(
        candidates.own_weights,
        np.hstack([candidates.apart, last]),
        np.hstack([candidates.weights, np.broadcast_to(lightest, shape)]),
    )


def _minimise_ratio(candidates: _Candidates, k: int, lightest: float) -> Floats:
    """Return a lower bound on each record's share of its group's loss, any group.

    Dinkelbach's method: at a ratio t the others with the least w (d - t) are chosen. If
    they add up to own t less some s >= 0, no choice is below t - s / (own + lightest),
    `lightest` being the least weight that k - 1 others have.
    """
    own_weights = candidates.own_weights
    max_others = min(2 * k - 2, candidates.apart.shape[1])
    nearest = np.argpartition(candidates.apart, k - 2, axis=1)[:, : k - 1]
    ratio = _compute_ratio(candidates, nearest, np.ones(nearest.shape))
    for _ in range(ROUNDS):
        value = candidates.weights * (candidates.apart - ratio[:, None])
        best = np.argpartition(value, max_others - 1, axis=1)[:, :max_others]
        value = np.take_along_axis(value, best, axis=1)
        order = value.argsort(axis=1)
        value = np.take_along_axis(value, order, axis=1)
        best = np.take_along_axis(best, order, axis=1)
        taken = (np.arange(max_others) < k - 1) | (value < 0)
        shortfall = np.minimum(
            np.where(taken, value, 0.0).sum(axis=1) - own_weights * ratio, 0.0
        )
        lower_bound = ratio + shortfall / (own_weights + lightest)
        if (ratio - lower_bound <= MET * ratio).all():
            break
        ratio = np.minimum(
            _compute_ratio(candidates, best, taken.astype(np.float64)), ratio
        )
    return np.asarray(np.maximum(lower_bound, 0.0))


def _compute_ratio(candidates: _Candidates, selected: Labels, taken: Floats) -> Floats:
    """Return each record's share of the loss, for selected other members (c, r)."""
    weights = taken * np.take_along_axis(candidates.weights, selected, axis=1)
    distances = np.take_along_axis(candidates.apart, selected, axis=1)
    return np.asarray(
        (weights * distances).sum(axis=1)
        / (candidates.own_weights + weights.sum(axis=1))
    )
