"""Local suppression if a missing value matches anything: sdcMicro's rule, and hubs.

Written anew from the published description of sdcMicro's `localSuppression` and of its
frequencies; it is none of its code.  Not a benchmark itself.

Two records match if each key is equal in both or missing in one.  A record is safe if k
records match it, itself included.
"""

import numpy as np

MISSING = -1


def count_matches(keys: np.ndarray) -> np.ndarray:
    """Return how many records match each record (n, d), itself included.

    A record without any value counts for itself alone.
    """
    has_value = (keys != MISSING).any(axis=1)
    return (
        np.array(
            [np.sum(_count_differences(row, keys[has_value]) == 0) for row in keys]
        )
        + ~has_value
    )


def _count_differences(row: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Return in how many keys each record differs from a row, (n,)."""
    return ((row != keys) & (row != MISSING) & (keys != MISSING)).sum(axis=1)


def suppress_least_important(
    keys: np.ndarray, k: int, *, ends_at_k: bool
) -> np.ndarray:
    """Return keys (n, d) in which each record is safe, by rounds of suppressions.

    In each round, each record that is not safe loses one value, the rarest matches
    first: that of the least important key in which it differs from its nearest records.
    A key with more values is less important.  With `ends_at_k`, a record that others
    have made safe in the same round keeps its values.
    """
    used = _leave_out_copies(keys, k)
    rows = keys[used].copy()
    order = np.argsort([-len(np.unique(column)) for column in keys.T], kind="stable")
    while (matches := count_matches(rows)).min() < k:
        unsafe = np.flatnonzero(matches < k)
        for i in unsafe[np.argsort(matches[unsafe], kind="stable")]:
            differences = _count_differences(rows[i], rows)
            if ends_at_k and np.sum(differences == 0) >= k:
                continue
            nearest = rows[differences == differences[differences > 0].min()]
            differs = (nearest != rows[i]) & (nearest != MISSING)
            useful = differs.any(axis=0) & (rows[i] != MISSING)
            rows[i, next(a for a in order if useful[a])] = MISSING
    suppressed = keys.copy()
    suppressed[used] = rows
    return suppressed


def _leave_out_copies(keys: np.ndarray, k: int) -> np.ndarray:
    """Return the places of the first k records of each combination."""
    combination = np.unique(keys, axis=0, return_inverse=True)[1].reshape(-1)
    order = np.argsort(combination, kind="stable")
    starts = np.flatnonzero(np.diff(combination[order], prepend=-1))
    rank = np.arange(len(keys)) - np.repeat(starts, np.diff([*starts, len(keys)]))
    return np.sort(order[rank < k])


def make_hubs(keys: np.ndarray, k: int) -> np.ndarray:
    """Return keys (n, d) in which each record is safe, with few suppressed values.

    The key with the fewest values stays.  For each of its values, k - 1 records of
    rare combinations lose all their other keys, and so match all with this value.
    """
    a = int(np.argmin([len(np.unique(column)) for column in keys.T]))
    sizes = count_equal(keys)
    suppressed = keys.copy()
    others = np.arange(keys.shape[1]) != a
    for value in np.unique(keys[:, a]):
        rows = np.flatnonzero(keys[:, a] == value)
        hubs = rows[np.argsort(sizes[rows], kind="stable")][: k - 1]
        suppressed[np.ix_(hubs, others)] = MISSING
    return suppressed


def count_equal(keys: np.ndarray) -> np.ndarray:
    """Return how many records are published with each record's keys and holes."""
    _, of_record, counts = np.unique(
        keys, axis=0, return_inverse=True, return_counts=True
    )
    return counts[of_record.reshape(-1)]
