"""Truthful groups: loss and proven share, beside whole columns and cuts at medians.

Run:  python benchmarks/truthful.py [PART ...]

Adult, its hierarchies and testdata are read from the folder in AGGOPT_DATA.  Loss is in
% of that if all cells are suppressed, by leaves of ARX's hierarchies; for testdata it
is the number of suppressed cells.  Proven is the share of the loss that is necessary.
Seconds are of the processor, of a first call less its compilation: search, then bound.

    adult-K   All of Adult, K = 2, 5, 10, 25: 8 attributes of 30 162 records.
    sample    2000 records of Adult, k = 5, effort = "best".
    cells     testdata, 7 keys that publish the value or nothing, k = 3 and 5.
    small     60 records of Adult, k = 3: the proven optimum.
    brute     300 tables of up to 9 records: search >= optimum >= bound.
    diverse   Adult with 2 kinds of salary in each group, k = 5.

The rivals: Mondrian cuts at medians (LeFevre et al., 2006).  A point of the lattice
generalises whole columns, as ARX does: the best of all 6480 points, with no record or
up to 5 % of them suppressed.  local_search has this package's groups of least squares,
published by their lowest common nodes.
"""

import sys
from collections import Counter
from functools import cache, partial
from itertools import product
from pathlib import Path
from time import process_time

import numpy as np
import pandas as pd
from _category_tables import HOUSE, folder
from p3m import console, table

import aggopt
from aggopt.core.deadline import Deadline
from aggopt.encoding import Encoded
from aggopt.encoding.arx import read_rows
from aggopt.encoding.generalisation import GeneralisedTable, generalise
from aggopt.partition import Partition, generalising, local_search
from aggopt.partition._generalising import generalising as method
from aggopt.partition._generalising.start import cut_at_medians
from aggopt.partition.shared.scaling import Weighing
from aggopt.privacy import distinct_l

KEYS = [
    *("sex", "age", "race", "marital-status", "education"),
    *("native-country", "workclass", "occupation"),
]


@cache
def adult(records: int | None = None) -> pd.DataFrame:
    """Return Adult as text, or some records of it, drawn with seed 0."""
    frame = pd.read_csv(folder() / "adult" / "adult.csv", sep=";", dtype=str)
    if records is not None:
        frame = frame.sample(records, random_state=0).reset_index(drop=True)
    return frame


def hierarchy(name: str) -> Path:
    return folder() / "adult" / f"adult_hierarchy_{name}.csv"


def encode(frame: pd.DataFrame) -> Encoded:
    types = {name: {"tree": str(hierarchy(name))} for name in KEYS}
    return aggopt.encode(frame[KEYS], types)


def lattice(frame: pd.DataFrame, k: int) -> tuple[float, float]:
    """Return the least loss in % of all points, without suppression and with 5 %."""
    codes, losses, counts = levels_of_columns(frame)
    n, d = counts.sum(), len(codes)
    best = [np.inf, np.inf]
    for point in product(*(range(len(c)) for c in codes)):
        key = np.zeros(len(counts), np.int64)
        for column, height in zip(codes, point, strict=True):
            key = key * (column[height].max() + 1) + column[height]
        loss = sum(c[height] for c, height in zip(losses, point, strict=True))
        _, group = np.unique(key, return_inverse=True)
        is_small = (np.bincount(group, counts) < k)[group]
        suppressed = counts[is_small].sum()
        total = float(counts[~is_small] @ loss[~is_small]) + d * suppressed
        for place, share in enumerate((0.0, 0.05)):
            if suppressed <= share * n:
                best[place] = min(best[place], total)
    return 100 * best[0] / (n * d), 100 * best[1] / (n * d)


def levels_of_columns(frame: pd.DataFrame) -> tuple[list, list, np.ndarray]:
    """Return codes and losses (heights, c) of distinct records, and their counts."""
    distinct = frame[KEYS].value_counts().reset_index()
    codes, losses = [], []
    for name in KEYS:
        rows = {row[0]: tuple(row) for row in read_rows(hierarchy(name))}
        ways = [rows[value] for value in distinct[name]]
        of_column, of_losses = [], []
        for height in range(len(ways[0])):
            below = Counter(row[height:] for row in rows.values())
            number = {node: code for code, node in enumerate(below)}
            nodes = [way[height:] for way in ways]
            of_column.append(np.array([number[node] for node in nodes]))
            leaves = np.array([below[node] for node in nodes])
            of_losses.append((leaves - 1) / (len(rows) - 1))
        codes.append(of_column)
        losses.append(of_losses)
    return codes, losses, distinct["count"].to_numpy()


def share(found: GeneralisedTable, labels: np.ndarray) -> float:
    return 100 * found.compute_loss(labels) / found.largest_loss


def compile_kernels() -> None:
    """Search and prove a few records, so that seconds leave compilation out."""
    records = np.random.default_rng(0).integers(0, 5, (40, 2)).astype(float)
    pay = np.arange(40) % 3
    _ = generalising(records, 3, time_limit=0.1).certificate
    generalising(records, 3, time_limit=0.1, confidential=pay, l=2, levels="values")


def measure(groups: Partition, started: float) -> tuple[str, str, str]:
    """Return the proven share, and the seconds of search and bound."""
    searched = process_time()
    certificate = groups.certificate
    proven = certificate.bound / certificate.objective
    seconds = f"{searched - started:.0f} + {process_time() - searched:.0f}"
    return f"{proven:.3f}", seconds, certificate.status.name.lower()


