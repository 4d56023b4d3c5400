"""The univariate partition against microagg1d, and what is built on orderings.

Run:  python benchmarks/univariate.py
The rival is for this benchmark only: pip install microagg1d==0.4.0 (`make bench` does);
without it the comparison is left out, and the rest is printed.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from statistics import median

import numpy as np
from _reference import tables
from rich.console import Console
from rich.table import Table

from aggopt.aggregate import mean
from aggopt.core.validation import Floats, Labels
from aggopt.experiments.reproduce import load_study
from aggopt.measure import assess, il
from aggopt.partition import individual_ranking, mdav, mhm, projection, univariate

N, RUNS = 1_000_000, 7
SIZES = (2, 3, 5, 10, 30, 100, 1000)
PUBLISHED = {  # information loss in % by ordering and table; k = 3, 5, 10
    (order, name): values
    for order in ("mdav", "npn")
    for name, values in load_study("domingo-ferrer2006")
    .table("IL")
    .values(f"{order.upper()}-MHM")
    .items()
}

FIRST_CALL = """
import time
start = time.perf_counter()
from aggopt.partition import univariate
imported = time.perf_counter()
univariate([1.0, 2.0, 8.0, 9.0], 2)
print(imported - start, time.perf_counter() - imported)
"""
LARGE = """
import resource, time
import numpy as np
from aggopt.partition import univariate
univariate(np.arange(100.0), 5)
x = np.random.default_rng(0).normal(size=10_000_000)
start = time.perf_counter()
univariate(x, 5)
seconds = time.perf_counter() - start
print(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)
"""


def figures(code: str, **environment: str) -> tuple[float, float]:
    """Two figures that a fresh interpreter prints."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        check=True,
        capture_output=True,
        text=True,
    )
    first, second = map(float, done.stdout.split())
    return first, second


def compilation(console: Console) -> None:
    with tempfile.TemporaryDirectory() as cache:
        for when in ("first process", "later process"):
            imported, called = figures(FIRST_CALL, NUMBA_CACHE_DIR=cache)
            console.print(
                f"{when}: import {imported:.2f} s, first call {called:.2f} s"
                + (", of which most is compilation" if when[0] == "f" else "")
            )


def seconds(run: Callable[[], Labels]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def against_the_rival(console: Console) -> None:
    from microagg1d import univariate_microaggregation as rival

    x = np.random.default_rng(0).normal(size=N)
    table = Table(title=f"{N:,} normal values, SSE; median of {RUNS} pairs of runs")
    for name in ("k", "aggopt s", "microagg1d s", "ratio", "its cost - ours"):
        table.add_column(name, justify="right")
    for k in SIZES:
        ours, theirs = univariate(x, k), rival(x, k)
        runs = [
            (seconds(lambda: univariate(x, k)), seconds(lambda: rival(x, k)))  # noqa: B023
            for _ in range(RUNS)
        ]
        lost = [mean(x[:, None], g).certificates[0].objective for g in (ours, theirs)]
        table.add_row(
            str(k),
            f"{median(a for a, _ in runs):.4f}",
            f"{median(b for _, b in runs):.4f}",
            f"{median(b / a for a, b in runs):.1f}",
            f"{lost[1] / lost[0] - 1:+.1e}",
        )
    console.print(table)
    where_it_errs(console, rival)


def where_it_errs(console: Console, rival: Callable[..., Labels]) -> None:
    """Print inputs on which the rival's default is not optimal."""
    rng = np.random.default_rng(0)
    cases = {
        "n = 2k, unsorted": (np.array([0, 100, 1, 101, 2, 102.0]), 3),
        "ten small numbers": (np.array([0, 0, 1, 1, 2, 6, 6, 7, 10, 11.0]), 3),
        "normal + 1e6, n = 1000": (1e6 + rng.normal(size=1000), 5),
        "normal + 1e8, n = 1000": (1e8 + rng.normal(size=1000), 5),
    }
    table = Table(title="SSE in squared units of the values")
    for name in ("values", "k", "aggopt", "microagg1d"):
        table.add_column(name, justify="right")
    for name, (x, k) in cases.items():
        shown = [f"{sse(x, f(x, k)):.6g}" for f in (univariate, rival)]
        table.add_row(name, str(k), *shown)
    console.print(table)


def sse(x: Floats, labels: Labels) -> float:
    values = mean(x[:, None], labels).values[:, 0]
    return float(((x - values) ** 2).sum())


def large(console: Console) -> None:
    spent, peak = figures(LARGE)
    console.print(f"10,000,000 values, k = 5: {spent:.2f} s, {peak:.2f} GiB in all")


def orderings(console: Console) -> None:
    for name, X in tables().items():
        table = Table(title=f"{name}: information loss in % (published)")
        table.add_column("ordering")
        for k in (3, 5, 10):
            table.add_column(f"k = {k}", justify="right")
        for order in ("mdav", "npn", "cbfs", "md", "tsp"):
            published = PUBLISHED.get((order, name))
            row = [
                f"{100 * il(X, mean(X, mhm(X, k, order=order)).values):.4f}"
                + (f" ({published[place]:.4f})" if published else "")
                for place, k in enumerate((3, 5, 10))
            ]
            table.add_row(f"{order}-MHM", *row)
        for axis in ("pca", "zsum", "robust_pca"):
            table.add_row(f"projection, {axis}", *losses(X, projection, axis=axis))
        table.add_row("MDAV itself", *losses(X, mdav))
        table.add_row("individual ranking", *losses(X, individual_ranking))
        console.print(table)


def losses(X: Floats, partition: Callable[..., Labels], **how: str) -> list[str]:
    lost = (il(X, mean(X, partition(X, k, **how)).values) for k in (3, 5, 10))
    return [f"{100 * loss:.4f}" for loss in lost]


def disclosure(console: Console) -> None:
    """Print what a single attribute at a time gives away."""
    table = Table(title="k = 5, in %: disclosure of groups by one attribute at a time")
    for column in ("table", "partition", "IL", "DLD", "SDID"):
        table.add_column(column)
    for name, X in tables().items():
        for partition in (mdav, individual_ranking):
            found = assess(X, mean(X, partition(X, 5)).values)
            shown = (f"{100 * v:.2f}" for v in (found.il, found.dld, found.sdid))
            table.add_row(name, partition.__name__, *shown)
    console.print(table)


def main() -> None:
    console = Console(width=110)
    compilation(console)
    if find_spec("microagg1d"):
        against_the_rival(console)
    else:
        console.print("microagg1d is not installed: pip install microagg1d==0.4.0")
    large(console)
    orderings(console)
    disclosure(console)


if __name__ == "__main__":
    main()
