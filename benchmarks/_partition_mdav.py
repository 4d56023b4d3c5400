"""Seconds of MDAV through a tree against plain scans of all records, in one run."""

import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from aggopt.arrays import Floats, Labels
from aggopt.partition import mdav
from aggopt.partition._tree import take

CLUSTERS, D = 10, 10
SETTINGS = (10_000, 3), (100_000, 3), (100_000, 5), (100_000, 10)
NEVER = 10**12  # turns that a tree must be worth


class Row(NamedTuple):
    """One setting: seconds of the tree and of plain scans, and whether labels agree."""

    n: int
    k: int
    seconds: float
    plain: float
    same: bool

    @property
    def ratio(self) -> float:
        """How many times as long plain scans take."""
        return self.plain / self.seconds


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
    turns, take.TURNS = take.TURNS, NEVER
    try:
        return mdav(X, k)
    finally:
        take.TURNS = turns


def timed(
    f: Callable[[Floats, int], Labels], X: Floats, k: int
) -> tuple[Labels, float]:
    start = time.perf_counter()
    labels = f(X, k)
    return labels, time.perf_counter() - start


def rows(settings: tuple[tuple[int, int], ...] = SETTINGS) -> Iterator[Row]:
    """Yield what each (n, k) takes."""
    for f in (mdav, by_plain_scans):
        f(clustered(9000), 3)  # compiles
    for n, k in settings:
        X = clustered(n)
        labels, seconds = timed(mdav, X, k)
        expected, plain = timed(by_plain_scans, X, k)
        yield Row(n, k, seconds, plain, bool((labels == expected).all()))


def main() -> None:
    print(f"MDAV, {CLUSTERS} normal clusters, d = {D}: a tree against plain scans\n")
    print(f"{'n':>9} {'k':>3} {'tree s':>8} {'plain s':>8} {'ratio':>6} {'same':>5}")
    for row in rows():
        print(
            f"{row.n:>9,} {row.k:>3} {row.seconds:>8.2f} {row.plain:>8.2f} "
            f"{row.ratio:>6.1f} {'yes' if row.same else 'NO':>5}"
        )


if __name__ == "__main__":
    main()
