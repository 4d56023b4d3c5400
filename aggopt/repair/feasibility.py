"""Attainable t: the smallest t of given groups, and of any number of groups."""

from collections.abc import Iterator
from fractions import Fraction
from math import ceil
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from aggopt.core.types import I64
from aggopt.core.validation import Labels, check_group_size, is_whole_number
from aggopt.core.validation import check_groups as checked
from aggopt.errors import InfeasibleInputError, JobError
from aggopt.privacy.ordered_attribute import Ordered
from aggopt.repair._problem import read_ordered, require_rows

DESCENT_WORK = 20_000_000  # records of proposed groups that are evaluated, at most
EACH = 10_000  # fixed cost of a pair of groups, in records
EMD_STEP = 1e-12  # share by which an EMD must fall


class _Change(NamedTuple):
    """Proposals for two groups, one per row: their places, and the exchanged records.

    `leaving` (c,) move from the worst group to the other, `coming` (c,) back; -1 for
    none.
    """

    worst: I64
    other: I64
    leaving: Labels
    coming: Labels


def lower_largest_emd(ordered: Ordered, labels: Labels, k: int) -> Labels:
    """Return labels (n,) of as many groups with a smaller largest EMD.

    A record of the worst group is swapped with one of another group, or moved, by the
    best change for the worse of the two; until no change lowers it, or `WORK` is done.
    """
    labels = labels.copy()
    work = 0
    while True:
        sizes = np.bincount(labels)
        emd = ordered.numerators(labels) / sizes
        worst = int(np.argmax(emd))
        lowest = emd[worst] * (1 - EMD_STEP)
        best = None
        for other in range(len(sizes)):
            if other == worst:
                continue
            pair = sizes[[worst, other]]
            work += EACH + int(pair.prod() * pair.sum())
            if work > DESCENT_WORK:
                return labels
            for change in _list_changes(ordered, labels, worst, other, k):
                emds = _compute_larger_emds(ordered, change)
                at = int(np.argmin(emds))
                if emds[at] < lowest:
                    lowest = emds[at]
                    best = other, change.leaving[at], change.coming[at]
        if best is None:
            return labels
        other, leaving, coming = best
        if leaving >= 0:
            labels[leaving] = other
        if coming >= 0:
            labels[coming] = worst


def _compute_larger_emds(ordered: Ordered, change: _Change) -> I64:
    """Return the larger EMD of both changed groups, for each proposed change."""
    return np.maximum(
        _compute_emds(ordered, change.worst), _compute_emds(ordered, change.other)
    )


def _compute_emds(ordered: Ordered, places: I64) -> I64:
    """Return the EMD of each group, by its members' bins (groups, size)."""
    count, size = places.shape
    starts = np.arange(count + 1) * size
    return np.asarray(ordered.runs(np.sort(places, axis=1).ravel(), starts) / size)


def _list_changes(
    ordered: Ordered, labels: Labels, worst: int, other: int, k: int
) -> Iterator[_Change]:
    """Yield swaps of records of two groups, and moves if k allows them."""
    place = ordered.place
    worst_members = np.flatnonzero(labels == worst)
    other_members = np.flatnonzero(labels == other)
    out = np.unique(place[worst_members], return_index=True)[1]
    back = np.unique(place[other_members], return_index=True)[1]
    one, two = (at.ravel() for at in np.meshgrid(out, back, indexing="ij"))
    rows = np.arange(len(one))
    worst_places, other_places = (
        np.tile(place[who], (len(rows), 1)) for who in (worst_members, other_members)
    )
    worst_places[rows, one] = place[other_members[two]]
    other_places[rows, two] = place[worst_members[one]]
    yield _Change(worst_places, other_places, worst_members[one], other_members[two])
    if len(worst_members) > k:
        worst_places, other_places = _list_moves(
            place[worst_members], place[other_members], out
        )
        yield _Change(
            worst_places, other_places, worst_members[out], np.full(len(out), -1)
        )
    if len(other_members) > k:
        other_places, worst_places = _list_moves(
            place[other_members], place[worst_members], back
        )
        yield _Change(
            worst_places, other_places, np.full(len(back), -1), other_members[back]
        )


def _list_moves(giving: I64, taking: I64, at: Labels) -> tuple[I64, I64]:
    """Return both groups' bins after a move of each record in turn, one per row."""
    left = np.stack([np.delete(giving, i) for i in at])
    more = np.stack([np.append(taking, giving[i]) for i in at])
    return left, more


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
    """Return the smallest t that groups satisfy, and the group of that EMD.

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
    """Return a small t that some `groups` groups of k records or more satisfy.

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
    k = check_group_size(k, n)
    if not is_whole_number(groups) or groups < 1:
        raise JobError(f"groups = {groups}.", fix="pass a whole number from 1 up.")
    if groups * k > n:
        raise InfeasibleInputError(
            f"{n} records do not make {groups} groups of k = {k} or more.",
            fix=f"set groups to at most {n // k}, or k to at most {n // groups}.",
        )
    return find_reachable(ordered, k, int(groups))


def find_reachable(ordered: Ordered, k: int, groups: int) -> Reachable:
    """Return the result of `smallest_t` for an attribute in bins."""
    lowest = _bound_emd(ordered, k, groups)
    if groups == 2 and lowest.records:
        labels = _split_in_two(ordered, lowest.records)
    else:
        labels = lower_largest_emd(ordered, _deal_groups(ordered, groups), k)
    reached = _measure_held(ordered, labels)
    return Reachable(reached.t, lowest.rounded, *reached[1:], labels)


def _measure_held(ordered: Ordered, labels: Labels) -> Held:
    """Return the smallest t that the groups satisfy, rounded up, with their worst."""
    sizes = np.bincount(labels)
    worst = int(np.argmax(ordered.numerators(labels) / sizes))
    # t = 0 could not be required
    t = max(1, ceil(ordered.largest(labels) * 10**DIGITS)) / 10**DIGITS
    return Held(t, worst, int(sizes[worst]))


def _deal_groups(ordered: Ordered, groups: int) -> Labels:
    """Return labels (n,) dealt by confidential value: 0 1 2, 2 1 0, 0 1 2, ..."""
    turn = np.arange(ordered.n) % (2 * groups)
    labels = np.empty(ordered.n, np.intp)
    by_value = np.argsort(ordered.place, kind="stable")
    labels[by_value] = np.minimum(turn, 2 * groups - 1 - turn)
    return labels


def _split_in_two(ordered: Ordered, s: int) -> Labels:
    """Return labels (n,) of two groups: the s records of least EMD, and the rest.

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
        """The least EMD as a float, rounded down."""
        value = float(self.emd)
        return float(np.nextafter(value, 0)) if Fraction(value) > self.emd else value


def _bound_emd(ordered: Ordered, k: int, groups: int) -> _Least:
    """Return the least EMD of any group of k to n / groups records.

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
