"""A confidential attribute with an order, in bins, and exact earth mover's distances.

    EMD(C) = sum_i |n cnt_C(i) - |C| below_i| / (n |C| (m - 1)),   i = 0..m-1,

where bins 0..i contain `cnt_C(i)` records of group C and `below_i` of all n: the
ordered distance of Li, Li and Venkatasubramanian (t-closeness, ICDE 2007), 0 to 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from math import inf
from numbers import Real
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from aggopt.core.columns import code_entries, iter_columns, list_plain_entries
from aggopt.core.plural import agree, is_or_are, plural
from aggopt.core.types import I64
from aggopt.errors import JobError, TableError
from aggopt.privacy.distance import Distance, require_exact
from aggopt.privacy.distance import read_threshold as read_threshold

Bins = Literal["distinct", "rank"]
BINS = get_args(Bins)


@dataclass(frozen=True, eq=False)
class Ordered(Distance):
    """One confidential attribute of n records, in m bins that have an order.

    Attributes
    ----------
    place : (n,)
        Bin of each record, 0..m-1.
    below : (m,)
        Number of records in bins 0..j; the last is n.

    For a table in parts, `place` has one entry for each present value, and `below`
    counts all records.

    Raises
    ------
    InfeasibleInputError
        n * n * m exceeds what an int64 holds, so that nothing could be exact.
    """

    place: I64 = field(repr=False)
    below: I64 = field(repr=False)

    def __post_init__(self) -> None:
        require_exact(self.n, self.m)

    @classmethod
    def of(cls, values: npt.ArrayLike, bins: str = "distinct") -> "Ordered":
        """Return confidential numbers (n,) in bins.

        "distinct": one bin per distinct value, which certifies t.  "rank": n bins,
        records ordered by value and, among equals, by position, as experiments in
        print count.

        Raises
        ------
        TableError
            Not one number per record; the message never gives a value.
        JobError
            `bins` is neither.

        Examples
        --------
        >>> Ordered.of([30, 10, 10]).place
        array([1, 0, 0])
        >>> Ordered.of([30, 10, 10], "rank").place
        array([2, 0, 1])
        """
        require_bins(bins)
        numbers = _read_numbers(values)
        if bins == "rank":
            place = np.empty(len(numbers), np.int64)
            place[np.argsort(numbers, kind="stable")] = np.arange(len(numbers))
        else:
            place = np.unique(numbers, return_inverse=True)[1].astype(np.int64)
        return cls(place, np.cumsum(np.bincount(place), dtype=np.int64))

    @classmethod
    def read(cls, values: Any, bins: str = "distinct") -> "Ordered":
        """Return confidential numbers (n,), however they are passed, in bins.

        Raises
        ------
        TableError
            Values are missing, not numbers, or not in one column.
        JobError
            As `of`.
        """
        require_bins(bins)
        columns = list(iter_columns(values, "The confidential attribute"))
        if len(columns) != 1:
            raise TableError(
                f"The confidential attribute has {len(columns)} columns.",
                fix="pass one value per record, shape (n,).",
            )
        return cls.of(_rank_entries(columns[0][1]), bins)

    @property
    def n(self) -> int:
        """Number of records of the table."""
        return int(self.below[-1])

    @property
    def m(self) -> int:
        """Number of bins; with one, every EMD is 0."""
        return len(self.below)

    @property
    def unit(self) -> int:
        """Return n (m - 1)."""
        return self.n * (self.m - 1)

    @cached_property
    def sums(self) -> I64:
        """Sum of `below` over the bins before j, (m + 1,)."""
        return np.concatenate(([0], np.cumsum(self.below, dtype=np.int64)))

    @cached_property
    def first(self) -> I64:
        """First bin whose `below` exceeds v, or m, for v = 0..n."""
        values = np.arange(self.n + 1)
        return np.searchsorted(self.below, values, side="right").astype(np.int64)

    def runs(self, places: I64, starts: I64) -> I64:
        """Return the numerator of each places[starts[g]:starts[g + 1]], ascending."""
        if self.n > len(self.place):  # `first` is as long as a table may be large
            return compute_numerators(places, starts, self.below, self.sums)
        from aggopt.privacy import emd_kernels as _emd_kernels

        out = np.empty(len(starts) - 1, np.int64)
        _emd_kernels.fill_numerators(places, starts, self.n, self.sums, self.first, out)
        return out

    def profile(self, counts: I64) -> I64:
        """Return the number of counted records in bins 0..j, (m,)."""
        return np.cumsum(counts)

    def counted(self, counts: I64) -> "Ordered":
        """Return the attribute in a table with `counts` records of each value."""
        below = np.cumsum(np.bincount(self.place, counts)).astype(np.int64)
        return replace(self, below=below)


def require_bins(bins: object) -> None:
    """Refuse bins that are not a name in `BINS`."""
    if not isinstance(bins, str) or bins not in BINS:
        shown = repr(bins) if isinstance(bins, str) else type(bins).__name__
        raise JobError(
            f"bins is {shown}, and none of {', '.join(map(repr, BINS))}.",
            fix='write bins = "distinct" to certify t, or "rank" to count as '
            "experiments in print do.",
        )


def _rank_entries(entries: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return entries (n,) that are all there and numbers, objects as their ranks."""
    codes, _ = code_entries(entries)
    missing = int((codes < 0).sum())
    if missing:
        raise TableError(
            f"{plural(missing, 'confidential value')} {is_or_are(missing)} missing.",
            fix="remove those records or fill the values first.",
        )
    distinct = list_plain_entries(entries[np.unique(codes, return_index=True)[1]])
    words = sum(not isinstance(value, Real | Decimal) for value in distinct)
    if words:
        raise TableError(
            f"{words} of {plural(len(distinct), 'distinct confidential value')} "
            f"{agree(words, 'is no number', 'are no numbers')}.",
            fix="recode them as numbers in the order in which they are close: ranks, "
            "0 for the lowest; a date as days since a day.  A job orders them itself, "
            "and knows other distances.",
        )
    return rank_numbers(distinct)[codes] if entries.dtype == object else entries


