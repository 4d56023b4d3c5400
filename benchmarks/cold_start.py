"""Processor seconds of a first call, kernels compiled within it; and of a later one.

python benchmarks/cold_start.py [--against PATH] [--runs 1] [ROW ...]

Each row runs in a process of its own.  "cold": nothing is compiled yet, the cache of
compiled kernels is an empty folder; "warm": the same again, with what that has left.
PATH is a checkout of an earlier version, run beside this one, with ratios.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

HERE = Path(__file__).resolve().parent.parent

TABLE = """
import numpy as np
from sklearn.datasets import load_diabetes
X = load_diabetes(scaled=False).data[:, [0, 2, 3, 4, 8]]
"""

ROWS = {
    "mdav": "from aggopt.partition import mdav; mdav(X, 5)",
    "mdav, 5000 records": (
        "from aggopt.partition import mdav; mdav(np.repeat(X, 12, axis=0)[:5000], 5)"
    ),
    "p3m": "from aggopt.aggregate import p3m; p3m(X, np.arange(442) // 5)",
    "local_search": "from aggopt.partition import local_search; local_search(X, 5)",
    "univariate": "from aggopt.partition import univariate; univariate(X[:, 1], 5)",
    "optimal": "from aggopt.partition import optimal; optimal(X[:60], 3)",
    "anonymity_first": (
        "from aggopt.partition import anonymity_first; "
        "anonymity_first(X[:, :4], X[:, 4], 5, 0.2)"
    ),
    "warm-up": "from aggopt.command.warm_up import compiled; list(compiled())",
    "mask, defaults": """
import aggopt, pandas as pd
frame = pd.DataFrame(X, columns=list("abcde"))
roles = {"quasi-identifier": list("abcde")}
aggopt.mask(frame, aggopt.Job(roles=roles, privacy={"k": 5}))
""",
}


def seconds(call: str, checkout: Path, cache: str) -> float:
    """Processor seconds of a process that makes a call, its imports included."""
    environment = {
        **os.environ,
        "NUMBA_CACHE_DIR": cache,
        "PYTHONPATH": str(checkout),
        "OPENBLAS_NUM_THREADS": "1",  # or idle threads of linear algebra are counted
    }
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-c", TABLE + call]
    subprocess.run(command, env=environment, cwd=cache, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def cold_and_warm(call: str, checkout: Path, runs: int) -> tuple[float, float]:
    cold, warm = [], []
    for _ in range(runs):
        with tempfile.TemporaryDirectory() as cache:
            cold.append(seconds(call, checkout, cache))
            warm.append(seconds(call, checkout, cache))
    return median(cold), median(warm)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", nargs="*", metavar="ROW", help=", ".join(ROWS))
    parser.add_argument("--against", type=Path, help="an earlier checkout")
    parser.add_argument("--runs", type=int, default=1, help="of which the median")
    given = parser.parse_args()
    print(f"{'processor seconds':20} {'cold':>7} {'warm':>7}", end="")
    print(f" {'before':>7} {'before':>7} {'ratio':>6}" if given.against else "")
    for name in given.rows or ROWS:
        cold, warm = cold_and_warm(ROWS[name], HERE, given.runs)
        print(f"{name:20} {cold:7.1f} {warm:7.1f}", end="", flush=True)
        if given.against:
            then = cold_and_warm(ROWS[name], given.against.resolve(), given.runs)
            print(f" {then[0]:7.1f} {then[1]:7.1f} {cold / then[0]:6.2f}", end="")
        print(flush=True)


if __name__ == "__main__":
    main()
