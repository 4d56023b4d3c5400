"""A grid of 48 cells by two processes, beside a loop of `mask` in one.

Each cell has groups of its own, so that nothing is gained by sharing them.  Two
processes at their best take half of the loop's time; starting them is counted.  Kernels
are compiled before.

Run:  python benchmarks/experiment.py
"""

from functools import partial
from time import perf_counter

import numpy as np
import pandas as pd

import aggopt
from aggopt.core.randomness import derive_secret

NAMES = ["a", "b", "c", "d"]
ROLES = {"quasi-identifier": NAMES}
GRID = {"k": [3, 4, 5, 6], "partition": "local_search", "aggregation": "p3m"}
SEEDS = range(12)


def table(n: int) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    mixed = rng.normal(size=(n, len(NAMES))) @ rng.normal(size=(len(NAMES), len(NAMES)))
    return pd.DataFrame(mixed, columns=NAMES)


def loop(frame: pd.DataFrame) -> None:
    for k in GRID["k"]:
        for seed in SEEDS:
            job = aggopt.Job(
                roles=ROLES,
                privacy={"k": k},
                partition={"method": GRID["partition"], "seed": seed},
                aggregation={"method": GRID["aggregation"]},
            )
            aggopt.mask(frame, job, secret=derive_secret(seed))


def timed(work, *args, **how) -> float:
    began = perf_counter()
    work(*args, **how)
    return perf_counter() - began


def main() -> None:
    frame, small = table(1500), table(40)
    loop(small)  # compiles
    one = timed(loop, frame)
    of_grid = partial(aggopt.experiment, frame, GRID, roles=ROLES, seeds=SEEDS)
    two, alone = timed(of_grid, jobs=2), timed(of_grid)
    print(f"{'48 cells':<28}{'seconds':>9}{'of half the loop':>18}")
    rows = {"loop of mask": one, "experiment, one process": alone, "two": two}
    for name, seconds in rows.items():
        print(f"{name:<28}{seconds:>9.1f}{seconds / (one / 2):>18.2f}")


if __name__ == "__main__":
    main()
