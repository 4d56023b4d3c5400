"""How long the measures of a release with categories take, on Adult.

Run:  python benchmarks/measures.py
Adult, 30 162 records and 8 quasi-identifiers, is read from the folder adult in
AGGOPT_DATA.
Groups of 5 and more, their means and most frequent categories.  Seconds are those of
the processor, all its cores together, and of the clock.

Rival: the distance linkage (DLD) by all distances, as SciPy's cdist finds them, in
blocks of records.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from _category_tables import Typed, adult
from rich.console import Console
from rich.table import Table
from scipy.spatial.distance import cdist

import aggopt
from aggopt.measure import MEASURES, assess
from aggopt.measure._pair import Pair
from aggopt.measure.registry import TypedComparison

K = 5


def released(table: Typed) -> pd.DataFrame:
    """Return means and most frequent categories of groups."""
    encoded = table.encoded
    groups = np.asarray(aggopt.partition.blocked(encoded, K, effort="fast"))
    columns = {}
    for each in encoded.attributes:
        if each.numbers is None:
            columns[each.name] = aggopt.aggregate.plurality(each, groups).values
        else:
            sums = np.bincount(groups, each.numbers.values)
            columns[each.name] = (sums / np.bincount(groups))[groups]
    return pd.DataFrame(columns)


def timed(what: Callable[[], Any]) -> tuple[Any, float, float]:
    """Return what is found, with seconds of the processor and of the clock."""
    spent, clock = time.process_time(), time.perf_counter()
    found = what()
    return found, time.process_time() - spent, time.perf_counter() - clock


def by_all_distances(pair: Pair) -> float:
    """Return the DLD, ties among rows that are equal or equally near counted."""
    rows, own, sizes = np.unique(
        pair.released, axis=0, return_inverse=True, return_counts=True
    )
    linked, own = 0.0, own.ravel()
    for start in range(0, pair.n, 500):
        part = slice(start, start + 500)
        apart = cdist(pair.original[part], rows)
        near = apart <= apart.min(axis=1, keepdims=True) * (1 + 1e-12) + 1e-9
        linked += (near[np.arange(len(apart)), own[part]] / (near @ sizes)).sum()
    return float(linked / pair.n)


def main() -> None:
    """Print what each part took."""
    table = adult()
    frame, how = table.frame, table.types
    masked = released(table)
    few, small = frame[:50], masked[:50]
    assess(few, few.assign(age=small["age"]), how)  # loads what it needs
    everything, *whole = timed(lambda: assess(frame, masked, how))
    tables, *made = timed(lambda: TypedComparison.of(frame, masked, how))
    linkage, *linked = timed(lambda: tables.figure(MEASURES["linkage"]))
    dld, *near = timed(lambda: tables.figure(MEASURES["dld"]))
    again, *slowly = timed(lambda: by_all_distances(tables.pair))
    assert (linkage, dld) == (everything.linkage, everything.dld)
    assert abs(again - dld) < 1e-9
    sheet = Table(
        "part", "processor s", "clock s", title=f"Adult, {len(frame)} records"
    )
    rows = {
        "all measures": whole,
        "of it coordinates": made,
        f"of it linkage, {100 * linkage:.2f} %": linked,
        f"of it DLD, {100 * dld:.2f} %": near,
        "DLD by all distances": slowly,
        "ratio to ours": [b / a for a, b in zip(near, slowly, strict=True)],
    }
    for name, figures in rows.items():
        sheet.add_row(name, *(f"{figure:.2f}" for figure in figures))
    Console(width=80).print(sheet)


if __name__ == "__main__":
    main()
