"""Time and memory of encoded categories beside those of plain numbers, in one process.

Adult's 8 attributes are 92 coordinates; rivals are 92 columns of normal numbers, and 8
of them.  Each method runs once before it is measured, so that nothing is compiled.
"""

import resource
import time
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from _category_tables import adult

from aggopt.partition import blocked, local_search, loss_bound, mdav

K = 5
METHODS: dict[str, Callable[..., Any]] = {
    "mdav": mdav,
    "blocked": blocked,
    "local_search, fast": lambda X, k: local_search(X, k, effort="fast"),
    "loss_bound": loss_bound,
}
FEW = 12_000  # records of the first run: enough for a tree of boxes


class Row(NamedTuple):
    """One method on one table.

    Attributes
    ----------
    cpu, wall
        Seconds.
    peak
        MB of arrays, at most.
    il
        In %, None of a bound.
    times, memory
        CPU time and peak over those of 92 columns of numbers.
    """

    method: str
    data: str
    cpu: float
    wall: float
    peak: float
    il: float | None
    times: float
    memory: float


def rows(names: tuple[str, ...] = ()) -> Iterator[Row]:
    """Yield a row for each method and table, that of as many numbers first."""
    encoded = adult().encoded
    n, p = encoded.shape
    draw = np.random.default_rng(0).normal
    tables: dict[str, Any] = {
        f"{p} columns of numbers": draw(size=(n, p)),
        f"Adult: {p} coordinates": encoded,
        f"{len(encoded.attributes)} columns of numbers": draw(
            size=(n, len(encoded.attributes))
        ),
    }
    for name in names or METHODS:
        METHODS[name](np.asarray(encoded)[:FEW], K)
        rival = None
        for data, X in tables.items():
            found = _measured(METHODS[name], X)
            rival = rival or found
            ratios = found[0] / rival[0], found[2] / rival[2]
            yield Row(name, data, *found, *ratios)


def _measured(
    method: Callable[..., Any], X: Any
) -> tuple[float, float, float, float | None]:
    tracemalloc.start()
    before, started = _spent(), time.perf_counter()
    made = method(X, K)
    cpu, wall = _spent() - before, time.perf_counter() - started
    peak = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    if isinstance(made, float):
        return cpu, wall, peak, None
    Z = np.asarray(X)
    total = float(((Z - Z.mean(axis=0)) ** 2 / _squares_of(X)).sum())
    return cpu, wall, peak, 100 * made.loss / total


def _squares_of(X: Any) -> Any:
    """Return by what squares are divided: numbers are measured as z-scores."""
    return X.var(axis=0) if isinstance(X, np.ndarray) else 1.0


def _spent() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
