"""Measures of typed attributes once more: loops over records, as they are defined."""

from collections import Counter
from fractions import Fraction as F
from itertools import combinations
from math import erf, log, sqrt
from typing import Any

import numpy as np
import pandas as pd
from encoding.mixed import PARENT, apart
from encoding.walked import way

CATEGORIES = ["sex", "school", "illness", "place"]


class Slow:
    """Both tables, and what each attribute weighs."""

    def __init__(self, original: pd.DataFrame, released: pd.DataFrame, weights: Any):
        self.n = len(original)
        self.names = list(original)
        self.x = {name: original[name].tolist() for name in original}
        self.y = {name: released[name].tolist() for name in original}
        self.weights = dict(zip(original, weights, strict=True))
        self.rows = list(zip(*self.y.values(), strict=True))

    def apart(self, name: str, u: Any, v: Any) -> float:
        spread = float(np.std(self.x[name])) if name == "age" else 1.0
        return apart(name, u, v, spread)

    def squares(self, name: str, records: list[int]) -> float:
        """Return the sum of squares as Huygens has it: pairs over twice the size."""
        x = self.x[name]
        pairs = sum(self.apart(name, x[i], x[j]) for i in records for j in records)
        return pairs / (2 * len(records))

    def groups(self) -> list[list[int]]:
        return [
            [i for i in range(self.n) if self.rows[i] == row] for row in set(self.rows)
        ]

    def loss(self, name: str) -> float:
        pairs = zip(self.x[name], self.y[name], strict=True)
        return sum(self.apart(name, u, v) for u, v in pairs)

    def total(self, name: str) -> float:
        return self.squares(name, list(range(self.n)))

    def inner(self, name: str) -> float:
        return sum(self.squares(name, group) for group in self.groups())

    def il(self, name: str) -> float:
        return self.loss(name) / self.total(name)

    def within(self, name: str) -> float:
        return self.inner(name) / self.total(name)

    def unchanged(self, name: str) -> float:
        return sum(map(lambda u, v: u == v, self.x[name], self.y[name])) / self.n

    def kappa(self, name: str) -> float:
        """Chance is the mean over all pairs of an original and a released record."""
        x, y, n = self.x[name], self.y[name], self.n
        equal = F(sum(x[i] == y[i] for i in range(n)), n)
        chance = F(sum(u == v for u in x for v in y), n * n)
        return float((equal - chance) / (1 - chance)) if chance < 1 else 0.0

    def truth(self, name: str) -> float:
        pairs = list(zip(self.x[name], self.y[name], strict=True))
        above = PARENT if name == "illness" else {}
        return sum(v in way(u, above) for u, v in pairs) / self.n

    def sdid(self, name: str, safety: float) -> float:
        x, y = self.x[name], self.y[name]
        if name == "age":
            width = safety * float(np.std(x, ddof=1))
            return sum(abs(u - v) <= width for u, v in zip(x, y, strict=True)) / self.n
        widest = 2.0 if name == "place" else 1.0
        near = [self.apart(name, u, v) / widest for u, v in zip(x, y, strict=True)]
        return sum(d <= safety + 1e-12 for d in near) / self.n

    def sdid_chance(self, name: str, safety: float) -> float:
        """Return the mean of `sdid` over all shifts of what is released."""
        shifts = []
        for shift in range(self.n):
            other = Slow.__new__(Slow)
            other.n, other.x = self.n, self.x
            other.y = {name: self.y[name][shift:] + self.y[name][:shift]}
            shifts.append(other.sdid(name, safety))
        return sum(shifts) / self.n

    def ebil(self, name: str) -> float:
        left = 0.0
        for v in set(self.y[name]):
            own = [u for u, w in zip(self.x[name], self.y[name], strict=True) if w == v]
            left += len(own) / self.n * entropy(own)
        return left / entropy(self.x[name])

    def tv(self, name: str) -> float:
        return variation(self.x[name], self.y[name])

    def pil(self, name: str) -> float:
        return surely(self.x[name], self.y[name])

    def pairs(self) -> list[tuple[list[Any], list[Any]]]:
        """Return the pairs of levels of each record, of each two attributes."""
        return [
            (
                list(zip(self.x[a], self.x[b], strict=True)),
                list(zip(self.y[a], self.y[b], strict=True)),
            )
            for a, b in combinations([a for a in self.names if a in CATEGORIES], 2)
        ]

    def embedded(self) -> list[list[float]]:
        """Return distances of originals from released records, (n, n)."""
        return [
            [
                sum(
                    self.weights[a] * self.apart(a, self.x[a][i], self.y[a][j])
                    for a in self.names
                )
                for j in range(self.n)
            ]
            for i in range(self.n)
        ]

    def of_table(self) -> dict[str, float | None]:
        pairs, weigh = self.pairs(), self.weights
        total = sum(weigh[a] * self.total(a) for a in self.names)
        loss = sum(weigh[a] * self.loss(a) for a in self.names)
        inner = sum(weigh[a] * self.inner(a) for a in self.names)
        before = sum(information(x) for x, _ in pairs)
        after = sum(information(y) for _, y in pairs)
        return {
            "embedded_il": loss / total,
            "embedded_within": inner / total,
            "distance": loss / self.n,
            "dld": self.dld(),
            "two_way": mean([variation(x, y) for x, y in pairs]),
            "two_way_pil": mean([surely(x, y) for x, y in pairs]),
            "cramers_v": mean([abs(cramers_v(y) - cramers_v(x)) for x, y in pairs]),
            "mutual_information": after / before if before else None,
        }

    def dld(self) -> float:
        linked = 0.0
        for i, row in enumerate(self.embedded()):
            nearest = [d <= min(row) + 1e-9 for d in row]
            linked += nearest[i] / sum(nearest)
        return linked / self.n


def mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None


def entropy(values: list[Any]) -> float:
    shares = [count / len(values) for count in Counter(values).values()]
    return -sum(p * log(p) for p in shares)


def information(pairs: list[tuple[Any, Any]]) -> float:
    a, b = (list(side) for side in zip(*pairs, strict=True))
    return entropy(a) + entropy(b) - entropy(pairs)


def cramers_v(pairs: list[tuple[Any, Any]]) -> float:
    """Return V by the textbook: over all cells of rows and columns, empty ones too."""
    n, cells = len(pairs), Counter(pairs)
    rows, columns = (Counter(side) for side in zip(*pairs, strict=True))
    if min(len(rows), len(columns)) < 2:
        return 0.0
    chi = F(0)
    for a in rows:
        for b in columns:
            expected = F(rows[a] * columns[b], n)
            chi += (cells[a, b] - expected) ** 2 / expected
    return sqrt(chi / n / (min(len(rows), len(columns)) - 1))


def variation(x: list[Any], y: list[Any]) -> float:
    before, after = Counter(x), Counter(y)
    levels = set(before) | set(after)
    return sum(abs(after[v] - before[v]) for v in levels) / (2 * len(x))


def surely(x: list[Any], y: list[Any]) -> float:
    before, after, n = Counter(x), Counter(y), len(x)
    chances = []
    for v, count in before.items():
        p, q = count / n, after[v] / n
        if p < 1:
            chances.append(erf(abs(q - p) / sqrt(2 * p * (1 - p) / n)))
    return sum(chances) / len(chances) if chances else 0.0
