"""Groups made t-close by strata of several sizes, then improved; the best is kept."""

from aggopt.core.deadline import Deadline
from aggopt.core.validation import Labels
from aggopt.partition._closeness_first.closeness_first import (
    fitted,
    least_strata,
    stratified,
)
from aggopt.privacy._distance import threshold
from aggopt.repair._improved import improved, stage
from aggopt.repair._task import Task

FACTORS = (1.0, 1.25, 1.5, 2.0, 2.5, 3.0)  # times the least size that will do
TRIAL = 1 / 20  # share of the proposals that compares one size with others
TRIED = 0.35  # share of the time that all these take, about


def swept(
    task: Task, labels: Labels | None, proposals: int, seed: int, clock: Deadline
) -> Labels | None:
    """Return the best labels (n,) found; None if time ended before any.

    `labels` (n,) are t-close, and improved like the others.
    """
    best, trial = labels, round(TRIAL * proposals)
    sizes = _sizes(task)
    for step, size in enumerate((None, *sizes)):
        start = labels if size is None else _start(task, size)
        if start is None or (clock.over and best is not None):
            continue
        begin, end = (TRIED * s / (len(sizes) + 1) for s in (step, step + 1))
        found = improved(task, start, trial, seed, stage(clock, begin, end))
        best = _better(task, best, found)
    if best is None or clock.over:
        return best
    rest = proposals - trial * (len(sizes) + (labels is not None))
    return improved(task, best, max(0, rest), seed, stage(clock, TRIED, 1.0))


def _better(task: Task, one: Labels | None, other: Labels) -> Labels:
    return other if one is None or task.sse(other) < task.sse(one) else one


def _sizes(task: Task) -> list[int]:
    n, least = len(task.Z), task.k
    if task.ordered.m > 1:
        least = least_strata(n, task.k, threshold(task.t))
    return sorted({fitted(n, min(n, round(least * f))) for f in FACTORS})


def _start(task: Task, size: int) -> Labels | None:
    """Return groups from strata, None where ties take them beyond t."""
    found = stratified(task.Z, task.ordered.place, size)
    return found if task.holds(found) else None
