"""Bounds on the loss of all partitions: the share of the best known loss, by seconds.

Run:  AGGOPT_DATA=folder python benchmarks/bounds_of_groups.py [part ...]

Parts: reference, small, large, brute; and close, which takes another ten minutes and
runs if it is named.  Each row: what the neighbour bound
proves, and what the pair program proves after the budget of the row; the processor
seconds that it took in one thread, without compiling; and the aim.  Losses are the
least that are known: of `optimal` and long local searches for the reference tables, of
`local_search` for the others, with effort "fast" for the large ones.  A better
partition would raise a share.  close: partitions of two attributes of Census into
t-close groups; close:FICA:0.13 is the part of one attribute and t.  brute: tables of up
to 11 records, compared with the best of all partitions.
"""

import sys
import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from _bounds_brute import KINDS, iterate_shares
from _reference import tables

from aggopt import datasets
from aggopt.partition import local_search, loss_bound

# Information loss, the share of SST, of the best partitions known
BEST = {
    ("Tarragona", 3): 0.14467345,
    ("Tarragona", 5): 0.20149767,
    ("Tarragona", 10): 0.301103,
    ("Census", 3): 0.04667936,
    ("Census", 5): 0.07241019,
    ("Census", 10): 0.113800,
    ("EIA", 3): 0.00348903,
    ("EIA", 5): 0.00729835,
    ("EIA", 10): 0.01932895,
}
# SSE of local_search(effort="fast") on `make_clusters`, which takes minutes
FAST = {
    (20_000, 3): 3836.6189696755755,
    (20_000, 10): 7861.550139670643,
    (100_000, 3): 13790.819311380275,
}
# SSE of the best t-close partitions that `local_search` finds in eight seconds, and
# `aggopt.repair.closeness` by "sweep" after it, of two attributes of Census.  Groups of
# 5 are groups of 2, too.
CLOSE = {
    ("FICA", 0.25, 2): 61.7433,
    ("FICA", 0.25, 5): 72.7614,
    ("FICA", 0.25, 10): 98.5514,
    ("FICA", 0.13, 2): 277.2662,
    ("FICA", 0.13, 5): 277.2662,
    ("FICA", 0.13, 10): 293.5889,
    ("FICA", 0.05, 2): 647.1708,
    ("FICA", 0.05, 5): 647.1708,
    ("FICA", 0.05, 10): 647.5303,
    ("FEDTAX", 0.25, 2): 333.8364,
    ("FEDTAX", 0.25, 5): 341.5447,
    ("FEDTAX", 0.25, 10): 345.7837,
    ("FEDTAX", 0.13, 2): 878.0847,
    ("FEDTAX", 0.13, 5): 878.0847,
    ("FEDTAX", 0.13, 10): 880.0682,
    ("FEDTAX", 0.05, 2): 1183.9195,
    ("FEDTAX", 0.05, 5): 1183.9195,
    ("FEDTAX", 0.05, 10): 1185.1688,
}


class Cell(NamedTuple):
    """A table, k, a budget in seconds, the loss that is known, and the aim."""

    name: str
    records: np.ndarray
    k: int
    seconds: float
    loss: float
    aim: float
    confidential: np.ndarray | None = None
    t: float | None = None


def standardise(records: np.ndarray) -> np.ndarray:
    return np.asarray((records - records.mean(axis=0)) / records.std(axis=0))