def _read_numbers(values: npt.ArrayLike) -> npt.NDArray[np.generic]:
    array = np.asarray(values)
    if array.ndim != 1 or not array.size:
        raise TableError(
            f"The confidential attribute has shape {array.shape}.",
            fix="pass one value per record, shape (n,).",
        )
    if array.dtype.kind not in "biuf":
        raise make_unordered_error(
            f"The confidential attribute has entries of type {array.dtype}"
        )
    missing = int((~np.isfinite(array)).sum())
    if missing:
        raise TableError(
            f"The confidential attribute has {missing} missing or infinite entries.",
            fix="remove those records or fill the entries first.",
        )
    return array


def compute_numerators(places: I64, starts: I64, below: I64, sums: I64) -> I64:
    """Return `sum_i |n cnt(i) - s below_i|` of each group, (groups,).

    Group g is places[starts[g]:starts[g + 1]], bins in ascending order; `below` (m,)
    contains the number of records of the table in bins 0..i, and `sums` (m + 1,) the
    sums of `below` before i.  The table may be larger than memory.

    The terms are as in `emd_kernels`.  Between two neighbouring members of a group of
    s, with r members to the left, the terms `n r - s below_i` change their sign once,
    at the first bin whose `below` exceeds `floor(n r / s)`.  Bisection finds this bin:
    a table of all counts up to n would be as long as the table of records.
    """
    sizes = np.diff(starts)
    n = below[-1]
    last = len(below) - 1
    s = np.repeat(sizes, sizes)
    r = np.arange(len(places)) - np.repeat(starts[:-1], sizes) + 1
    ends = np.append(places[1:], last)
    ends[starts[1:] - 1] = last  # of the last member, up to the last bin
    numerators = np.add.reduceat(
        _compute_terms(r, s, places, ends, n, below, sums), starts[:-1]
    )
    return np.asarray(
        numerators + sizes * sums[places[starts[:-1]]]
    )  # before the first


def _compute_terms(
    r: I64, s: I64, a: I64, b: I64, n: int, below: I64, sums: I64
) -> I64:
    """Return the terms of bins a..b-1, with r of s members to their left."""
    split = np.clip(np.searchsorted(below, n * r // s, side="right"), a, b)
    before = sums[split] - sums[a]
    after = sums[b] - sums[split]
    return np.asarray(n * r * (2 * split - a - b) - s * (before - after))


def rank_numbers(distinct: Sequence[Any]) -> I64:
    """Return the rank of each of some different numbers (m,), 0..m-1.

    Raises
    ------
    TableError
        The values are not numbers, or not finite.

    Examples
    --------
    >>> rank_numbers([10**30, Decimal("0.1"), 10**30 - 1])
    array([2, 0, 1])
    """
    words = sum(not isinstance(value, Real | Decimal) for value in distinct)
    if words:
        raise make_unordered_error(
            f"{words} of {plural(len(distinct), 'distinct value')} "
            f"{agree(words, 'is no number', 'are no numbers')}"
        )
    exact = [_read_comparable(value) for value in distinct]
    endless = exact.count(None)
    if endless:
        raise TableError(
            f"{endless} of {plural(len(distinct), 'distinct confidential value')} "
            f"{is_or_are(endless)} infinite.",
            fix="remove those records, or set the values to a finite number.",
        )
    rank = np.empty(len(exact), np.int64)
    rank[sorted(range(len(exact)), key=exact.__getitem__)] = np.arange(len(exact))
    return rank


def make_unordered_error(shown: str) -> TableError:
    """Return the refusal of values that have no order of their own."""
    return TableError(
        f"{shown}, which have no order that could be relied on.",
        fix='say the order, order=["low", "high"], or choose distance="equal" or '
        '"hierarchical"; or recode it as numbers in the order that is meant '
        "(a date as days since a day).",
    )


def _read_comparable(value: Any) -> Any:
    """Return a number that is compared with the others exactly; None if infinite."""
    number = value.item() if isinstance(value, np.generic) else value
    if isinstance(number, int | float):  # which Python compares so, and fast
        return number if abs(number) < inf else None
    try:
        return Fraction(number)
    except (OverflowError, ValueError):  # infinite
        return None
