"""Local search: swaps and moves of records between groups that stay t-close."""

from dataclasses import dataclass

import numpy as np

from aggopt.arrays import Floats, Labels
from aggopt.clock import Clock
from aggopt.repair import _swap_kernels as kernels
from aggopt.repair._group_kernels import Groups, Table
from aggopt.repair._task import Task, group_sums

ALL = 3000  # records up to which each may change with any
NEAR = 24  # groups that a record of a larger table may change with, the nearest
PARTS = 2000  # records between two looks at the clock


@dataclass(frozen=True)
class Annealing:
    """How many random proposals, and from which heat to which, in squared z-scores."""

    proposals: int
    hot: float = 0.2
    cold: float = 0.001


def table(task: Task) -> Table:
    """Return what the kernels read."""
    o = task.ordered
    return Table(task.Z, o.place, o.sums, o.first, task.limits, task.k)


def groups(task: Task, labels: Labels) -> Groups:
    """Return labels (n,) as the kernels change them, with room to grow."""
    size = np.bincount(labels).astype(np.int64)
    start = np.concatenate(([0], np.cumsum(2 * size + 8)))
    order = np.lexsort((task.ordered.place, labels))
    within = np.arange(len(labels)) - np.repeat(np.cumsum(size) - size, size)
    where = np.repeat(start[:-1], size) + within
    who, at = np.zeros(start[-1], np.int64), np.zeros(start[-1], np.int64)
    who[where], at[where] = order, task.ordered.place[order]
    total = group_sums(task.Z, labels)
    num = task.ordered.numerators(labels)
    return Groups(labels.astype(np.intp), size, start, who, at, total, num)


def improved(
    task: Task,
    labels: Labels,
    rng: np.random.Generator,
    clock: Clock,
    *,
    rounds: int = 1000,
) -> Labels:
    """Return t-close labels (n,) that no swap or move improves, or where time ended.

    Every change is the first found that lowers SSE; records take turns at random, each
    one turn a round.
    """
    fixed, n = table(task), len(labels)
    for _ in range(rounds):
        if clock.over:
            break
        state = groups(task, labels)
        near = _near(task, state)
        turns = rng.permutation(n)
        done = 0
        for part in np.array_split(turns, 1 + n // PARTS):
            done += 0 if clock.over else kernels.improve(fixed, state, part, near)
        labels = state.label
        if not done:
            break
    return labels


def _near(task: Task, state: Groups) -> Labels:
    if len(task.Z) <= ALL or len(state.size) <= NEAR:
        return np.empty((len(task.Z), 0), np.intp)
    from scipy.spatial import cKDTree

    means = cKDTree(state.total / state.size[:, None])
    return np.asarray(means.query(task.Z, NEAR)[1], np.intp)


def annealed(
    task: Task, labels: Labels, how: Annealing, rng: np.random.Generator, clock: Clock
) -> Labels:
    """Return t-close labels (n,) after random swaps and moves under falling heat."""
    fixed, state, n = table(task), groups(task, labels), len(labels)
    best, lowest, now, done = labels, 0.0, 0.0, 0
    while done < how.proposals and not clock.over:
        count = min(100_000, how.proposals - done)
        drawn = _drawn(rng, n, count)
        share = (done + np.arange(count)) / how.proposals
        heat = how.hot * (how.cold / how.hot) ** share
        now += kernels.anneal(fixed, state, drawn, heat)
        done += count
        if now < lowest:
            best, lowest = state.label.copy(), now
    return best


def _drawn(
    rng: np.random.Generator, n: int, count: int
) -> tuple[Labels, Labels, Floats, Floats]:
    one, other = rng.integers(n, size=(2, count)).astype(np.intp)
    kind, luck = rng.random((2, count))
    return one, other, kind, luck
