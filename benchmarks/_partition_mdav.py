"""Seconds of MDAV through a tree against two plain ones, in one run.

The plain scans are this package's own, which read attribute by attribute and many
records side by side.  The textbook way goes from record to record, measures it, and
keeps the best: what one writes down first.
"""

import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numba
import numpy as np

from aggopt.core.standardise import Scale
from aggopt.core.validation import Floats, Labels
from aggopt.partition import _unassigned_pool as by_tree
from aggopt.partition import mdav

CLUSTERS, D = 10, 10
SETTINGS = (10_000, 3), (100_000, 3), (100_000, 5), (100_000, 10)
NEVER = 10**12  # turns that a tree must be worth


class Row(NamedTuple):
    """One setting: seconds of each way, and whether the labels agree."""

    n: int
    k: int
    seconds: float
    plain: float
    textbook: float
    same: bool

    @property
    def ratio(self) -> float:
        """How many times as long plain scans take."""
        return self.plain / self.seconds

    @property
    def textbook_ratio(self) -> float:
        """How many times as long the textbook way takes."""
        return self.textbook / self.seconds


def clustered(n: int, d: int = D, seed: int = 0) -> Floats:
    """Return records (n, d) of normal clusters, each with axes of its own."""
    rng = np.random.default_rng(seed)
    middles = 3 * rng.normal(size=(CLUSTERS, d))
    axes = [
        np.linalg.qr(rng.normal(size=(d, d)))[0] * rng.uniform(0.4, 1.6, d)
        for _ in range(CLUSTERS)
    ]
    cluster = rng.integers(0, CLUSTERS, n)
    X = np.empty((n, d))
    for c in range(CLUSTERS):
        inside = cluster == c
        X[inside] = middles[c] + rng.normal(size=(inside.sum(), d)) @ axes[c].T
    return X


def by_plain_scans(X: Floats, k: int) -> Labels:
    """Return the labels of `mdav` without a tree."""
    turns, by_tree.TURNS = by_tree.TURNS, NEVER
    try:
        return mdav(X, k)
    finally:
        by_tree.TURNS = turns


def by_the_textbook(X: Floats, k: int) -> Labels:
    """Return the labels of MDAV (3k), found record by record."""
    return _textbook(Scale.of(X).standardise(X), k)


@numba.njit(error_model="numpy")
def _textbook(Z: Floats, k: int) -> Labels:
    labels = np.full(len(Z), -1)
    left, group = np.arange(len(Z)), 0
    while len(left) >= 2 * k:
        paired = len(left) >= 3 * k
        centroid = np.zeros(Z.shape[1])
        for i in left:
            centroid += Z[i]
        r = left[np.argmax(_measured(Z, left, centroid / len(left)))]
        from_r = _measured(Z, left, Z[r])
        s = left[np.argmax(from_r)]
        labels[left[_least(from_r, k)]] = group
        left, group = left[labels[left] < 0], group + 1
        if paired:
            labels[left[_least(_measured(Z, left, Z[s]), k)]] = group
            left, group = left[labels[left] < 0], group + 1
    labels[left] = group
    return labels


@numba.njit(error_model="numpy")
def _measured(Z: Floats, left: Labels, point: Floats) -> Floats:
    distances = np.zeros(len(left))
    for j, i in enumerate(left):
        for t in range(Z.shape[1]):
            distances[j] += (Z[i, t] - point[t]) ** 2
    return distances


@numba.njit(error_model="numpy")
def _least(distances: Floats, k: int) -> Labels:
    """Return where the k least are."""
    least = np.arange(k)
    worst = least[np.argmax(distances[least])]
    for j in range(k, len(distances)):
        if distances[j] < distances[worst]:
            least[least == worst] = j
            worst = least[np.argmax(distances[least])]
    return least


def timed(
    f: Callable[[Floats, int], Labels], X: Floats, k: int
) -> tuple[Labels, float]:
    start = time.perf_counter()
    labels = f(X, k)
    return labels, time.perf_counter() - start


def rows(settings: tuple[tuple[int, int], ...] = SETTINGS) -> Iterator[Row]:
    """Yield what each (n, k) takes."""
    for f in (mdav, by_plain_scans, by_the_textbook):
        f(clustered(9000), 3)  # compiles
    for n, k in settings:
        X = clustered(n)
        labels, seconds = timed(mdav, X, k)
        expected, plain = timed(by_plain_scans, X, k)
        _, textbook = timed(by_the_textbook, X, k)
        same = bool((labels == expected).all())
        yield Row(n, k, seconds, plain, textbook, same)


def main() -> None:
    print(f"MDAV, {CLUSTERS} normal clusters, d = {D}: a tree against two plain ways\n")
    print(
        f"{'n':>9} {'k':>3} {'tree s':>8} {'plain s':>8} {'ratio':>6} "
        f"{'same':>5} {'textbook s':>11} {'ratio':>6}"
    )
    for row in rows():
        print(
            f"{row.n:>9,} {row.k:>3} {row.seconds:>8.2f} {row.plain:>8.2f} "
            f"{row.ratio:>6.1f} {'yes' if row.same else 'NO':>5} "
            f"{row.textbook:>11.2f} {row.textbook_ratio:>6.1f}"
        )


if __name__ == "__main__":
    main()
