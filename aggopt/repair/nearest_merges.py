"""Fewest merges of groups with near groups that keep a limit of a whole release."""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from aggopt.core.record_weights import compute_plain_group_means
from aggopt.core.types import F64, I64, Labels
from aggopt.partition.shared.scaling import scale_with_weights
from aggopt.privacy.requirement import Requirement
from aggopt.repair.merge_until_satisfied import find_nearest_groups, measure_shortfalls

SHARE = 0.05  # share of the groups that a round merges, at most

Merge = tuple[int, int]


def list_merges(
    X: npt.ArrayLike,
    labels: Labels,
    requirements: Sequence[Requirement],
    weights: F64 | None = None,
) -> list[Merge]:
    """Return merges of groups, the cheapest first, until none is possible.

    The cost of a merge is the rise of the sum of squares within groups (Ward).  Each
    round lists the unions of each group with near groups that satisfy all requirements,
    and makes the cheapest of them, for at most `SHARE` of the groups.  A merge (a, b)
    gives the records of group b to group a.

    Parameters
    ----------
    X : (n, d)
        Quasi-identifiers; distances are between z-scores, or encoded coordinates.
    labels : (n,)
        Groups, 0..m-1.
    weights : (n,)
        Sampling weights: z-scores, centroids and costs are weighted.

    Time O(m log m) a round, with a check of requirements for each union; some
    20 log m rounds.
    """
    Z, weighing = scale_with_weights(X, "z", weights)
    masses = np.ones(len(Z)) if weighing.values is None else weighing.values
    merged = labels.copy()
    merges: list[Merge] = []
    while True:
        names, dense = np.unique(merged, return_inverse=True)
        pairs = _choose_round(
            compute_plain_group_means(Z, dense, weighing.values),
            np.bincount(dense, masses).astype(np.float64),
            dense,
            requirements,
        )
        if not pairs:
            return merges
        chosen = [(int(names[a]), int(names[b])) for a, b in pairs]
        merges += chosen
        merged = apply_merges(merged, chosen)


def _choose_round(
    centroids: F64, masses: F64, labels: Labels, requirements: Sequence[Requirement]
) -> list[Merge]:
    """Return the cheapest allowed merges of one round, each group in one at most."""
    m = len(centroids)
    if m == 1:
        return []
    near = find_nearest_groups(centroids, np.arange(m))
    first = np.repeat(np.arange(m), [len(near[group]) for group in range(m)])
    second = np.concatenate([near[group] for group in range(m)])
    costs = _compute_costs(centroids, masses, first, second)
    if requirements:
        short = measure_shortfalls(labels, near, requirements)
        costs[np.concatenate([short[group] for group in range(m)]) > 0] = np.inf
    max_merges = max(1, int(SHARE * m))
    taken: set[int] = set()
    merges: list[Merge] = []
    for place in np.argsort(costs, kind="stable"):
        a, b = sorted((int(first[place]), int(second[place])))
        if not np.isfinite(costs[place]) or len(merges) == max_merges:
            break
        if not taken & {a, b}:
            taken |= {a, b}
            merges.append((a, b))
    return merges


def _compute_costs(centroids: F64, masses: F64, first: I64, second: I64) -> F64:
    """Return the rise of the sum of squares by each merge of two groups."""
    one, other = masses[first], masses[second]
    squares = ((centroids[first] - centroids[second]) ** 2).sum(axis=1)
    return np.asarray(one * other / (one + other) * squares)


def apply_merges(labels: Labels, merges: Sequence[Merge]) -> Labels:
    """Return labels (n,) after merges in this order; numbers may have gaps.

    >>> apply_merges(np.array([0, 1, 2, 2]), [(1, 2), (0, 1)])
    array([0, 0, 0, 0])
    """
    name = np.arange(int(labels.max()) + 1)
    for a, b in reversed(merges):
        name[b] = name[a]
    return np.asarray(name[labels])


def merge_as_needed(
    labels: Labels, merges: Sequence[Merge], is_kept: Callable[[Labels], bool]
) -> Labels | None:
    """Return labels (n,) after the fewest merges that keep a limit; None if none does.

    The number of groups is halved until they keep the limit, then bisected, as if more
    merges never broke a limit that fewer keep.  `is_kept` decides about labels 0..m-1,
    and has accepted the result.
    """

    def merge_first(count: int) -> Labels:
        merged = apply_merges(labels, merges[:count])
        return np.unique(merged, return_inverse=True)[1].astype(np.intp)

    if is_kept(labels):
        return labels
    groups = int(labels.max()) + 1
    fewest = groups - len(merges)
    low, left = 0, groups
    best = None
    while best is None:
        if left == fewest:
            return None
        left = max(fewest, left // 2)
        tried = merge_first(groups - left)
        if is_kept(tried):
            best = tried
        else:
            low = groups - left
    high = groups - left
    while high - low > 1:
        middle = (low + high) // 2
        tried = merge_first(middle)
        if is_kept(tried):
            high, best = middle, tried
        else:
            low = middle
    return best