def make_clusters(n: int) -> np.ndarray:
    """Return n records of ten clusters in ten dimensions."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(10, 10))
    return standardise(centres[rng.integers(0, 10, n)] * 3 + rng.normal(size=(n, 10)))


def list_reference() -> Iterator[Cell]:
    """Yield k = 10, where column generation proves least."""
    for name, seconds, aim in (
        ("Tarragona", 10, 0.99),
        ("Census", 20, 0.96),
        ("EIA", 60, 0.92),
    ):
        records = standardise(tables()[name])
        yield Cell(name, records, 10, seconds, BEST[name, 10] * records.size, aim)


def list_small() -> Iterator[Cell]:
    """Yield every table of up to some thousand records."""
    from sklearn.datasets import load_diabetes

    patients = standardise(load_diabetes(scaled=False).data[:, :4])
    for k in (3, 5, 10):
        for name in ("Tarragona", "Census"):
            records = standardise(tables()[name])
            yield Cell(name, records, k, 3, BEST[name, k] * records.size, 0.94)
        loss = local_search(patients, k, scale="none").loss
        yield Cell("patients", patients, k, 3, loss, 0.94)
    for k, aim in ((3, 0.94), (5, 0.95), (10, 0.90)):
        records = standardise(tables()["EIA"])
        yield Cell("EIA", records, k, 10, BEST["EIA", k] * records.size, aim)


def list_large() -> Iterator[Cell]:
    """Yield the tables that are made."""
    for n, k, seconds, aim in (
        (20_000, 3, 5, 0.91),
        (20_000, 10, 10, 0.80),
        (100_000, 3, 30, 0.88),
    ):
        yield Cell(f"{n} made", make_clusters(n), k, seconds, FAST[n, k], aim)


def list_close() -> Iterator[Cell]:
    """Yield t-close partitions: FICA and FEDTAX confidential, three k, three t."""
    census = datasets.census()
    records = standardise(census[["TAXINC", "POTHVAL"]].to_numpy(float))
    for name in ("FICA", "FEDTAX"):
        values = census[name].to_numpy(float)
        for t in (0.25, 0.13, 0.05):
            for k in (2, 5, 10):
                loss = CLOSE[name, t, k]
                title = f"{name} {t}"
                yield Cell(title, records, k, 30, loss, 0.6, values, t)


PARTS = {
    "reference": list_reference,
    "small": list_small,
    "large": list_large,
    "close": list_close,
}


def measure(cell: Cell) -> tuple[float, float, float]:
    """Return the shares of the neighbour bound and of the bound, and the seconds."""
    neighbours = loss_bound(cell.records, cell.k, scale="none", bound="none")
    start = time.process_time()
    proven = loss_bound(
        cell.records,
        cell.k,
        scale="none",
        confidential=cell.confidential,
        t=cell.t,
        bound=float(cell.seconds),
    )
    spent = time.process_time() - start
    return neighbours / cell.loss, proven / cell.loss, spent


def print_brute(tables: int = 1000, seed: int = 1) -> None:
    """Print how near the bounds of small tables are to the least loss."""
    shares: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for kind, share in iterate_shares(tables, seed):
        shares[kind].append(share)
    print(f"{'kind':<18}{'tables':>8}{'above 1 by':>14}{'median':>9}{'least':>8}")
    for kind, values in shares.items():
        print(
            f"{kind:<18}{len(values):>8}{max(values) - 1:>14.1e}"
            f"{np.median(values):>9.4f}{min(values):>8.3f}"
        )


def main() -> None:
    compile_records = make_clusters(300)
    loss_bound(compile_records, 10, bound=0.1)
    loss_bound(np.repeat(compile_records, 100, axis=0), 3, bound="none")
    names = sys.argv[1:] or ["reference", "small", "large", "brute"]
    if "brute" in names:
        print_brute()
    print(
        f"{'table':<12}{'k':>4}{'budget':>8}{'seconds':>9}"
        f"{'neighbours':>12}{'pairs':>8}{'aim':>6}"
    )
    for name in names:
        part, *title = name.split(":")
        for cell in PARTS[part]() if part != "brute" else ():
            if title and cell.name != " ".join(title):
                continue
            neighbours, pairs, spent = measure(cell)
            print(
                f"{cell.name:<12}{cell.k:>4}{cell.seconds:>8.0f}{spent:>9.1f}"
                f"{neighbours:>12.1%}{pairs:>8.1%}{cell.aim:>6.0%}",
                flush=True,
            )


if __name__ == "__main__":
    main()
