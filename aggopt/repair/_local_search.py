"""Local search of `aggopt.partition` under t, as a step of repairs."""

from functools import partial

import numpy as np

from aggopt.core.deadline import Deadline
from aggopt.core.types import Labels
from aggopt.partition._closeness_first import (
    compute_stratum_count,
    fit_count,
    partition_by_strata,
)
from aggopt.partition._local_search.search import Search
from aggopt.privacy.distance import read_threshold
from aggopt.repair._problem import Problem


def search_locally(
    problem: Problem, labels: Labels, proposals: float, seed: int, clock: Deadline
) -> Labels:
    """Return t-close labels (n,) of the same or less loss, by local search.

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
    """Return a deadline for a stage of the work, between two completed shares.

    Its time is its share of the remaining time.
    """
    seconds = None
    if clock.seconds is not None:
        seconds = max(0.0, clock.left) * (end - begin) / (1.0 - begin)
    return Deadline(seconds, partial(_report_stage, clock, begin, end))


def _report_stage(clock: Deadline, begin: float, end: float, share: float) -> None:
    """Report progress `share` of a stage that takes the range from begin to end."""
    clock.report(begin + share * (end - begin))


FACTORS = (1.0, 1.25, 1.5, 2.0, 2.5, 3.0)  # multiples of the least sufficient size
TRIAL_SHARE = 1 / 20  # share of the proposals for the trial of one size
TRIED = 0.35  # share of the time for all trials, roughly


def search_from_strata(
    problem: Problem, labels: Labels | None, proposals: int, seed: int, clock: Deadline
) -> Labels | None:
    """Return the best labels (n,) of local searches from groups of strata, or None.

    `labels` (n,) are t-close, and are searched like the others.
    """
    best = labels
    trial = round(TRIAL_SHARE * proposals)
    sizes = _list_sizes(problem)
    for step, size in enumerate((None, *sizes)):
        if clock.over and best is not None:
            break
        start = labels if size is None else _make_start(problem, size)
        if start is None:
            continue
        begin, end = (TRIED * s / (len(sizes) + 1) for s in (step, step + 1))
        searched_labels = search_locally(
            problem, start, trial, seed, make_stage(clock, begin, end)
        )
        best = _select_better(problem, best, searched_labels)
    if best is None or clock.over:
        return best
    rest = proposals - trial * (len(sizes) + (labels is not None))
    return search_locally(
        problem, best, max(0, rest), seed, make_stage(clock, TRIED, 1.0)
    )


def _select_better(problem: Problem, one: Labels | None, other: Labels) -> Labels:
    """Return the labels (n,) of less SSE, `other` if `one` is None."""
    return other if one is None or problem.sse(other) < problem.sse(one) else one


def _list_sizes(problem: Problem) -> list[int]:
    """Return group sizes to try, multiples of the least that makes groups t-close."""
    n = len(problem.Z)
    smallest = problem.k
    if problem.ordered.m > 1:
        smallest = compute_stratum_count(n, problem.k, read_threshold(problem.t))
    return sorted({fit_count(n, min(n, round(smallest * f))) for f in FACTORS})


def _make_start(problem: Problem, size: int) -> Labels | None:
    """Return labels (n,) of groups from strata of `size`; None if they miss t."""
    labels = partition_by_strata(problem.Z, problem.ordered.place, size)
    return labels if problem.holds(labels) else None
