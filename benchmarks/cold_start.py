"""Processor seconds of a first call, kernels compiled within it; and of a later one.

python benchmarks/cold_start.py [--against PATH] [--runs 1] [--kernels] [ROW ...]

Each row runs in a process of its own.  "cold": nothing is compiled yet, the cache of
compiled kernels is an empty folder; "warm": the same again, with what that has left.
PATH is a checkout of an earlier version, run beside this one, with ratios.  With
--kernels each row is followed by what its cold run spent on imports and on each
kernel: seconds without the kernels that it calls, and how many variants.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from _cold_start_office import office_jobs

BENCHMARKS = Path(__file__).resolve().parent
HERE = BENCHMARKS.parent

TABLE = """
import importlib.util, pathlib
import numpy as np
place = pathlib.Path(importlib.util.find_spec("sklearn").origin).parent
X = np.loadtxt(place / "datasets/data/diabetes_data_raw.csv.gz")[:, [0, 2, 3, 4, 8]]
"""  # whose loader imports scikit-learn, which aggopt does not

DIABETES = """
import aggopt, pandas as pd
frame = pd.DataFrame(X, columns=list("abcde"))
roles = {"quasi-identifier": list("abcde")}
"""

KERNELS = """
import time
began = time.process_time()
import atexit, collections
from numba.core import event

spent, variants, open_ = collections.Counter(), collections.Counter(), []

class Kernels(event.Listener):
    def on_start(self, event):
        open_.append([time.process_time(), 0.0])
    def on_end(self, event):
        start, inner = open_.pop()
        whole = time.process_time() - start
        if open_:
            open_[-1][1] += whole
        kernel = event.data["dispatcher"]
        name = f"{kernel.py_func.__module__}.{kernel.__name__}"
        spent[name] += whole - inner
        variants[name] += 1

event.register("numba:compile", Kernels())
imported = time.process_time() - began

@atexit.register
def list_kernels():
    print(f"    {imported:6.2f}    import of numba")
    others = time.process_time() - imported - spent.total()
    print(f"    {others:6.2f}    all that compiles nothing")
    print(f"    {spent.total():6.2f} {variants.total():3} all kernels")
    for name, seconds in spent.most_common():
        print(f"    {seconds:6.2f} {variants[name]:3} {name}")
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
    "warm-up": "from aggopt.command import warm_up; list(warm_up.compile_kernels())",
    "mask, defaults": (
        f"{DIABETES}aggopt.mask(frame, aggopt.Job(roles=roles, privacy={{'k': 5}}))"
    ),
    "mask, p3m": (
        f"{DIABETES}aggopt.mask(frame, aggopt.Job(roles=roles, privacy={{'k': 5}}, "
        "aggregation={'method': 'p3m', 'delta': 0.1}))"
    ),
}
ROWS |= {
    name: f"from _cold_start_office import mask_office_table; "
    f"mask_office_table({name!r})"
    for name in office_jobs()
}


def seconds(call: str, checkout: Path, cache: str) -> float:
    """Return processor seconds of a process that makes a call, imports included."""
    environment = {
        **os.environ,
        "NUMBA_CACHE_DIR": cache,
        "PYTHONPATH": os.pathsep.join([str(checkout), str(BENCHMARKS)]),
        "OPENBLAS_NUM_THREADS": "1",  # or idle threads of linear algebra are counted
    }
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-c", TABLE + call]
    subprocess.run(command, env=environment, cwd=cache, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def list_kernels(call: str) -> None:
    """Print what a cold run spends on imports and on each kernel."""
    with tempfile.TemporaryDirectory() as cache:
        seconds(KERNELS + call, HERE, cache)


def cold_and_warm(call: str, checkout: Path, runs: int) -> tuple[float, float]:
    cold, warm = [], []
    with tempfile.TemporaryDirectory() as cache:
        seconds(call, checkout, cache)  # not counted: Python writes its bytecode
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
    parser.add_argument("--kernels", action="store_true", help="list them")
    given = parser.parse_args()
    print(f"{'processor seconds':22} {'cold':>7} {'warm':>7}", end="")
    print(f" {'before':>7} {'before':>7} {'ratio':>6}" if given.against else "")
    for name in given.rows or ROWS:
        cold, warm = cold_and_warm(ROWS[name], HERE, given.runs)
        print(f"{name:22} {cold:7.1f} {warm:7.1f}", end="", flush=True)
        if given.against:
            then = cold_and_warm(ROWS[name], given.against.resolve(), given.runs)
            print(f" {then[0]:7.1f} {then[1]:7.1f} {cold / then[0]:6.2f}", end="")
        print(flush=True)
        if given.kernels:
            list_kernels(ROWS[name])


if __name__ == "__main__":
    main()
