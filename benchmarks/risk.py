"""Which figure of risk ranks releases: each figure of several releases, side by side.

Run:  python benchmarks/risk.py
The reference tables are fetched once, or read from the folder AGGOPT_DATA names.

Of each table: group means, P3M with far wishes (delta .3, alpha .9), attributes one by
one, and noise of half a standard deviation.  Below, the rank correlation (Spearman) of
each figure with the average re-identification risk over all releases, and over the
grouped ones alone: noise groups nobody, its average risk is 1.
"""

from collections.abc import Iterator

import numpy as np
from _reference import SIZES, tables
from rich.console import Console
from rich.table import Table
from scipy.stats import spearmanr

from aggopt.aggregate import mean, p3m
from aggopt.core.validation import Floats
from aggopt.measure import Assessment, assess
from aggopt.partition import individual_ranking, local_search

FIGURES = ("average_risk", "linkage", "dld", "sdid", "sdid_chance", "dr")
NOISE = "noise .5 sd"


def releases(X: Floats) -> Iterator[tuple[str, int | None, Floats]]:
    """Yield name, k and values of the releases of a table."""
    for k in (SIZES[0], SIZES[-1]):
        labels = local_search(X, k)
        yield "means", k, mean(X, labels).values
        yield "P3M .3", k, p3m(X, labels, delta=0.3, alpha=0.9).values
        yield "one by one", k, mean(X, individual_ranking(X, k)).values
    rng = np.random.default_rng(0)
    yield NOISE, None, X + 0.5 * X.std(axis=0) * rng.normal(size=X.shape)


def correlations(assessed: list[Assessment]) -> list[str]:
    """Return the rank correlation of each figure with the average risk."""
    average = [a.average_risk for a in assessed]
    return [
        f"{spearmanr(average, [getattr(a, name) for a in assessed])[0]:.2f}"
        for name in FIGURES
    ]


def main() -> None:
    shown = Table(title="Risk in %; linkage is at most the average risk")
    for heading in ("table", "release", "k"):
        shown.add_column(heading)
    for name in FIGURES:
        shown.add_column(name, justify="right")
    everything, grouped = [], []
    for table, X in tables().items():
        for name, k, values in releases(X):
            found = assess(X, values)
            everything.append(found)
            if name != NOISE:
                grouped.append(found)
            figures = (f"{100 * getattr(found, figure):.1f}" for figure in FIGURES)
            shown.add_row(table, name, str(k or ""), *figures)
    shown.add_section()
    shown.add_row("rank correlation", "all", "", *correlations(everything))
    shown.add_row("with average_risk", "grouped", "", *correlations(grouped))
    Console().print(shown)


if __name__ == "__main__":
    main()
