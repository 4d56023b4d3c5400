"""Slow, obvious implementations that the fast ones are held against."""

import numpy as np

# --- partition: the plain MDAV, used by the published figures of tests/measure ---


def mdav(Z: np.ndarray, k: int) -> np.ndarray:
    """Return labels (n,) of fixed-size MDAV on z-scores Z (n, d), which it takes as is.

    While 3k records are left: the k nearest to the record farthest from the centroid,
    then the k nearest to the record farthest from that one.  One more group if 2k are
    left, and the rest is the last.  Of equals, the smallest index.
    """
    labels = np.full(len(Z), -1)

    def left() -> np.ndarray:
        return np.flatnonzero(labels < 0)

    def squares(to: np.ndarray) -> np.ndarray:
        return ((Z[left()] - to) ** 2).sum(axis=1)

    def farthest(to: np.ndarray) -> np.ndarray:
        return Z[left()[np.argmax(squares(to))]]

    def take(r: np.ndarray, count: int) -> None:
        nearest = left()[np.argsort(squares(r), kind="stable")[:count]]
        labels[nearest] = labels.max() + 1

    while len(left()) >= 3 * k:
        r = farthest(Z[left()].mean(axis=0))
        s = farthest(r)
        take(r, k)
        take(s, k)
    if len(left()) >= 2 * k:
        take(farthest(Z[left()].mean(axis=0)), k)
    if len(left()):
        take(Z[left()[0]], len(left()))
    return labels
