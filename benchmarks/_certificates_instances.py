"""Small random tables, and what the best of all their partitions loses."""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf

import numpy as np

from aggopt.core.standardise import Scale
from aggopt.core.types import I64
from aggopt.core.validation import Floats, Labels

KINDS = ("normal", "ties", "copies", "constant", "wide")


@dataclass(frozen=True, eq=False)
class Instance:
    """Records (n, d), k, confidential values (n,) and t."""

    seed: int
    X: Floats = field(repr=False)
    k: int
    values: I64 = field(repr=False)
    t: float

    @property
    def Z(self) -> Floats:
        """The records as z-scores."""
        return np.ascontiguousarray(Scale.of(self.X).standardise(self.X))


def instance(seed: int) -> Instance:
    """Return a table of 6 to 12 records: of five kinds, in turn."""
    rng = np.random.default_rng(seed)
    n, k, d = (int(rng.integers(*span)) for span in ((6, 13), (2, 5), (1, 4)))
    X, kind = rng.normal(size=(n, d)), KINDS[seed % len(KINDS)]
    if kind == "ties":
        X = np.rint(1.5 * X)
    if kind == "copies":
        X = X[rng.integers(0, max(3, n // 2), n)]
    if kind == "constant":
        X[:, 0] = X[0, 0] if d > 1 else X[:, 0]
    if kind == "wide":
        X = X * 10.0 ** rng.integers(-6, 7, d) + 10.0 ** rng.integers(-2, 4, d)
        X[0, 0] *= 1e4
    X[0, -1] += 0.5 * (np.ptp(X[:, -1]) == 0)  # something varies
    values = rng.integers(0, int(rng.integers(2, n)), n)
    values[:2] = 0, 1
    t = float(rng.choice([0.05, 0.1, 0.2, 0.3, 0.5]))
    return Instance(seed, X, min(k, n), values, t)


def members(whole: int) -> list[int]:
    """Return the records of a set, by the bits of its number."""
    return [i for i in range(whole.bit_length()) if whole >> i & 1]


def least(n: int, k: int, cost: Callable[[list[int]], float]) -> float:
    """Return the least cost of all partitions of n records into groups of k or more.

    A group that costs inf is none.
    """
    costs = [inf] * 2**n
    for whole in range(2**n):
        if whole.bit_count() >= k:
            costs[whole] = cost(members(whole))
    best = [0.0] + [inf] * (2**n - 1)
    for whole in range(1, 2**n):
        first = whole & -whole
        rest = others = whole ^ first
        while True:
            group = others | first
            best[whole] = min(best[whole], costs[group] + best[rest ^ others])
            if not others:
                break
            others = (others - 1) & rest
    return best[-1]


def squares(Z: Floats) -> Callable[[list[int]], float]:
    """Return the cost of a group: the sum of squares about its mean."""

    def cost(group: list[int]) -> float:
        rows = Z[group]
        return float(((rows - rows.mean(axis=0)) ** 2).sum())

    return cost


def emd(values: I64, group: list[int]) -> float:
    """Return the ordered EMD between some records and all, over distinct values."""
    bins = np.unique(values)
    among = np.array([(values[group] <= v).mean() for v in bins])
    overall = np.array([(values <= v).mean() for v in bins])
    return float(np.abs(among - overall).sum() / (len(bins) - 1))


def of(labels: Labels, cost: Callable[[list[int]], float]) -> float:
    """Return what a partition costs."""
    groups = [np.flatnonzero(labels == g).tolist() for g in np.unique(labels)]
    return sum(map(cost, groups))
