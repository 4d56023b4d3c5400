"""Local search of `aggopt.partition` under t, as a step of repairs."""

from functools import partial

import numpy as np

from aggopt.core.deadline import Deadline
from aggopt.core.validation import Labels
from aggopt.partition._local_search.search import Search
from aggopt.repair._problem import Problem


def search_locally(
    problem: Problem, labels: Labels, proposals: float, seed: int, clock: Deadline
) -> Labels:
    """Return t-close labels (n,) that lose no more than the given t-close ones.

    After `proposals` random swaps and moves at falling temperatures, records swap and
    move, in random order, as long as that loses less.
    """
    if not labels.any() or clock.over:
        return labels
    n = len(labels)
    search = Search(problem.Z, labels, problem.k, problem.near, seed, problem.promise)
    if proposals:
        search.anneal(proposals / n, clock)
    search.descend(np.random.default_rng(seed).permutation(n), clock)
    return search.labels if problem.sse(search.labels) < problem.sse(labels) else labels


def make_stage(clock: Deadline, begin: float, end: float) -> Deadline:
    """Return the clock of a stage, from one completed share to another.

    Its time is its share of the remaining time.
    """
    seconds = None
    if clock.seconds is not None:
        seconds = max(0.0, clock.left) * (end - begin) / (1.0 - begin)
    return Deadline(seconds, partial(_report_stage, clock, begin, end))


def _report_stage(clock: Deadline, begin: float, end: float, share: float) -> None:
    clock.report(begin + share * (end - begin))
