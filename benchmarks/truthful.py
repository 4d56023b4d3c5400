"""Truthful groups: loss and proven share, beside whole columns and cuts at medians.

Run:  python benchmarks/truthful.py                ten minutes: adult-5, cells-3, small,
                                                   brute and downcoding
      python benchmarks/truthful.py all            every part, hours
      python benchmarks/truthful.py PART ...

Adult, its hierarchies and testdata are read from the folder in AGGOPT_DATA.  Loss is in
% of that if all cells are suppressed, by leaves of ARX's hierarchies; for testdata it
is the number of suppressed cells.  Proven is the share of the loss that is necessary.
Seconds are of the processor, of a first call less its compilation: search, then bound.

    adult-K   All of Adult, K = 2, 5, 10, 25: 8 attributes of 30 162 records.
    lattice   All of Adult by whole columns, for these k.
    rivals-K  All of Adult by other groups.
    sample    2000 records of Adult, k = 5, effort = "best", and the rivals on them.
    cells-K   testdata, 7 keys that publish the value or nothing, K = 3, 5.
    missing   The same keys if a missing value matches anything, k = 3 and 5.
    weights   The same keys, k = 3, with other weights of two keys.
    small     60 records of Adult, k = 3: the proven optimum.
    brute     300 tables of up to 9 records: search >= optimum >= bound.
    diverse   Adult with 2 kinds of salary in each group, k = 5, and the rivals;
              diverse-sample for 2000 records.
    downcoding  What a reader concludes because groups have least loss.

The rivals: Mondrian cuts at medians (LeFevre et al., 2006).  A point of the lattice
generalises whole columns, as ARX does: the best of all 6480 points, with no record or
up to 5 % of them suppressed.  local_search has this package's groups of least squares,
published by their lowest common nodes.  For testdata: Mondrian; a heuristic written
anew from sdcMicro's description; and hubs, a few records without values that match all
others.
"""

import os
import sys
from collections import Counter
from functools import cache, partial
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from _category_tables import HOUSE, folder
from _local_suppression import (
    MISSING,
    count_equal,
    count_matches,
    make_hubs,
    suppress_least_important,
)
from p3m import console, table

import aggopt
from aggopt.core.deadline import Deadline
from aggopt.encoding import Encoded
from aggopt.encoding.arx import read_rows
from aggopt.encoding.generalisation import GeneralisedTable, generalise
from aggopt.encoding.generalisation_rule import GeneralisationRule
from aggopt.partition import Partition, generalising, local_search
from aggopt.partition._generalising import generalising as method
from aggopt.partition._generalising.certificate import bound_generalised_loss
from aggopt.partition._generalising.start import cut_at_medians
from aggopt.partition.shared.scaling import Weighing
from aggopt.privacy import distinct_l

KEYS = [
    *("sex", "age", "race", "marital-status", "education"),
    *("native-country", "workclass", "occupation"),
]


KS = (2, 5, 10, 25)


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


def search_lattice(
    frame: pd.DataFrame, ks: tuple[int, ...], confidential: str | None = None
) -> np.ndarray:
    """Return the least loss in % of all points, (k, 2): none and 5 % suppressed.

    Groups with one confidential value are suppressed, too.
    """
    codes, losses, distinct = levels_of_columns(frame, confidential)
    counts = distinct["count"].to_numpy()
    kinds = None
    if confidential is not None:
        kinds = np.unique(distinct[confidential], return_inverse=True)[1]
    n, d = counts.sum(), len(codes)
    best = np.full((len(ks), 2), np.inf)
    for point in product(*(range(len(c)) for c in codes)):
        key = np.zeros(len(counts), np.int64)
        for column, height in zip(codes, point, strict=True):
            key = key * (column[height].max() + 1) + column[height]
        loss = sum(c[height] for c, height in zip(losses, point, strict=True))
        _, group = np.unique(key, return_inverse=True)
        sizes = np.bincount(group, counts)[group]
        is_alike = np.zeros(len(sizes), bool)
        if kinds is not None:
            first = np.bincount(group, counts * (kinds == kinds[0]))[group]
            is_alike = (first == 0) | (first == sizes)
        for row, k in enumerate(ks):
            is_small = (sizes < k) | is_alike
            suppressed = counts[is_small].sum()
            total = float(counts[~is_small] @ loss[~is_small]) + d * suppressed
            for place, share in enumerate((0.0, 0.05)):
                if suppressed <= share * n:
                    best[row, place] = min(best[row, place], total)
    return 100 * best / (n * d)


