"""Counts of values, alone and in pairs, in whole numbers."""

from dataclasses import dataclass, field
from math import fsum

import numpy as np

from aggopt.core.types import F64, I64


@dataclass(frozen=True, eq=False)
class Contingency:
    """The cells of a two-way table that are not empty.

    Attributes
    ----------
    n
        Number of records.
    count, row, column : (cells,)
        Numbers of records of each cell, of its row and of its column.
    rows, columns
        Numbers of rows and columns that are not empty.
    """

    n: int
    count: I64 = field(repr=False)
    row: I64 = field(repr=False)
    column: I64 = field(repr=False)
    rows: int
    columns: int

    @classmethod
    def of(cls, x: I64, y: I64) -> "Contingency":
        """Return the table of codes x and y (n,)."""
        (a, of_a), (b, of_b) = (_occurring(codes) for codes in (x, y))
        cells, count = np.unique(a * len(of_b) + b, return_counts=True)
        row, column = np.divmod(cells, len(of_b))
        return cls(len(x), count, of_a[row], of_b[column], len(of_a), len(of_b))

    @property
    def squared(self) -> float:
        """Mean square contingency: chi-squared / n.

        The expected numbers of empty cells add up to n less those of the others.
        """
        expected = self.row * self.column
        apart = np.square(self.n * self.count - expected, dtype=float)
        empty = self.n**2 - int(expected.sum())
        return (fsum((apart / expected).tolist()) + empty) / self.n**2

    @property
    def cramers_v(self) -> float:
        """Cramer's V, 0..1; 0 if a margin has one value."""
        fewer = min(self.rows, self.columns) - 1
        return (self.squared / fewer) ** 0.5 if fewer else 0.0

    @property
    def information(self) -> float:
        """Mutual information in nats."""
        ratio = self.n * self.count / (self.row * self.column)
        return max(_per_record(np.log(ratio), self.count, self.n), 0.0)

    @property
    def left(self) -> float:
        """Entropy in nats of the row given the column."""
        return _per_record(np.log(self.column / self.count), self.count, self.n)

    @property
    def entropy(self) -> float:
        """Entropy of the row in nats."""
        return _per_record(np.log(self.n / self.row), self.count, self.n)


def frequencies(before: I64, after: I64) -> tuple[I64, I64]:
    """Return the counts of values before and after, for values that occur in either.

    >>> frequencies(np.array([4, 4, 7]), np.array([4, 9, 9]))
    (array([2, 1, 0]), array([1, 0, 2]))
    """
    n = len(before)
    place, count = _occurring(np.concatenate([before, after]))
    first = np.bincount(place[:n], minlength=len(count))
    return first, count - first


def mean(figures: list[float]) -> float | None:
    """Return the mean of figures; None without figures."""
    return sum(figures) / len(figures) if figures else None


def _occurring(codes: I64) -> tuple[I64, I64]:
    """Return the index of each code among distinct codes, (n,), and their counts."""
    found = np.unique(codes, return_inverse=True, return_counts=True)
    return found[1].ravel(), found[2]


def _per_record(values: F64, counts: I64, n: int) -> float:
    """Return the mean of values (cells,) over n records, whatever the cells' order."""
    return fsum((values * counts).tolist()) / n
