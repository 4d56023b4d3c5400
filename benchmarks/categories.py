"""Categories of groups: how fast, how near to the best, at what loss in counts.

Run:  python benchmarks/categories.py                        partitions, frequencies
      python benchmarks/categories.py speed [METHOD ...]
      python benchmarks/categories.py partitions
      python benchmarks/categories.py frequencies [ATTRIBUTE ...]
Adult, its hierarchies and testdata are read from the folder in AGGOPT_DATA.

speed
    All of Adult, 30 162 records in 92 coordinates, beside 92 columns of numbers.
partitions
    Distance of records from what groups of 5 publish, beside MDAV with modes and
    k-modes, with the least that is possible; and a proof of 300 voters of Chile.
frequencies
    Each attribute's categories as often as before, within 4 records, for groups of 5
    and more: `slots`, and HiGHS on the declared program.  Loss is the number of records
    whose category is another, or of steps among the levels of education.
"""

import sys

import _category_partitions
import _category_speed
import numpy as np
import pandas as pd
from _category_tables import EDUCATION, adult
from rich.console import Console
from rich.table import Table

import aggopt
from aggopt.aggregate import frequencies, plurality

K, SLACK, SECONDS = 5, 4, 30
BESIDE = "salary-class"  # by which groups are not made
ATTRIBUTES = (
    *("education", "workclass", "occupation", "marital-status"),
    *("race", "sex", "native-country", BESIDE),
)
SOLVERS = ("slots", "cvxpy:highs")
console = Console(width=100)


def distance(column: pd.Series, values: np.ndarray) -> float:
    """Return the total variation of how often each category is found."""
    shares = [pd.Series(v).value_counts(normalize=True) for v in (column, values)]
    return float(shares[0].sub(shares[1], fill_value=0).abs().sum() / 2)


def kept(names: tuple[str, ...]) -> None:
    """Print the loss at which frequencies are kept, and its bound, by solver."""
    frame, types, _ = adult(BESIDE)
    quasi = aggopt.encode(frame.drop(columns=BESIDE), types)
    groups = np.asarray(aggopt.partition.blocked(quasi, K))
    title = f"Adult, {len(frame)} records, {groups.max() + 1} groups, slack {SLACK}"
    head = ("attribute", "by", "loss", "bound", "gap", "TV", "status", "seconds")
    table = Table(*head, title=title)
    for name in names:
        column, order = frame[name], types.get(name, {})
        steps = len(EDUCATION) - 1 if order else 1
        found = {"plurality": plurality(column, groups, **order)}
        for solver in SOLVERS:
            found[solver] = frequencies(
                column, groups, slack=SLACK, solver=solver, time_limit=SECONDS, **order
            )
        for by, made in found.items():
            proof = made.certificate
            bound = "" if proof.bound is None else f"{proof.bound * steps:.2f}"
            gap = "" if proof.gap is None else f"{100 * proof.gap:.3f} %"
            table.add_row(
                name,
                by,
                f"{proof.objective * steps:.2f}",
                bound if by != "plurality" else "",
                gap if by != "plurality" else "",
                f"{distance(column, made.values):.4f}",
                proof.status.value,
                f"{proof.seconds:.1f}",
            )
    console.print(table)


def speed(names: tuple[str, ...]) -> None:
    """Print time and memory, and their ratios to those of as many numbers."""
    head = ("method", "of", "CPU s", "wall s", "MB", "IL", "times", "MB times")
    table = Table(
        *head, title=f"Groups of {_category_speed.K} and more, 30 162 records"
    )
    for row in _category_speed.rows(names):
        table.add_row(
            row.method,
            row.data,
            f"{row.cpu:.1f}",
            f"{row.wall:.1f}",
            f"{row.peak:.0f}",
            "" if row.il is None else f"{row.il:.2f} %",
            f"{row.times:.2f}",
            f"{row.memory:.2f}",
        )
    console.print(table)


def partitions(names: tuple[str, ...]) -> None:
    """Print what groups lose, over what MDAV with modes loses, and one proof."""
    head = ("table", "groups of", "loss", "of MDAV's", "IL", "above", "groups", "s")
    table = Table(*head, title=f"k = {K}: distance from what is published, a record")
    for row in _category_partitions.rows(K):
        table.add_row(
            row.table,
            row.method,
            f"{row.loss:.4f}",
            f"{row.rival:.3f}",
            f"{row.il:.4f}",
            "" if row.above is None else f"{row.above:+.1f} %",
            "" if row.groups is None else str(row.groups),
            f"{row.seconds:.1f}",
        )
    console.print(table)
    found = _category_partitions.proof()
    console.print(
        f"300 voters of Chile, k = 3, optimal: {found.status}, {found.objective:.3f}, "
        f"bound {found.bound:.3f} in {found.seconds:.1f} s; local search "
        f"{found.local_search:.3f}, MDAV {found.mdav:.3f}, neighbour bound "
        f"{found.neighbours:.3f}"
    )


PARTS = {"speed": speed, "partitions": partitions, "frequencies": kept}
DEFAULTS = {"frequencies": ATTRIBUTES}

if __name__ == "__main__":
    asked, *chosen = sys.argv[1:] or [None]
    for part in [asked] if asked else ("partitions", "frequencies"):
        PARTS[part](tuple(chosen) or DEFAULTS.get(part, ()))