def levels_of_columns(
    frame: pd.DataFrame, confidential: str | None
) -> tuple[list, list, pd.DataFrame]:
    """Return codes and losses (heights, c) of distinct records, and these."""
    named = KEYS if confidential is None else [*KEYS, confidential]
    distinct = frame[named].value_counts().reset_index()
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
    return codes, losses, distinct


def process_time() -> float:
    """Return the seconds of the processor, those of solvers in other processes too."""
    return sum(os.times()[:4])


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


def print_lattice(frame: pd.DataFrame, ks: tuple[int, ...]) -> None:
    """Print the least losses of whole columns for some records of Adult."""
    shown = table(
        f"Whole columns, {len(frame)} records of Adult, loss in %", "k",
        "none suppressed", "up to 5 %", "seconds",
    )  # fmt: skip
    started = process_time()
    points = search_lattice(frame, ks)
    seconds = f"{process_time() - started:.0f} for all"
    for k, losses in zip(ks, points, strict=True):
        shown.add_row(str(k), *(f"{loss:.2f}" for loss in losses), seconds)
    console.print(shown)


def print_rivals(frame: pd.DataFrame, k: int) -> None:
    """Print the losses of other groups of some records of Adult."""
    shown = table(
        f"Other groups, {len(frame)} records of Adult, loss in %", "k", "Mondrian",
        "seconds", "local_search", "seconds",
    )  # fmt: skip
    encoded = encode(frame)
    found = generalise(encoded)
    started = process_time()
    medians = cut_at_medians(found, lambda members: len(members) >= k)
    cut = process_time()
    squares = local_search(encoded, k).labels
    searched = process_time()
    cells = share(found, medians), cut - started, share(found, squares), searched - cut
    shown.add_row(str(k), *(f"{cell:.2f}" for cell in cells))
    console.print(shown)


def print_adult(frame: pd.DataFrame, k: int, effort: str) -> None:
    """Print the loss of truthful groups of records of Adult, and its proven share."""
    shown = table(
        f"Truthful groups, {len(frame)} records of Adult", "k", "loss in %", "proven",
        "seconds", "status",
    )  # fmt: skip
    encoded = encode(frame)
    started = process_time()
    groups = generalising(encoded, k, effort=effort)
    loss = share(generalise(encoded), groups.labels)
    shown.add_row(str(k), f"{loss:.3f}", *measure(groups, started))
    console.print(shown)


def print_all_of_adult(k: int) -> None:
    print_adult(adult(), k, "default")


def print_all_rivals(k: int) -> None:
    print_rivals(adult(), k)


def print_sample() -> None:
    print_lattice(adult(2000), (5,))
    print_rivals(adult(2000), 5)
    print_adult(adult(2000), 5, "best")


def read_keys() -> tuple[pd.DataFrame, Encoded]:
    """Return the 7 keys of testdata."""
    frame = pd.read_csv(folder() / "testdata.csv")[HOUSE].astype(str)
    return frame, aggopt.encode(frame)


def print_cells(k: int) -> None:
    """Print suppressed cells: by Mondrian, the search, and a solver after it."""
    shown = table(
        f"testdata, 7 keys, k = {k}: suppressed cells", "method", "cells", "bound",
        "proven", "seconds", "status",
    )  # fmt: skip
    _, encoded = read_keys()
    found = generalise(encoded)
    medians = cut_at_medians(found, lambda members: len(members) >= k)
    shown.add_row("Mondrian", f"{found.compute_loss(medians):.0f}", *4 * ["-"])
    for name, arguments in (
        ("search, effort default", {}),
        ("search, effort best", {"effort": "best"}),
        ("search, then HiGHS", {"time_limit": 90.0, "solver": "cvxpy:highs"}),
    ):
        started = process_time()
        groups = generalising(encoded, k, **arguments)
        cells, bound = f"{groups.loss:.0f}", f"{groups.certificate.bound:.0f}"
        shown.add_row(name, cells, bound, *measure(groups, started))
    console.print(shown)


def print_missing() -> None:
    """Print suppressed cells if a missing value matches anything."""
    frame, _ = read_keys()
    codes = [np.unique(column, return_inverse=True)[1] for column in frame.T.to_numpy()]
    keys = np.column_stack(codes)
    shown = table(
        "testdata, 7 keys, if missing matches anything", "k", "method", "cells",
        "least matches", "records below k as published",
    )  # fmt: skip
    for k in (3, 5):
        for name, published in (
            ("unchanged", keys),
            ("sdcMicro's rule", suppress_least_important(keys, k, ends_at_k=True)),
            ("whole rounds", suppress_least_important(keys, k, ends_at_k=False)),
            ("hubs", make_hubs(keys, k)),
        ):
            shown.add_row(
                str(k),
                name,
                str((published == MISSING).sum()),
                str(count_matches(published).min()),
                str((count_equal(published) < k).sum()),
            )
    console.print(shown)


