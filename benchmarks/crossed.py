"""Associations of categories that are kept, on records drawn from Adult.

Run:  python benchmarks/crossed.py [RECORDS]
Cramer's V of the originals, of what plurality publishes, and of what is published where
the table is kept: of two categories together, and of one with the salary class, which
is published as it is.  A record of difference in a cell costs 1.  Adult is read from
the folder adult in AGGOPT_DATA; 2000 records are drawn when their number is omitted.
"""

import sys
from typing import Any

import numpy as np
import pandas as pd
from _category_tables import SAMPLE, adult
from rich.console import Console
from rich.table import Table
from scipy.stats.contingency import association

import aggopt
from aggopt.aggregate import crossed_frequencies, frequencies, plurality

CONFIDENTIAL = "salary-class"
K, SECONDS = 5, 30
PAIRS = (
    ("sex", "occupation"),
    ("sex", "marital-status"),
    ("marital-status", "workclass"),
)
BESIDE = ("education", "occupation", "marital-status")
console = Console(width=100)


def v(one: Any, two: Any) -> float:
    """Return Cramer's V of two columns."""
    table = pd.crosstab(np.asarray(one), np.asarray(two))
    return float(association(table.to_numpy(), method="cramer"))


def row(what: str, shown: tuple[float, ...], before: float, proof: Any) -> list[str]:
    gap = "" if proof.gap is None else f"{100 * proof.gap:.2f} %"
    figures = [f"{value:.4f}" for value in shown]
    loss = f"{before:.0f}", f"{proof.objective:.0f}"
    return [what, *figures, *loss, gap, proof.status.value, f"{proof.seconds:.1f}"]


def main(n: int) -> None:
    """Print what is kept of each pair."""
    whole, types, _ = adult(CONFIDENTIAL)
    drawn = whole.sample(n, random_state=0).reset_index(drop=True)
    salary = drawn.pop(CONFIDENTIAL)
    encoded = aggopt.encode(drawn, types)
    groups = np.asarray(aggopt.partition.local_search(encoded, K))
    of = {name: encoded.attribute(name) for name in drawn}
    head = ("table", "V", "plurality", "kept", "loss", "kept", "gap", "status", "s")
    title = f"Adult, {n} records, {groups.max() + 1} groups; loss with what is paid"
    table = Table(*head, title=title)
    for one, two in PAIRS:
        plain = [plurality(of[name], groups) for name in (one, two)]
        both = crossed_frequencies([of[one], of[two]], groups, time_limit=SECONDS)
        shown = (
            v(drawn[one], drawn[two]),
            v(*(each.values for each in plain)),
            v(*both.values.T),
        )
        loss = sum(each.certificate.objective for each in plain)
        table.add_row(*row(f"{one} x {two}", shown, loss, both.certificate))
    for name in BESIDE:
        near = plurality(of[name], groups)
        kept = frequencies(of[name], groups, with_=salary, time_limit=SECONDS)
        shown = tuple(v(x, salary) for x in (drawn[name], near.values, kept.values))
        loss = near.certificate.objective
        table.add_row(*row(f"{name} with salary", shown, loss, kept.certificate))
    console.print(table)


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else SAMPLE)
