"""First groups of a search: cuts at medians (Mondrian), and equal records together."""

from collections.abc import Callable

import numpy as np

from aggopt.core.types import I64
from aggopt.encoding.generalisation import GeneralisedTable

Allowed = Callable[[I64], bool]


def cut_at_medians(table: GeneralisedTable, allowed: Allowed) -> I64:
    """Return groups (n,) that no cut at a median divides into allowed groups.

    The attribute with the largest loss is cut first, between two positions next to the
    median, where both parts together lose less.  Equal records stay together.

    Source: Mondrian, LeFevre, DeWitt and Ramakrishnan, ICDE 2006, strict.
    """
    positions = table.positions
    labels = np.zeros(len(table), np.int64)
    waiting = [np.arange(len(table))]
    groups = 0
    while waiting:
        members = waiting.pop()
        parts = _cut_once(table, positions[members], members, allowed)
        if parts is None:
            labels[members] = groups
            groups += 1
        else:
            waiting += parts
    return labels


def _cut_once(
    table: GeneralisedTable, rows: I64, members: I64, allowed: Allowed
) -> list[I64] | None:
    low, high = rows.min(axis=0), rows.max(axis=0)
    losses = [
        a.weight * float(a.losses(p, q))
        for a, p, q in zip(table.attributes, low, high, strict=True)
    ]
    for j in np.argsort(-np.array(losses), kind="stable"):
        if losses[j] <= 0:
            return None
        values = rows[:, j]
        for below in _list_cuts(table, j, values):
            parts = [members[below], members[~below]]
            if all(map(allowed, parts)):
                return parts
    return None


def _list_cuts(table: GeneralisedTable, j: int, values: I64) -> list[np.ndarray]:
    """Return which values are below the cuts on either side of the median.

    The cut whose parts lose less comes first; of equal ones that which leaves the first
    record in the smaller part, so that the order of positions may be reversed.
    """
    ordered = np.sort(values)
    n = len(ordered)
    middle = {int(ordered[n // 2]), int(ordered[(n - 1) // 2])}
    cuts = [values < v for v in middle] + [values <= v for v in middle]
    attribute = table.attributes[j]

    def rank(below: np.ndarray) -> tuple[float, int, bool]:
        size = int(below.sum())
        loss = sum(
            len(part) * float(attribute.losses(part.min(), part.max()))
            for part in (values[below], values[~below])
        )
        return loss, abs(2 * size - n), bool(below[0] == (2 * size > n))

    proper = [below for below in cuts if 0 < below.sum() < n]
    return sorted(proper, key=rank)


def separate_piles(labels: I64, combination: I64, k: int) -> I64:
    """Return labels (n,) with each pile of k or more equal records as its own group.

    A pile stays in its group if the rest of the group has fewer than k records.
    """
    labels = labels.copy()
    counts = np.bincount(combination)
    sizes = np.bincount(labels)
    order = np.argsort(combination, kind="stable")
    first = np.concatenate([[0], np.cumsum(counts)])
    groups = len(sizes)
    for q in np.flatnonzero(counts >= k):
        pile = order[first[q] : first[q + 1]]
        inside, taken = np.unique(labels[pile], return_counts=True)
        rest = sizes[inside] - taken
        if ((rest == 0) | (rest >= k)).all():
            sizes[inside] = rest
            labels[pile] = groups
            sizes = np.append(sizes, counts[q])
            groups += 1
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)


def split_by_position(table: GeneralisedTable, labels: I64, k: int) -> I64:
    """Return labels (n,) after groups of 2k or more unequal records are split.

    They become groups of k to 2k - 1 records, in the order of their positions, and lose
    no more.  Only for searches without requirements in addition to k.
    """
    sizes = np.bincount(labels)
    is_large = (sizes >= 2 * k) & (table.compute_group_losses(labels) > 0)
    order = np.lexsort((*table.positions.T[::-1], labels))
    starts = np.cumsum(sizes) - sizes
    rank = np.empty(len(labels), np.int64)
    rank[order] = np.arange(len(labels)) - np.repeat(starts, sizes)
    parts = np.where(is_large, sizes // k, 1)
    part = np.minimum(rank // k, parts[labels] - 1) * is_large[labels]
    numbers = np.cumsum(parts) - parts
    return np.asarray(numbers[labels] + part, np.int64)