def print_weights() -> None:
    """Print the suppressed cells of each key, with equal weights and with others."""
    shown = table("testdata, k = 3: cells by key", "weights", *HOUSE, "all")
    _, encoded = read_keys()
    found = generalise(encoded)
    for name, weights in (("1", {}), ("relat 3, sex 3", {"relat": 3.0, "sex": 3.0})):
        rules = {key: GeneralisationRule(weight=w) for key, w in weights.items()}
        labels = generalising(encoded, 3, rules=rules, effort="best").labels
        least, greatest = found.find_hulls(labels)
        cells = np.bincount(labels) @ (least != greatest)
        shown.add_row(name, *map(str, cells), str(cells.sum()))
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
        labels, status = method.search_low_loss(
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


def print_diverse(frame: pd.DataFrame) -> None:
    """Print the losses of groups that have 2 kinds of salary each."""
    encoded = encode(frame)
    found = generalise(encoded)
    salary = np.unique(frame["salary-class"], return_inverse=True)[1]
    shown = table(
        f"{len(frame)} records of Adult, k = 5, 2 kinds of salary, loss in %",
        "Mondrian", "lattice", "lattice, 5 %", "local_search", "generalising", "l",
        "proven", "of k alone", "seconds",
    )  # fmt: skip
    medians = cut_at_medians(
        found, lambda rows: len(rows) >= 5 and len(np.unique(salary[rows])) >= 2
    )
    points = search_lattice(frame, (5,), "salary-class")[0]
    squares = local_search(encoded, 5, confidential=salary, l=2, levels="values")
    rivals = share(found, medians), *points, share(found, squares.labels)
    started = process_time()
    groups = generalising(encoded, 5, confidential=salary, l=2, levels="values")
    losses = [f"{loss:.2f}" for loss in (*rivals, share(found, groups.labels))]
    kinds = str(distinct_l(groups, salary))
    proven, spent, _ = measure(groups, started)
    weighing = Weighing.read(None, len(frame))
    alone = bound_generalised_loss(found, groups.labels, 5, weighing) / groups.loss
    shown.add_row(*losses, kinds, proven, f"{alone:.3f}", spent)
    console.print(shown)


def print_downcoding() -> None:
    """Print how many values a reader can conclude from groups of least loss.

    A node with two leaves that two records publish has one record of each leaf: else a
    smaller value would be true of both.
    """
    shown = table(
        "2000 records of Adult: conclusions from least loss", "k", "cells generalised",
        "both values certain", "records with such a cell",
    )  # fmt: skip
    encoded = encode(adult(2000))
    found = generalise(encoded)
    number = [len(list(read_rows(hierarchy(name)))) for name in KEYS]
    for k in (2, 3, 5):
        labels = generalising(encoded, k).labels
        least, greatest = found.find_hulls(labels)
        sizes = np.bincount(labels)[:, None]
        losses = np.column_stack(
            [
                a.losses(least[:, j], greatest[:, j])
                for j, a in enumerate(found.attributes)
            ]
        )
        leaves = np.rint(losses * (np.array(number) - 1)) + 1
        certain = (leaves == 2) & (sizes == 2)
        shown.add_row(
            str(k),
            str((sizes * (leaves > 1)).sum()),
            str((sizes * certain).sum()),
            str(sizes[certain.any(axis=1)].sum()),
        )
    console.print(shown)


PARTS = {
    **{f"adult-{k}": partial(print_all_of_adult, k) for k in KS},
    "lattice": lambda: print_lattice(adult(), KS),
    **{f"rivals-{k}": partial(print_all_rivals, k) for k in KS},
    "sample": print_sample,
    "cells-3": partial(print_cells, 3),
    "cells-5": partial(print_cells, 5),
    "missing": print_missing,
    "weights": print_weights,
    "small": print_small,
    "brute": print_brute,
    "diverse": lambda: print_diverse(adult()),
    "diverse-sample": lambda: print_diverse(adult(2000)),
    "downcoding": print_downcoding,
}


SHORT = ("adult-5", "cells-3", "small", "brute", "downcoding")

if __name__ == "__main__":
    compile_kernels()
    asked = sys.argv[1:] or SHORT
    for part in PARTS if "all" in asked else asked:
        PARTS[part]()
