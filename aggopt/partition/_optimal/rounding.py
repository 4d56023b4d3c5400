"""Randomised rounding of the master's solution, improved by local search."""

import numpy as np

from aggopt.core.deadline import Deadline
from aggopt.core.validation import Floats, Labels
from aggopt.partition._mdav import mdav_labels
from aggopt.partition._optimal.column_generation import ColumnGeneration
from aggopt.partition._optimal.columns import group_columns, number_groups
from aggopt.partition._optimal.initial_columns import Searches, continue_search

LEAST_SHARE = 0.05  # shares below are not drawn
EXTRA_SHARE = 0.3  # added to a share: the probability of being drawn
ROUNDING_PERTURBATIONS = 20  # per record


def try_roundings(
    generation: ColumnGeneration, searches: Searches, trials: int, within: Deadline
) -> bool:
    """Try `trials` roundings; return whether the incumbent improved."""
    better = False
    for _ in range(trials):
        if within.over:
            break
        better |= continue_search(
            generation,
            searches,
            _round_solution(generation, searches),
            ROUNDING_PERTURBATIONS,
            within,
        )
    return better


def _round_solution(generation: ColumnGeneration, searches: Searches) -> Labels:
    """Return labels: groups drawn by their share, and MDAV among the other records."""
    solved = generation.solved
    n = generation.master.n
    k = generation.best.k
    labels = np.full(n, -1, np.intp)
    if solved is not None:
        _draw(generation, searches, solved.share, labels)
    left = np.flatnonzero(labels < 0)
    while 0 < len(left) < k:
        distances = generation.pricer.apart[left[0]]
        nearest = np.where(labels < 0, np.inf, distances).argmin()
        labels[labels == labels[nearest]] = -1
        left = np.flatnonzero(labels < 0)
    if len(left):
        labels[left] = labels.max() + 1 + mdav_labels(generation.best.Z[left], k)
    return number_groups(group_columns(np.unique(labels, return_inverse=True)[1], k), n)


def _draw(
    generation: ColumnGeneration, searches: Searches, share: Floats, labels: Labels
) -> None:
    candidates = np.flatnonzero(share > LEAST_SHARE)
    rng = searches.rng
    order = np.argsort(-share[candidates] * rng.uniform(0.6, 1.4, len(candidates)))
    is_drawn = rng.random(len(candidates)) < share[candidates] + EXTRA_SHARE
    group = 0
    for q in candidates[order][is_drawn[order]]:
        size = generation.pool.all.sizes[q]
        records = generation.pool.all.members[q, :size]
        if (labels[records] < 0).all():
            labels[records] = group
            group += 1
