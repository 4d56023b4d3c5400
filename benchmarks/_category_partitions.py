"""Groups of mixed tables: what is published of them, beside the literature's."""

import time
from collections.abc import Callable, Iterator
from math import sqrt
from typing import NamedTuple

import numpy as np
from _category_rivals import Labels, Levels, k_modes, mdav_modes
from _category_tables import Typed, by_gaps, chile, some_of_adult, testdata

from aggopt.partition import local_search, loss_bound, mdav, optimal

K = 5
RIVAL = "MDAV, modes"
TABLES: dict[str, Callable[[], Typed]] = {
    "Adult, 2000": some_of_adult,
    "Chile": lambda: by_gaps(chile()),
    "testdata, 2000": lambda: by_gaps(testdata()),
}
HELD_TO = {  # published distance a record
    ("Adult, 2000", RIVAL): 0.542,
    ("Adult, 2000", "k-modes"): 0.473,
    ("Adult, 2000", "local search, encoded"): 0.346,
    ("Adult, 2000", "bound"): 0.212,
    ("Chile", "local search, encoded"): 0.704,
    ("testdata, 2000", "local search, encoded"): 0.638,
}


class Row(NamedTuple):
    """What one method's groups lose.

    Attributes
    ----------
    loss
        Distance of a record from what its group publishes, on average.
    rival
        The same over that of MDAV with modes.
    il
        Sum of squares within groups over that of the table.
    above
        In %: by how much `loss` exceeds what it is held to.
    """

    table: str
    method: str
    loss: float
    rival: float
    il: float
    above: float | None
    groups: int | None
    seconds: float


def rows(k: int = K) -> Iterator[Row]:
    """Yield a row for each table and method, and one for the bound."""
    for name, table in TABLES.items():
        yield from _of(name, table(), k)


def _of(name: str, table: Typed, k: int) -> Iterator[Row]:
    encoded = table.encoded
    levels, Z, n = Levels.of(encoded), np.asarray(encoded), len(encoded)
    total = float(((Z - Z.mean(axis=0)) ** 2).sum())
    methods: dict[str, Callable[[], Labels]] = {
        RIVAL: lambda: mdav_modes(levels, k),
        "k-modes": lambda: k_modes(levels, k),
        "MDAV, encoded": lambda: mdav(encoded, k).labels,
        "local search, encoded": lambda: local_search(encoded, k).labels,
    }
    first = None
    for method, divide in methods.items():
        started = time.perf_counter()
        labels = divide()
        seconds = time.perf_counter() - started
        loss = levels.lost(labels) / n
        first = first or loss
        il, above = _sse(Z, labels) / total, _above(name, method, loss)
        sizes = np.bincount(labels)
        if sizes.min() < k:
            raise SystemExit(f"{method} made a group of {sizes.min()}.")
        yield Row(name, method, loss, loss / first, il, above, len(sizes), seconds)
    started = time.perf_counter()
    # distances between levels obey the triangle inequality: k - 1 others, not k
    least = loss_bound(Z * sqrt(k / (k - 1)), k, scale="none", bound="none") / n
    il = loss_bound(encoded, k) / total
    above = _above(name, "bound", least)
    seconds = time.perf_counter() - started
    yield Row(name, "bound", least, least / first, il, above, None, seconds)


def _above(name: str, method: str, loss: float) -> float | None:
    held = HELD_TO.get((name, method))
    return None if held is None else 100 * (loss / held - 1)


def _sse(Z: np.ndarray, labels: Labels) -> float:
    sizes = np.bincount(labels)
    means = np.stack([np.bincount(labels, z) / sizes for z in Z.T], axis=1)
    return float(((Z - means[labels]) ** 2).sum())


class Proof(NamedTuple):
    """`optimal` on a mixed table, in weighted squares; beside others."""

    status: str
    objective: float
    bound: float
    local_search: float
    mdav: float
    neighbours: float
    seconds: float


def proof(records: int = 300, k: int = 3) -> Proof:
    """Return what is proven of some voters of Chile."""
    encoded = chile(records).encoded
    found = optimal(encoded, k, time_limit=600.0).certificate
    return Proof(
        str(found.status),
        found.objective,
        float(found.bound or 0.0),
        local_search(encoded, k).loss,
        mdav(encoded, k).loss,
        loss_bound(encoded, k),
        found.seconds,
    )
