"""Categories of groups, on Adult with 30 162 records.

Run:  python benchmarks/categories.py [frequencies [ATTRIBUTE ...]]
Adult and its hierarchies are read from the folder adult in AGGOPT_DATA.

frequencies
    Each attribute's categories as often as before, within 4 records, for groups of 5
    and more: `slots`, and HiGHS on the declared program.  Loss is the number of records
    whose category is another, or of steps among the levels of education.
"""

import os
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table

import aggopt
from aggopt.aggregate import frequencies, plurality

K, SLACK, SECONDS = 5, 4, 30
EDUCATION = [
    "Preschool",
    *("1st-4th", "5th-6th", "7th-8th", "9th", "10th", "11th", "12th"),
    *("HS-grad", "Some-college", "Assoc-voc", "Assoc-acdm"),
    *("Bachelors", "Masters", "Prof-school", "Doctorate"),
]
ATTRIBUTES = ("education", "workclass", "occupation", "marital-status")
SOLVERS = ("slots", "cvxpy:highs")
CONFIDENTIAL = "salary-class"
console = Console(width=100)


def adult(*beside: str) -> pd.DataFrame:
    """Return the quasi-identifiers, and other columns that are named."""
    folder = os.environ.get("AGGOPT_DATA")
    if folder is None:
        raise SystemExit("set AGGOPT_DATA to the folder that has adult/adult.csv.")
    table = pd.read_csv(Path(folder) / "adult" / "adult.csv", sep=";")
    return table.drop(columns=sorted({"ID", CONFIDENTIAL} - set(beside)))


def types(frame: pd.DataFrame) -> dict[str, dict[str, list[str]]]:
    """Return what is not to be inferred."""
    return {"education": {"order": EDUCATION}} if "education" in frame else {}


def distance(column: pd.Series, values: np.ndarray) -> float:
    """Return the total variation of how often each category is found."""
    shares = [pd.Series(v).value_counts(normalize=True) for v in (column, values)]
    return float(shares[0].sub(shares[1], fill_value=0).abs().sum() / 2)


def kept(names: tuple[str, ...]) -> None:
    """Print the loss at which frequencies are kept, and its bound, by solver."""
    frame = adult()
    encoded = aggopt.encode(frame, types(frame))
    groups = np.asarray(aggopt.partition.blocked(encoded, K))
    title = f"Adult, {len(frame)} records, {groups.max() + 1} groups, slack {SLACK}"
    head = ("attribute", "by", "loss", "bound", "gap", "TV", "status", "seconds")
    table = Table(*head, title=title)
    for name in names:
        column, order = frame[name], types(frame[[name]]).get(name, {})
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


PARTS = {"frequencies": kept}

if __name__ == "__main__":
    part, *chosen = sys.argv[1:] or PARTS
    PARTS[part](tuple(chosen) or ATTRIBUTES)