def row(frame: pd.DataFrame, k: int, effort: str) -> list[str]:
    """Return the losses of all methods for some records of Adult."""
    encoded = encode(frame)
    found = generalise(encoded)
    medians = cut_at_medians(found, lambda members: len(members) >= k)
    squares = local_search(encoded, k, effort=effort).labels
    started = process_time()
    groups = generalising(encoded, k, effort=effort)
    loss = share(found, groups.labels)
    proven, spent, _ = measure(groups, started)
    plain, suppressed = lattice(frame, k)
    rivals = (share(found, medians), plain, suppressed, share(found, squares))
    figures = [f"{value:.2f}" for value in (*rivals, loss)]
    return [str(len(frame)), str(k), *figures, proven, spent]


def print_rows(title: str, cases: list[tuple[int | None, int, str]]) -> None:
    shown = table(
        title, "records", "k", "Mondrian", "lattice", "lattice, 5 %", "local_search",
        "generalising", "proven", "seconds",
    )  # fmt: skip
    for records, k, effort in cases:
        shown.add_row(*row(adult(records), k, effort))
    console.print(shown)


def print_adult(k: int) -> None:
    print_rows("Adult, loss in %", [(None, k, "default")])


def print_sample() -> None:
    print_rows("Records of Adult, loss in %", [(2000, 5, "best")])


def print_cells() -> None:
    shown = table(
        "testdata, suppressed cells", "k", "Mondrian", "search", "proven", "seconds",
        "with HiGHS", "bound", "seconds",
    )  # fmt: skip
    frame = pd.read_csv(folder() / "testdata.csv")[HOUSE].astype(str)
    encoded = aggopt.encode(frame)
    found = generalise(encoded)
    for k in (3, 5):
        medians = cut_at_medians(found, lambda members, k=k: len(members) >= k)
        started = process_time()
        groups = generalising(encoded, k, effort="best")
        proven, spent, _ = measure(groups, started)
        exact = generalising(encoded, k, time_limit=90.0, solver="cvxpy:highs")
        certificate = exact.certificate
        shown.add_row(
            str(k),
            f"{found.compute_loss(medians):.0f}",
            f"{groups.loss:.0f}",
            proven,
            spent,
            f"{certificate.objective:.0f}",
            f"{certificate.bound:.0f}",
            f"{certificate.seconds:.0f}",
        )
    console.print(shown)


def print_small() -> None:
    shown = table(
        "60 records of Adult, k = 3, with HiGHS", "loss", "bound", "status", "seconds"
    )
    groups = generalising(encode(adult(60)), 3, time_limit=30.0, solver="cvxpy:highs")
    c = groups.certificate
    shown.add_row(
        f"{c.objective:.3f}",
        f"{c.bound:.3f}",
        c.status.name.lower(),
        f"{c.seconds:.0f}",
    )
    console.print(shown)


def print_brute() -> None:
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    from generalised import find_best, make_table

    wrong = met = tight = 0
    shares = []
    for seed in range(300):
        found, k = make_table(seed)
        weighing = Weighing.read(None, len(found))
        limit = Deadline(None)
        labels, status = method.search_groups(
            found, k, None, None, weighing, 0, 2000, limit
        )
        best, loss = find_best(found, k), found.compute_loss(labels)
        bound = method.certify_generalised(
            found, labels, k, weighing, seconds=0.0, status=status
        ).certificate.bound
        wrong += not loss + 1e-9 >= best >= bound - 1e-9
        met += loss <= best + 1e-9
        tight += bound >= best - 1e-6
        if best > 0:
            shares.append(bound / best)
    shown = table(
        "300 tables of up to 9 records", "wrong", "search is optimal",
        "bound is optimal", "mean share", "least share",
    )  # fmt: skip
    figures = f"{np.mean(shares):.3f}", f"{min(shares):.3f}"
    shown.add_row(str(wrong), str(met), str(tight), *figures)
    console.print(shown)


def print_diverse() -> None:
    frame = adult()
    encoded = encode(frame)
    found = generalise(encoded)
    salary = np.unique(frame["salary-class"], return_inverse=True)[1]
    shown = table(
        "Adult, k = 5, 2 kinds of salary, loss in %", "Mondrian", "local_search",
        "generalising", "l", "proven", "seconds",
    )  # fmt: skip
    medians = cut_at_medians(
        found, lambda rows: len(rows) >= 5 and len(np.unique(salary[rows])) >= 2
    )
    squares = local_search(encoded, 5, confidential=salary, l=2, levels="values")
    started = process_time()
    groups = generalising(encoded, 5, confidential=salary, l=2, levels="values")
    loss = share(found, groups.labels)
    kinds = distinct_l(groups, salary)
    proven, spent, _ = measure(groups, started)
    shown.add_row(
        f"{share(found, medians):.2f}",
        f"{share(found, squares.labels):.2f}",
        f"{loss:.2f}",
        str(kinds),
        proven,
        spent,
    )
    console.print(shown)


PARTS = {
    **{f"adult-{k}": partial(print_adult, k) for k in (2, 5, 10, 25)},
    "sample": print_sample,
    "cells": print_cells,
    "small": print_small,
    "brute": print_brute,
    "diverse": print_diverse,
}


if __name__ == "__main__":
    compile_kernels()
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()
