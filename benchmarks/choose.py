"""A choice of 24 points on 1000 records of 10 attributes, warm: seconds and figures.

k of 3, 5, 10 and 25 by three methods, with two statistics kept: 12 partitions, of which
four, those of `optimal`, end after three seconds each.  Beside it, if asked for, the
same points by a loop of `mask` in one process; and what one ordering of `mhm` saves
where it serves four k.

Run:  python benchmarks/choose.py [--loop]
"""

import sys
from time import perf_counter

import numpy as np
import pandas as pd

import aggopt
from aggopt.experiments.choose import Choices
from aggopt.partition import mhm
from aggopt.partition.path_split import share_orderings

NAMES = [f"x{j}" for j in range(10)]
ROLES = {"quasi-identifier": NAMES}
JOB = aggopt.Job(roles=ROLES, privacy={"k": 3})
SIZES = [3, 5, 10, 25]
AXES = {
    "k": SIZES,
    "method": [
        "mdav",
        {"method": "local_search", "effort": "fast"},
        {"method": "optimal", "time_limit": 3},
    ],
    "keep": ["variance", "covariance"],
}
LIMIT = 30.0  # seconds


def table(n: int, seed: int = 0) -> pd.DataFrame:
    """Return correlated records (n, 10)."""
    rng = np.random.default_rng(seed)
    d = len(NAMES)
    return pd.DataFrame(
        rng.normal(size=(n, d)) @ rng.normal(size=(d, d)), columns=NAMES
    )


def loop(frame: pd.DataFrame, found: Choices) -> float:
    began = perf_counter()
    for point in found.points:
        aggopt.mask(frame, point.job)
    return perf_counter() - began


def orderings(frame: pd.DataFrame) -> tuple[float, float]:
    X = frame.to_numpy()
    for k in SIZES:  # compiles
        mhm(X[:100], k, order="tsp")
    began = perf_counter()
    for k in SIZES:
        mhm(X, k, order="tsp")
    alone = perf_counter() - began
    began = perf_counter()
    with share_orderings():
        for k in SIZES:
            mhm(X, k, order="tsp")
    return alone, perf_counter() - began


def main() -> None:
    frame = table(1000)
    aggopt.choose(table(200, 1), JOB, **AXES, jobs=2)  # compiles, begins processes
    began = perf_counter()
    found = aggopt.choose(frame, JOB, **AXES, jobs=2)
    spent = perf_counter() - began
    print(found)
    print(f"\n{len(found)} points, 1000 x 10: {spent:.1f} s (at most {LIMIT:g})")
    if "--loop" in sys.argv:
        print(f"the same by a loop of mask, one process: {loop(frame, found):.1f} s")
    alone, shared = orderings(table(5000))
    print(f"mhm by tours, k = 3, 5, 10, 25, 5000 x 10: {alone:.1f} s alone,", end=" ")
    print(f"{shared:.1f} s from one ordering")


if __name__ == "__main__":
    main()
