"""Attainable t: the smallest t of given groups, and of any number of groups."""

from fractions import Fraction
from math import ceil
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from aggopt.core.validation import Labels, group_size, is_whole
from aggopt.core.validation import groups as checked
from aggopt.errors import InfeasibleInputError, JobError
from aggopt.privacy._ordered import Ordered
from aggopt.repair._max_emd_descent import lower_largest_emd
from aggopt.repair._problem import read_ordered, require_rows

DIGITS = 6  # of a reported t, rounded up so that it can be required
WORK = 200_000_000  # steps that a bound may take


class Held(NamedTuple):
    """Smallest t, to six digits, that groups satisfy, and the group that limits it.

    At least 0.000001, as t = 0 cannot be required. `group` is its number, `records` its
    size.
    """

    t: float
    group: int
    records: int


class Reachable(NamedTuple):
    """A t that `labels` (n,) reach, and a bound: no smaller t is attainable.

    `t` is rounded up to six digits and 0.000001 at least, so that it can be required;
    `bound` is 0.0 if the table is too large to prove one.
    """

    t: float
    bound: float
    group: int
    records: int
    labels: Labels

    def __repr__(self) -> str:
        """Return a summary without labels."""
        return (
            f"Reachable(t={self.t}, bound={self.bound:.6g}, group={self.group}, "
            f"records={self.records})"
        )


def held_t(
    labels: npt.ArrayLike, confidential: npt.ArrayLike, *, bins: str = "distinct"
) -> Held:
    """Return the smallest t that groups satisfy, and the group that limits it.

    Parameters
    ----------
    labels : (n,)
        Group of each record, 0..m-1.
    confidential : (n,)
        The confidential attribute, as in `closeness`.
    bins
        As in `closeness`.

    Raises
    ------
    TableError, JobError
        As `closeness`.

    Examples
    --------
    >>> held_t([0, 0, 1, 1], [10, 40, 30, 20])
    Held(t=0.166667, group=0, records=2)
    """
    ordered = read_ordered(confidential, bins)
    group = checked(require_rows(labels), ordered.n)
    return _measure_held(ordered, group)


def smallest_t(
    confidential: npt.ArrayLike, k: int, *, groups: int = 2, bins: str = "distinct"
) -> Reachable:
    """Return a small t that at least `groups` groups of k records can satisfy.

    For two groups it is the smallest, up to the sixth digit, unless the table is too
    large for a bound. For three or more it need not be: the smallest is between the
    bound and t. One group satisfies any t, and implies nothing.

    The quasi-identifiers are ignored: `closeness`, called with the resulting labels and
    this t, finds groups that lose less.  Three groups or more are dealt from the
    records in order of their confidential values, to and fro; then records of the worst
    group are exchanged while that brings groups closer, until no exchange does or a
    limit of work is reached.  The bound: one of the groups has at most n / groups
    records, and no set of that size is closer to the table.

    Parameters
    ----------
    confidential : (n,)
        The confidential attribute, as in `closeness`.
    k : int
        Records per group, at least.
    groups : int
        Number of groups, at least; 1 <= groups <= n / k.
    bins
        As in `closeness`.

    Raises
    ------
    InfeasibleInputError
        n records do not make `groups` groups of k.
    TableError, JobError
        As `closeness`; groups is not a whole number.

    Examples
    --------
    >>> smallest_t([10, 40, 30, 20], k=2)
    Reachable(t=0.166667, bound=0.166667, group=0, records=2)
    """
    ordered = read_ordered(confidential, bins)
    n = ordered.n
    k = group_size(k, n)
    if not is_whole(groups) or groups < 1:
        raise JobError(f"groups = {groups}.", fix="pass a whole number from 1 up.")
    if groups * k > n:
        raise InfeasibleInputError(
            f"{n} records do not make {groups} groups of k = {k} or more.",
            fix=f"set groups to at most {n // k}, or k to at most {n // groups}.",
        )
    return find_reachable(ordered, k, int(groups))


def find_reachable(ordered: Ordered, k: int, groups: int) -> Reachable:
    """Return the result of `smallest_t` for a binned attribute; n >= groups * k."""
    lowest = _bound_emd(ordered, k, groups)
    if groups == 2 and lowest.records:
        labels = _split_in_two(ordered, lowest.records)
    else:
        labels = lower_largest_emd(ordered, _deal_groups(ordered, groups), k)
    reached = _measure_held(ordered, labels)
    return Reachable(reached.t, lowest.rounded, *reached[1:], labels)


def _measure_held(ordered: Ordered, labels: Labels) -> Held:
    sizes = np.bincount(labels)
    worst = int(np.argmax(ordered.numerators(labels) / sizes))
    # t = 0 could not be required
    t = max(1, ceil(ordered.largest(labels) * 10**DIGITS)) / 10**DIGITS
    return Held(t, worst, int(sizes[worst]))


def _deal_groups(ordered: Ordered, groups: int) -> Labels:
    """Return groups dealt from the records by value: 0 1 2, 2 1 0, 0 1 2, ..."""
    turn = np.arange(ordered.n) % (2 * groups)
    labels = np.empty(ordered.n, np.intp)
    by_value = np.argsort(ordered.place, kind="stable")
    labels[by_value] = np.minimum(turn, 2 * groups - 1 - turn)
    return labels


def _split_in_two(ordered: Ordered, s: int) -> Labels:
    """Return two groups: the closest s records, s <= n / 2, and the rest.

    The rest has an equal deviation, over more records, so that it is closer still.
    """
    n = ordered.n
    counts = np.diff((2 * s * ordered.below + n) // (2 * n), prepend=0)
    by_value = np.argsort(ordered.place, kind="stable")
    places = ordered.place[by_value]
    within = np.arange(n) - np.concatenate(([0], ordered.below))[places]
    labels = np.empty(n, np.intp)
    labels[by_value] = within >= counts[places]
    return labels


class _Least(NamedTuple):
    """Least EMD of `records` records; 0 of 0 if the table is too large."""

    emd: Fraction
    records: int

    @property
    def rounded(self) -> float:
        """EMD, rounded down."""
        value = float(self.emd)
        return float(np.nextafter(value, 0)) if Fraction(value) > self.emd else value


def _bound_emd(ordered: Ordered, k: int, groups: int) -> _Least:
    """Return the least EMD of k to n / groups records.

    For s records, the numerator is least if each bin has s below / n records, rounded;
    records with these counts exist.
    """
    n = ordered.n
    max_size = ordered.n // groups
    if ordered.m == 1 or (max_size - k + 1) * ordered.m > WORK:
        return _Least(Fraction(0), 0)
    candidates = []
    for s in range(k, max_size + 1):
        over = s * ordered.below % n
        numerator = int(np.minimum(over, n - over).sum())
        candidates.append(_Least(Fraction(numerator, ordered.unit * s), s))
    return min(candidates)
