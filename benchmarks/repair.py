"""Repair of partitions to t-closeness, beside the figures of the prototypes.

Run:  AGGOPT_DATA=... python benchmarks/repair.py [sweep|merge|bound]
Census: quasi-identifiers TAXINC and POTHVAL; loss is the mean over records and
attributes of the squared z-difference.
"""

import sys
import time

import numpy as np
from rich.console import Console
from rich.table import Table

from aggopt import datasets
from aggopt.partition import mdav
from aggopt.repair import closeness
from aggopt.repair._problem import bound_loss, create_problem

QI = ["TAXINC", "POTHVAL"]
SWEPT = {  # at t = .05, .13, .25, with rank EMD
    ("FICA", 2): (0.3094, 0.1652, 0.0442),
    ("FICA", 5): (0.3094, 0.1673, 0.0471),
    ("FICA", 10): (0.3094, 0.1721, 0.0625),
    ("FEDTAX", 2): (0.5533, 0.4167, 0.1653),
    ("FEDTAX", 5): (0.5533, 0.4167, 0.1663),
    ("FEDTAX", 10): (0.5533, 0.4160, 0.1736),
}
MERGED = {  # by t, with rank EMD
    ("FICA", 30): {0.13: 0.3948, 0.17: 0.3074, 0.25: 0.1492},
    ("FICA", 20): {0.13: 0.3493, 0.25: 0.1387},
    ("FICA", 10): {0.13: 0.3147, 0.17: 0.2302, 0.25: 0.1027},
    ("FICA", 5): {0.17: 0.1880, 0.25: 0.0865},
    ("FICA", 2): {0.25: 0.0798},
    ("FEDTAX", 30): {0.13: 0.5372, 0.25: 0.3077},
    ("FEDTAX", 20): {0.13: 0.5285, 0.25: 0.2642},
    ("FEDTAX", 10): {0.13: 0.5025, 0.17: 0.4227, 0.25: 0.1958},
    ("FEDTAX", 5): {0.17: 0.3825, 0.25: 0.1929},
    ("FEDTAX", 2): {0.25: 0.2200},
}
BOUNDS = {  # with rank EMD
    "FICA": (0.2344, 0.1869, 0.1257, 0.0706, 0.0266, 0.0017, 0.0000),
    "FEDTAX": (0.4906, 0.4591, 0.4061, 0.3385, 0.2576, 0.1658, 0.0688),
}
census = datasets.census()
X = census[QI].to_numpy(float)


def sweep(console: Console) -> None:
    table = Table(title="sweep, distinct-value EMD")
    for heading in ("data", "k", "t", "loss", "prototype", "bound", "s"):
        table.add_column(heading)
    for (name, k), published in SWEPT.items():
        for t, before in zip((0.05, 0.13, 0.25), published, strict=True):
            start = time.perf_counter()
            one = np.zeros(len(X), int)
            found = closeness(X, census[name], one, k, t, method="sweep").certificate
            seconds = time.perf_counter() - start
            loss, bound = found.objective / X.size, (found.bound or 0.0) / X.size
            row = (name, k, t, f"{loss:.4f}", before, f"{bound:.4f}", f"{seconds:.1f}")
            table.add_row(*map(str, row))
    console.print(table)


def merge(console: Console) -> None:
    console.print("merge-ilp from mdav, rank EMD: loss (prototype), bound, seconds")
    for (name, k), rows in MERGED.items():
        start_labels = mdav(X, k)
        for t, before in rows.items():
            start = time.perf_counter()
            limit = 30 if k >= 10 else 90
            found = closeness(
                X, census[name], start_labels, k, t, bins="rank", time_limit=limit
            ).merging
            assert found is not None
            seconds = time.perf_counter() - start
            loss, bound = found.objective / X.size, (found.bound or 0.0) / X.size
            console.print(
                f"{name:6} k={k:2} t={t} {loss:.4f} ({before:.4f}) {bound:.4f} "
                f"{seconds:5.1f} {found.status}"
            )


def bound(console: Console) -> None:
    table = Table(title="lower bound on every t-close partition, rank EMD")
    for heading in ("data", "t", "bound", "prototype"):
        table.add_column(heading)
    for name, published in BOUNDS.items():
        for t, before in zip(
            (0.02, 0.05, 0.09, 0.13, 0.17, 0.21, 0.25), published, strict=True
        ):
            found = bound_loss(create_problem(X, census[name], 2, t, "rank")) / X.size
            table.add_row(name, str(t), f"{found:.4f}", f"{before:.4f}")
    console.print(table)


if __name__ == "__main__":
    asked = sys.argv[1:] or ["bound", "sweep", "merge"]
    for part in asked:
        {"sweep": sweep, "merge": merge, "bound": bound}[part](Console(width=110))
