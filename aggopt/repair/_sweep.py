"""Groups made t-close by strata of several sizes, then improved; the best is kept."""

import numpy as np

from aggopt.arrays import Labels
from aggopt.clock import Clock
from aggopt.partition._close.closeness_first import fitted, least_strata, stratified
from aggopt.privacy._distance import threshold
from aggopt.repair._swap import Annealing, annealed, improved
from aggopt.repair._task import Task

FACTORS = (1.0, 1.25, 1.5, 2.0, 3.0)  # times the least size that will do
ROUNDS = 2  # by which the sizes are compared


def swept(
    task: Task,
    labels: Labels | None,
    annealing: Annealing,
    rng: np.random.Generator,
    clock: Clock,
) -> Labels | None:
    """Return the best labels (n,) found; None if time ended before any.

    `labels` (n,) are t-close, and improved like the others.
    """
    best = labels
    sizes = _sizes(task)
    for step, size in enumerate((None, *sizes)):
        start = labels if size is None else _start(task, size)
        if start is None or (clock.over and best is not None):
            continue
        found = improved(task, start, rng, clock, rounds=ROUNDS)
        best = _better(task, best, found)
        clock.tell(0.5 * (step + 1) / (len(sizes) + 1))
    if best is None:
        return None
    cooled = annealed(task, best, annealing, rng, clock)
    return _better(task, best, improved(task, cooled, rng, clock))


def _sizes(task: Task) -> list[int]:
    n, least = len(task.Z), task.k
    if task.ordered.m > 1:
        least = least_strata(n, task.k, threshold(task.t))
    return sorted({fitted(n, min(n, round(least * f))) for f in FACTORS})


def _start(task: Task, size: int) -> Labels | None:
    """Return groups from strata, None where ties take them beyond t."""
    found = stratified(task.Z, task.ordered.place, size)
    return found if task.holds(found) else None


def _better(task: Task, one: Labels | None, other: Labels) -> Labels:
    if one is None or task.sse(other) < task.sse(one):
        return other
    return one
