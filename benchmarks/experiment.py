"""A grid of 48 cells by two processes, beside a loop of `mask` in one.

Two processes at their best take half of the loop's time; starting them is counted, and
so is sending tables and groups.  Kernels are compiled before.

Run:  python benchmarks/experiment.py
"""

from time import perf_counter

import numpy as np
import pandas as pd

import aggopt
from aggopt.core.randomness import seeded

NAMES = ["a", "b", "c", "d"]
ROLES = {"quasi-identifier": NAMES}
GRID = {
    "k": [3, 5, 8, 12],
    "partition": [{"method": "local_search", "effort": e} for e in ("fast", "default")],
    "aggregation": [{"method": "p3m", "delta": d} for d in (0.1, 0.2, 0.4)],
}
SEEDS = range(2)


def table(n: int) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    mixed = rng.normal(size=(n, len(NAMES))) @ rng.normal(size=(len(NAMES), len(NAMES)))
    return pd.DataFrame(mixed, columns=NAMES)


def loop(frame: pd.DataFrame) -> int:
    cells = 0
    for k in GRID["k"]:
        for split in GRID["partition"]:
            for how in GRID["aggregation"]:
                for seed in SEEDS:
                    job = aggopt.Job(
                        roles=ROLES,
                        privacy={"k": k},
                        partition={**split, "seed": seed},
                        aggregation=how,
                    )
                    aggopt.mask(frame, job, secret=seeded(seed))
                    cells += 1
    return cells


def timed(work, *args, **how) -> float:
    began = perf_counter()
    work(*args, **how)
    return perf_counter() - began


def main() -> None:
    frame, small = table(1000), table(40)
    loop(small)  # compiles
    one = timed(loop, frame)
    alone = timed(aggopt.experiment, frame, GRID, roles=ROLES, seeds=SEEDS)
    two = timed(aggopt.experiment, frame, GRID, roles=ROLES, seeds=SEEDS, jobs=2)
    print(f"{'48 cells':<28}{'seconds':>9}{'of half the loop':>18}")
    rows = {"loop of mask": one, "experiment, one process": alone, "two": two}
    for name, seconds in rows.items():
        print(f"{name:<28}{seconds:>9.1f}{seconds / (one / 2):>18.2f}")


if __name__ == "__main__":
    main()
