"""Differences of counts of levels, and of pairs of levels, from the original's."""

from dataclasses import dataclass, field
from itertools import combinations
from math import fsum
from typing import Any

import numpy as np

from aggopt.core.types import F64, I64
from aggopt.measure._statistics import compute_probability
from aggopt.measure._typed_pair import AttributePair, TypedPair, Types
from aggopt.measure.registry import Heading, TypedComparison, TypedMeasure


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
        (a, of_a), (b, of_b) = (_count_occurring(codes) for codes in (x, y))
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
        return max(_average_per_record(np.log(ratio), self.count, self.n), 0.0)

    @property
    def left(self) -> float:
        """Entropy in nats of the row given the column."""
        return _average_per_record(np.log(self.column / self.count), self.count, self.n)

    @property
    def entropy(self) -> float:
        """Entropy of the row in nats."""
        return _average_per_record(np.log(self.n / self.row), self.count, self.n)


def count_frequencies(before: I64, after: I64) -> tuple[I64, I64]:
    """Return the counts of values before and after, for values that occur in either.

    >>> count_frequencies(np.array([4, 4, 7]), np.array([4, 9, 9]))
    (array([2, 1, 0]), array([1, 0, 2]))
    """
    n = len(before)
    place, count = _count_occurring(np.concatenate([before, after]))
    first = np.bincount(place[:n], minlength=len(count))
    return first, count - first


def compute_mean_figure(figures: list[float]) -> float | None:
    """Return the mean of figures; None without figures."""
    return sum(figures) / len(figures) if figures else None


def _count_occurring(codes: I64) -> tuple[I64, I64]:
    """Return the index of each code among distinct codes, (n,), and their counts."""
    distinct = np.unique(codes, return_inverse=True, return_counts=True)
    return distinct[1].ravel(), distinct[2]


def _average_per_record(values: F64, counts: I64, n: int) -> float:
    """Return the mean of values (cells,) over n records, whatever the cells' order."""
    return fsum((values * counts).tolist()) / n


def tv(original: Any, released: Any, attributes: Types = None) -> dict[str, Any]:
    """Return the total variation of the one-way table, by attribute, 0..1.

    Half the sum over levels of |n' - n|, over the number of records: the share of
    records that would have to change their level.  Lower is better.  None for numbers.

    Source: Domingo-Ferrer and Torra (2001), who sum differences of contingency tables.

    Examples
    --------
    >>> import pandas as pd
    >>> sex, released = pd.DataFrame({"sex": list("ffmm")}), list("fmmm")
    >>> tv(sex, pd.DataFrame({"sex": released}))
    {'sex': 0.25}
    """
    return TypedPair.of(original, released, attributes).by_attribute(_compute_tv)


def pil(original: Any, released: Any, attributes: Types = None) -> dict[str, Any]:
    """Return the probabilistic loss of shares of levels, by attribute, 0..1.

    The mean over the original's levels of erf(|p' - p| / sqrt(2 p (1 - p) / n)), with p
    and p' the original and the released share.  It is the probability that a sample of
    n from the original would differ by less.  Lower is better.  None for numbers.

    Source: Mateo-Sanz et al. (2005), for moments; for shares this package.

    Examples
    --------
    >>> import pandas as pd
    >>> sex, released = pd.DataFrame({"sex": list("ffmm")}), list("fmmm")
    >>> round(pil(sex, pd.DataFrame({"sex": released}))["sex"], 6)
    0.682689
    """
    return TypedPair.of(original, released, attributes).by_attribute(_compute_pil)


def two_way(original: Any, released: Any, attributes: Types = None) -> float | None:
    """Return the mean total variation of two-way tables, 0..1.

    Over all pairs of attributes that vary and are not numeric, `tv` of the pairs of
    levels; None without a pair.  Lower is better.

    Source: Domingo-Ferrer and Torra (2001).

    Examples
    --------
    >>> import pandas as pd
    >>> one = pd.DataFrame({"sex": list("ffmm"), "wed": list("ynyn")})
    >>> two_way(one, one.assign(wed=list("yyyn")))
    0.25
    """
    return _compute_two_way(TypedComparison.of(original, released, attributes))


