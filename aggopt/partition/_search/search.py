"""Searches from labels to better labels, in portions between looks at the clock."""

import time
from typing import Any

import numpy as np

from aggopt.arrays import Floats, Labels
from aggopt.clock import Clock
from aggopt.partition._search import state
from aggopt.partition._search.collection import Collection, nothing
from aggopt.partition._search.split import numbered, split
from aggopt.partition._search.state import NoPromise

PORTION = 0.05  # seconds between two looks at the clock and at Ctrl-C, about


def searched(
    Z: Floats,
    labels: Labels,
    k: int,
    near: Labels,
    *,
    kicks: float,
    seed: int,
    clock: Clock,
    pool: Collection | None = None,
    order: Labels | None = None,
    promise: Any = None,
) -> Labels:
    """Return labels (n,) that lose no more than those given, sizes k to 2k - 1.

    Parameters
    ----------
    Z : (n, d)
        Records, as distances are to see them.
    labels : (n,)
        Groups of k records or more; those of 2k or more are split first.
    near : (n, c)
        Records whose groups a record may change with.
    kicks
        How many per record, after a first descent; inf: until the clock is over.
    seed, clock
        Of the kicks; of the end.  Without a limit the seed decides the labels.
    pool
        Collects the groups that are met.
    order : (n,)
        In which the records are kicked; 0..n-1 if omitted.
    promise
        What groups keep beside (`promise_kernels`); nothing if omitted.
    """
    from aggopt.partition._search import sweep_kernels

    space = state.space(Z, near, k, NoPromise() if promise is None else promise)
    groups = state.groups(space, split(Z, labels, k))
    trail = state.trail(groups, seed)
    turns = np.arange(len(Z)) if order is None else np.asarray(order, np.intp)
    sweep_kernels.queue_all(trail, turns)
    pace = _Pace()
    while not clock.over:
        with pace:
            done = sweep_kernels.descend_part(space, groups, trail, pace.count)
        if done:
            break
    if kicks and not clock.over:
        _kick(space, groups, trail, turns, kicks, clock, pool)
    return numbered(groups.label)


class _Pace:
    """How much to do in a portion of time."""

    def __init__(self) -> None:
        self.count = 64

    def __enter__(self) -> None:
        self._started = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        spent = time.perf_counter() - self._started
        if spent < PORTION / 2:
            self.count *= 2
        elif spent > 2 * PORTION:
            self.count = max(1, self.count // 2)


def _kick(
    space: state.Space,
    groups: state.Groups,
    trail: state.Trail,
    turns: Labels,
    kicks: float,
    clock: Clock,
    pool: Collection | None,
) -> None:
    from aggopt.partition._search import sweep_kernels

    n = len(turns)
    total = kicks * n
    done, pace = 0, _Pace()
    while done < total and not clock.over:
        count = int(min(pace.count, total - done))
        records = turns[np.arange(done, done + count) % n]
        if pool is not None:
            pool.make_room()
        with pace:
            sweep_kernels.sweep(
                space,
                groups,
                trail,
                records,
                np.zeros(count),
                nothing() if pool is None else pool.arrays,
            )
        done += count
        clock.tell(_share(done / total, clock))


def _share(done: float, clock: Clock) -> float:
    return max(done, clock.spent / clock.seconds) if clock.seconds else done


def annealed(
    Z: Floats,
    labels: Labels,
    k: int,
    near: Labels,
    *,
    proposals: float,
    seed: int,
    clock: Clock,
    promise: Any = None,
) -> Labels:
    """Return labels (n,) after so many random changes per record under falling heat.

    They may lose more than those given; the other arguments are those of `searched`.
    """
    from aggopt.partition._search import anneal_kernels, sweep_kernels

    space = state.space(Z, near, k, NoPromise() if promise is None else promise)
    groups = state.groups(space, split(Z, labels, k))
    trail = state.trail(groups, seed)
    spacing = sweep_kernels.spacing(space)
    total, done, pace = int(proposals * len(Z)), 0, _Pace()
    pace.count = 4096
    while done < total and not clock.over:
        count = min(pace.count, total - done)
        heat = _between(done / total), _between((done + count) / total)
        with pace:
            anneal_kernels.anneal(space, groups, trail, count, heat, spacing)
        done += count
        clock.tell(done / total)
    return numbered(groups.label)


HOT, COLD = 0.5, 0.02  # of half the squared distance of near neighbours


def _between(share: float) -> float:
    return float(HOT * (COLD / HOT) ** share)
