"""Local search on the reference tables: how near it comes to the best that is known."""

import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from aggopt import datasets
from aggopt.core.deadline import Deadline
from aggopt.core.record_weights import compute_sse
from aggopt.core.standardise import Scale
from aggopt.partition import local_search, mdav
from aggopt.partition._local_search.local_search import NEAR
from aggopt.partition._local_search.search import improve_labels
from aggopt.partition.neighbours import find_neighbours

KNOWN = {  # IL in % of the best partitions met so far, by many minutes of search
    "Tarragona": {3: 14.4673, 4: 17.0815, 5: 20.1498, 10: 30.110},
    "Census": {3: 4.6679, 4: 6.0310, 5: 7.2410, 10: 11.380},
    "EIA": {3: 0.34890, 4: 0.48302, 5: 0.72984, 10: 1.9329},
}
PROMISED = {"Tarragona": 0.3, "Census": 1.0, "EIA": 1.0}  # % above it, at most


class Row(NamedTuple):
    """IL in % by MDAV, one descent, each effort and a time; `above` in % of KNOWN."""

    table: str
    k: int
    mdav: float
    descent: float
    descent_seconds: float
    fast: float
    fast_seconds: float
    default: float
    default_seconds: float
    best: float
    best_seconds: float
    timed: float
    seconds: float
    bound: float
    above: float
    promised: float


def rows(seconds: float = 2.0, seed: int = 0) -> Iterator[Row]:
    """Yield a row per table and k."""
    local_search(np.eye(40), 10)  # compiles
    for name, known in KNOWN.items():
        X = table(name)
        for k, best in known.items():
            yield _row(name, X, k, best, seconds, seed)


def timed(seconds: float, seeds: range) -> Iterator[tuple[str, int, list[float]]]:
    """Yield table, k and the excess over KNOWN in %, by seed."""
    local_search(np.eye(40), 10)  # compiles
    for name, known in KNOWN.items():
        X = table(name)
        for k, best in known.items():
            found = [_il(X, k, time_limit=seconds, seed=seed)[0] for seed in seeds]
            yield name, k, [100 * (il / best - 1) for il in found]


def table(name: str) -> np.ndarray:
    if name == "EIA":
        return datasets.eia()[datasets.EIA_PUBLISHED].to_numpy(float)
    frame = datasets.census() if name == "Census" else datasets.tarragona()
    return frame.to_numpy(float)


def _row(
    name: str, X: np.ndarray, k: int, best: float, seconds: float, seed: int
) -> Row:
    Z = Scale.of(X).standardise(X)
    start = mdav(X, k).labels
    begun = time.perf_counter()
    descended = improve_labels(
        Z,
        start,
        k,
        find_neighbours(Z, NEAR),
        perturbations=0,
        seed=seed,
        clock=Deadline(None),
    )
    spent = time.perf_counter() - begun
    efforts = [_il(X, k, effort=e, seed=seed) for e in ("fast", "default", "best")]
    il, took, bound = _il(X, k, time_limit=seconds, seed=seed)
    unit = 100 / X.size
    return Row(
        name,
        k,
        unit * compute_sse(Z, start),
        unit * compute_sse(Z, descended),
        spent,
        *(figure for effort in efforts for figure in effort[:2]),
        il,
        took,
        bound,
        100 * (il / best - 1),
        PROMISED[name],
    )


def _il(X: np.ndarray, k: int, **options: Any) -> tuple[float, float, float]:
    begun = time.perf_counter()
    found = local_search(X, k, **options).certificate
    spent = time.perf_counter() - begun
    unit = 100 / X.size
    return unit * found.objective, spent, unit * (found.bound or 0.0)