def two_way_pil(original: Any, released: Any, attributes: Types = None) -> float | None:
    """Return the mean `pil` of two-way tables, 0..1, over the pairs of `two_way`.

    Source: Mateo-Sanz et al. (2005), for moments; for shares this package.

    Examples
    --------
    >>> import pandas as pd
    >>> one = pd.DataFrame({"sex": list("ffmm"), "wed": list("ynyn")})
    >>> two_way_pil(one, one)
    0.0
    """
    return compute_cell_moves(TypedComparison.of(original, released, attributes))


def _compute_tv(pair: AttributePair) -> float | None:
    if pair.of.numbers is not None:
        return None
    return _compute_variation(*count_frequencies(pair.original, pair.released))


def _compute_pil(pair: AttributePair) -> float | None:
    return compute_level_moves(pair) if pair.of.numbers is None else None


def compute_level_moves(pair: AttributePair) -> float:
    """Return `pil` of an attribute that is not numeric."""
    return _average_certainty(*count_frequencies(pair.original, pair.released))


def _compute_two_way(tables: TypedComparison) -> float | None:
    """Return the mean total variation of the tables of two attributes."""
    return compute_mean_figure(
        [_compute_variation(*counts) for counts in tables.once(_count_cells)]
    )


def compute_cell_moves(tables: TypedComparison) -> float | None:
    """Return `two_way_pil` of tables in comparison."""
    return compute_mean_figure(
        [_average_certainty(*counts) for counts in tables.once(_count_cells)]
    )


def _count_cells(tables: TypedComparison) -> list[tuple[I64, I64]]:
    """Return the counts of cells before and after, for each two-way table."""
    tables_of_counts = []
    for a, b in combinations(tables.typed.categories, 2):
        width = len(b.of.nodes)
        before = a.original * width + b.original
        after = a.released * width + b.released
        tables_of_counts.append(count_frequencies(before, after))
    return tables_of_counts


def _compute_variation(before: I64, after: I64) -> float:
    """Return the total variation between two tables of counts, 0 to 1."""
    return float(np.abs(after - before).sum() / (2 * before.sum()))


def _average_certainty(before: I64, after: I64) -> float:
    """Return the mean chance over cells whose share is neither 0 nor 1; 0 without."""
    n = before.sum()
    is_partial = (before > 0) & (before < n)
    p = before[is_partial] / n
    q = after[is_partial] / n
    chances = compute_probability(q - p, np.sqrt(p * (1 - p) / n))
    return float(chances.mean()) if len(chances) else 0.0


_TABLES = "Domingo-Ferrer and Torra (2001)"
_SHARES = "Mateo-Sanz et al. (2005)"

TV = TypedMeasure(
    name="tv",
    when="whether levels are released as often as they were",
    rank=80,
    function=tv,
    range="0..1",
    better="lower",
    source=_TABLES,
    heading=Heading.LOSS,
    label="TV",
    by_attribute=_compute_tv,
)

PIL = TypedMeasure(
    name="pil",
    when="whether their shares differ by more than those of samples",
    rank=90,
    function=pil,
    range="0..1",
    better="lower",
    source=_SHARES,
    heading=Heading.LOSS,
    label="PIL",
    by_attribute=_compute_pil,
)

TWO_WAY = TypedMeasure(
    name="two_way",
    when="TV of the tables of two attributes, mean over pairs",
    rank=160,
    function=two_way,
    range="0..1",
    better="lower",
    source=_TABLES,
    heading=Heading.PAIRS,
    label="TV of pairs",
    of_table=_compute_two_way,
)

TWO_WAY_PIL = TypedMeasure(
    name="two_way_pil",
    when="PIL of the tables of two attributes, mean over pairs",
    rank=170,
    function=two_way_pil,
    range="0..1",
    better="lower",
    source=_SHARES,
    heading=Heading.PAIRS,
    label="PIL of pairs",
    of_table=compute_cell_moves,
)
