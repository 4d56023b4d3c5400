"""Seconds and memory of MDAV against the same rules in plain NumPy, in one run.

python benchmarks/mdav.py
"""

import os
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from statistics import median

import numpy as np

from aggopt.core.standardise import Scale
from aggopt.core.validation import Floats, Labels
from aggopt.partition import mdav

K, D = 5, 10
SIZES = 10_000, 20_000
RUNS_OURS, RUNS_NUMPY = 7, 3

FIRST_CALL = """
import time
start = time.perf_counter()
from aggopt.partition import mdav
mdav([[1.0], [2.0], [8.0], [9.0]], 2)
print(time.perf_counter() - start)
"""


def mdav_in_numpy(X: Floats, k: int) -> Labels:
    """Return the labels of MDAV (ending "3k"): vectorised, no sort, no n x n matrix."""
    Z = Scale.of(X).standardise(X)
    labels, who, group = np.empty(len(Z), dtype=np.intp), np.arange(len(Z)), 0

    def squares(point: Floats) -> Floats:
        gaps = Z - point
        return np.einsum("ij,ij->i", gaps, gaps)

    def take(point: Floats) -> None:
        nonlocal Z, who, group
        nearest = np.argpartition(squares(point), k - 1)[:k]
        labels[who[nearest]] = group
        keep = np.ones(len(who), dtype=bool)
        keep[nearest] = False
        Z, who, group = Z[keep], who[keep], group + 1

    while len(Z) >= 3 * k:
        r = Z[squares(Z.mean(axis=0)).argmax()]
        s = Z[squares(r).argmax()]
        take(r)
        take(s)
    if len(Z) >= 2 * k:
        take(Z[squares(Z.mean(axis=0)).argmax()])
    labels[who] = group
    return labels


def seconds(run: Callable[[], Labels], runs: int) -> float:
    def once() -> float:
        start = time.perf_counter()
        run()
        return time.perf_counter() - start

    return median(once() for _ in range(runs))


def first_call(cache: str) -> float:
    """Seconds of import, compilation or loading, and a tiny first call."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    command = [sys.executable, "-c", FIRST_CALL]
    done = subprocess.run(
        command, env=environment, check=True, capture_output=True, text=True
    )
    return float(done.stdout)


def peak_bytes(X: Floats) -> int:
    """Most memory held at once; the kernels themselves hold k integers."""
    tracemalloc.start()
    mdav(X, K)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


def row(n: int) -> str:
    X = np.random.default_rng(0).normal(size=(n, D))
    same = (mdav(X, K) == mdav_in_numpy(X, K)).all()
    ours = seconds(lambda: mdav(X, K), RUNS_OURS)
    rival = seconds(lambda: mdav_in_numpy(X, K), RUNS_NUMPY)
    peak = peak_bytes(X)
    return (
        f"{n:>7,} {ours:>8.3f} {rival:>8.2f} {rival / ours:>7.1f} "
        f"{'yes' if same else 'NO':>6} {peak / 2**20:>9.1f} {peak / X.nbytes:>9.1f} "
        f"{8 * n * n / 2**20:>11,.0f}"
    )


def main() -> None:
    with tempfile.TemporaryDirectory() as cache:
        print(f"first call: {first_call(cache):.1f} s, of which most is compilation")
        print(f"first call of a later process: {first_call(cache):.1f} s (disk cache)")
    print(f"\nMDAV, normal records, d = {D}, k = {K}; median of {RUNS_OURS} runs\n")
    print(
        f"{'n':>7} {'aggopt':>8} {'NumPy':>8} {'ratio':>7} {'same':>6} "
        f"{'peak MiB':>9} {'peak / X':>9} {'n x n MiB':>11}"
    )
    for n in SIZES:
        print(row(n))


if __name__ == "__main__":
    main()
