"""Partitions of many records: information loss, seconds, memory.

Not a benchmark by itself: benchmarks/partition.py prints these rows.  Each is measured
in a fresh process, after a small call that compiles, or loads what is compiled.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from math import log

import numpy as np

from aggopt.core.validation import Floats

LIMITS = {(100_000, 3): (1.27, 5.0, None), (1_000_000, 3): (0.80, 60.0, 4.0)}
GROWTH = 1.15  # exponent of n that time from 10 000 to a million may have at most

MEASURE = """
import json, resource, sys, time, zlib
sys.path.insert(0, sys.argv[1])
from _partition_scale import clusters
import numpy as np
import aggopt

n, k, method, settings = json.loads(sys.argv[2])
f = getattr(aggopt.partition, method)
f(clusters(2000), k, **settings)
X = clusters(n)
start, cpu = time.perf_counter(), time.process_time()
labels = f(X, k, **settings)
spent = time.perf_counter() - start, time.process_time() - cpu
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
Z = (X - X.mean(axis=0)) / X.std(axis=0)
sizes = np.bincount(labels)
means = np.stack([np.bincount(labels, z) for z in Z.T], axis=1) / sizes[:, None]
loss = 100 * float(((Z - means[labels]) ** 2).sum()) / Z.size
digest = zlib.crc32(labels.labels.tobytes())
print(json.dumps([loss, *spent, peak, int(sizes.min()), digest]))
"""


@dataclass(frozen=True)
class Row:
    """What one process measured: IL in %, seconds of wall and cores, peak in GiB."""

    n: int
    k: int
    method: str
    settings: dict[str, object]
    loss: float
    seconds: float
    cores: float
    peak: float
    smallest: int
    digest: int

    @property
    def limits(self) -> tuple[float, float, float | None] | None:
        """IL, seconds and GiB that blocked partitions are to stay within, if any."""
        plain = self.method == "blocked" and not self.settings
        return LIMITS.get((self.n, self.k)) if plain else None

    @property
    def within(self) -> bool:
        """Whether it stays within them."""
        if self.limits is None:
            return True
        loss, seconds, peak = self.limits
        small = peak is None or self.peak <= peak
        return self.loss <= loss and self.seconds <= seconds and small


def clusters(n: int, d: int = 10, count: int = 10, seed: int = 0) -> Floats:
    """Return z-scores (n, d) of normal clusters, each stretched and turned its way."""
    rng = np.random.default_rng(seed)
    centres = 3 * rng.normal(size=(count, d))
    shapes = [
        np.linalg.qr(rng.normal(size=(d, d)))[0] * rng.uniform(0.4, 1.6, d)
        for _ in range(count)
    ]
    of, X = rng.integers(0, count, n), np.empty((n, d))
    for c in range(count):
        members = of == c
        deviations = rng.normal(size=(int(members.sum()), d))
        X[members] = centres[c] + deviations @ shapes[c].T
    return np.ascontiguousarray((X - X.mean(axis=0)) / X.std(axis=0))


def measured(n: int, k: int, method: str, **settings: object) -> Row:
    """Return what a fresh process measures."""
    folder, what = __file__.rpartition("/")[0], json.dumps([n, k, method, settings])
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, folder, what],
        check=True,
        capture_output=True,
        text=True,
    )
    return Row(n, k, method, settings, *json.loads(done.stdout))


def rows(*, quick: bool = False) -> Iterator[Row]:
    """Yield the rows, as they are measured; quick: without the million."""
    sizes = (10_000, 100_000) if quick else (10_000, 100_000, 1_000_000)
    for n in sizes:
        yield measured(n, 3, "blocked", effort="fast")
    for k in (3, 5, 10):
        yield measured(100_000, k, "mdav")
    yield measured(100_000, 3, "blocked", effort="fast", jobs=1)
    for n in sizes[1:]:
        yield measured(n, 3, "blocked")
    for k in (5, 10):
        for effort in ("fast", "default"):
            yield measured(100_000, k, "blocked", effort=effort)
    if not quick:
        yield measured(1_000_000, 10, "blocked", effort="fast")


def growth(found: list[Row]) -> float | None:
    """Return the exponent of n in the time from 10 000 records to the most."""
    fast = [r for r in found if (r.k, r.settings) == (3, {"effort": "fast"})]
    first, last = min(fast, key=lambda r: r.n), max(fast, key=lambda r: r.n)
    if first.n == last.n:
        return None
    return log(last.seconds / first.seconds) / log(last.n / first.n)
