"""Missing values: patterns of them, and values imputed to group records by."""

from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from aggopt.core.standardise import Scale
from aggopt.core.types import F64, I64, Bool, Labels
from aggopt.core.validation import (
    check_group_size,
    check_incomplete_matrix,
    renumber_groups,
    require_seed,
)
from aggopt.privacy.requirement import Requirement

__all__ = ["Patterns", "imputed", "patterns"]


class Patterns(NamedTuple):
    """Records by the values that they publish.

    Attributes
    ----------
    labels : (n,)
        Pattern of each record, 0..m-1.
    suppressed : (n, d)
        Whether each value is present but must not be published.
    """

    labels: Labels
    suppressed: Bool

    def __repr__(self) -> str:
        """Show counts, and no record."""
        m = int(self.labels.max()) + 1
        cells = int(self.suppressed.sum())
        return f"Patterns: {len(self.labels)} records in {m}, {cells} values suppressed"


def patterns(X: npt.ArrayLike, k: int) -> Patterns:
    """Return patterns of present values, each with at least k records.

    A release shows which records miss a value.  So each group holds records with equal
    missing attributes.  A pattern of fewer than k records is joined with another: both
    publish the attributes that both have, and the rest is suppressed.  The method is
    greedy: the rare pattern with the fewest holes is joined first, with the pattern
    that suppresses the fewest values.  If that pattern has more records than needed,
    only the necessary number change, nearest to the rare records first.

    Parameters
    ----------
    X : (n, d)
        Numbers in their own units, nan for missing values.
    k : int
        Records per pattern, at least; 1 <= k <= n.

    Returns
    -------
    Patterns
        labels (n,) and suppressed (n, d).  The records of a pattern are complete in
        the attributes that it has, so that every partitioner takes them.

    Raises
    ------
    InfeasibleInputError
        k exceeds n.
    JobError
        k is below 1 or not a whole number.
    TableError
        X is not a matrix of numbers, has infinite ones, or a column without a value.

    Examples
    --------
    >>> nan = float("nan")
    >>> X = [[1.0, 5.0], [2.0, 6.0], [3.0, nan], [4.0, nan], [nan, 7.0]]
    >>> labels, suppressed = patterns(X, k=2)
    >>> labels
    array([0, 0, 1, 1, 0])
    >>> suppressed.sum(axis=0)
    array([2, 0])
    """
    records = check_incomplete_matrix(X)
    Z = Scale.of(records).standardise(records)
    n, d = records.shape
    return combine_patterns(np.isnan(records), check_group_size(k, n), Z, np.arange(d))


def combine_patterns(absent: Bool, k: int, Z: F64, attribute: I64) -> Patterns:
    """Return the result of `patterns` for records with `absent` values (n, d).

    `Z` (n, p) are coordinates, each of one `attribute` (p,).
    """
    patterns_held, which = np.unique(~absent, axis=0, return_inverse=True)
    state = _Joining(
        patterns_held, np.split(*_sort_by_pattern(which.ravel())), Z, attribute
    )
    while (rare := state.rare(k)) >= 0:
        state.join(rare, k)
    labels = np.empty(len(absent), np.intp)
    for pattern, rows in enumerate(state.rows):
        labels[rows] = pattern
    return Patterns(renumber_groups(labels), ~absent & ~state.held[labels])


def _sort_by_pattern(which: I64) -> tuple[I64, I64]:
    """Return the records pattern by pattern, and where each but the first begins."""
    return np.argsort(which, kind="stable"), np.cumsum(np.bincount(which))[:-1]


class _Joining:
    """Patterns while they are joined: `held` (m, d), and the rows of each.

    A pattern without a row is not there any more.
    """

    def __init__(self, held: Bool, rows: list[I64], Z: F64, attribute: I64) -> None:
        self.held = held
        self.rows = rows
        self.Z = Z
        self.attribute = attribute
        self.sizes = np.array(list(map(len, rows)))

    def rare(self, k: int) -> int:
        """Return the pattern of fewer than k records with fewest holes; -1 if none."""
        few = np.flatnonzero((self.sizes > 0) & (self.sizes < k))
        if not few.size:
            return -1
        return int(few[self.held[few].sum(axis=1).argmax()])

    def join(self, p: int, k: int) -> None:
        """Join a rare pattern with the pattern that suppresses the fewest values."""
        q = int(self._count_suppressed(p, k).argmin())
        both = self.held[p] & self.held[q]
        rows = self.rows[p]
        self.rows[p] = self.rows[p][:0]
        r = self._place(both)
        if r != q:
            missing_count = k - len(rows) - len(self.rows[r])
            rows = np.append(rows, self._take_records(q, rows, both, missing_count, k))
        self.rows[r] = np.append(self.rows[r], rows)
        for changed in (p, q, r):
            self.sizes[changed] = len(self.rows[changed])

    def _count_suppressed(self, p: int, k: int) -> F64:
        """Return the count of suppressed values if p joins each pattern, (m,)."""
        size = self.sizes[p]
        shared = (self.held & self.held[p]).sum(axis=1)
        suppressed = size * (self.held[p].sum() - shared)
        more = self.held.sum(axis=1) - shared
        moved = np.where(self.sizes - (k - size) >= k, k - size, self.sizes)
        costs: F64 = (suppressed + moved * more).astype(np.float64)
        costs[self.sizes == 0] = np.inf
        costs[p] = np.inf
        return costs

    def _place(self, pattern: Bool) -> int:
        """Return the number of a pattern, a new one if it is not there."""
        places = np.flatnonzero((self.held == pattern).all(axis=1))
        if places.size:
            return int(places[0])
        self.held = np.vstack([self.held, pattern])
        self.sizes = np.append(self.sizes, 0)
        self.rows.append(np.empty(0, np.intp))
        return len(self.rows) - 1

    def _take_records(self, q: int, rows: I64, both: Bool, count: int, k: int) -> I64:
        """Take the fewest sufficient records out of q, nearest to `rows` first."""
        rows_of_q = self.rows[q]
        if count <= 0:
            return rows_of_q[:0]
        if len(rows_of_q) - count < k:
            count = len(rows_of_q)
        coordinates = self.Z[:, both[self.attribute]]
        away = ((coordinates[rows_of_q] - coordinates[rows].mean(axis=0)) ** 2).sum(
            axis=1
        )
        order = np.argsort(away, kind="stable")
        self.rows[q] = np.sort(rows_of_q[order[count:]])
        return rows_of_q[order[:count]]


NEAR = 5  # records whose mean is taken
AXES = 8  # coordinates of the search: a tree of more looks at most records
PASSES = 2  # the second finds neighbours with the values of the first
JITTER = 1e-9  # standard deviations by which equally near records differ


def imputed(X: npt.ArrayLike, *, seed: int = 0) -> F64:
    """Return records (n, d) with values in place of missing ones.

    The values serve to group records, not for publication.  For each attribute, the
    value is the mean of the 5 records that have it and are nearest in the other
    attributes, on z-scores.

    Parameters
    ----------
    X : (n, d)
        Numbers in their own units, nan for missing values.
    seed : int
        Seed of the choice among equally near records.

    Raises
    ------
    TableError
        X is not a matrix of numbers, has infinite ones, or a column without a value.
    JobError
        The seed is not a whole number from 0 up.

    Notes
    -----
    In the first search for neighbours, other missing attributes are at their means; in
    the second they are imputed.  With more than 8 coordinates, the search uses the 8
    principal axes.  Time about O(n log n) for each attribute.

    Source: Troyanskaya et al., Missing value estimation methods for DNA microarrays,
    Bioinformatics 17(6), 2001, for nearest neighbours.

    Examples
    --------
    >>> X = [[1.0, 10.0], [1.0, 10.0], [9.0, 50.0], [9.0, 50.0], [9.0, float("nan")]]
    >>> imputed(X * 3)[4].tolist()
    [9.0, 50.0]
    """
    records = check_incomplete_matrix(X)
    require_seed(seed)
    scale = Scale.of(records)
    Z = scale.standardise(records)
    Z[np.isnan(records)] = np.nan  # of a constant attribute, too
    filled = scale.undo(impute_by_neighbours(Z, np.arange(Z.shape[1]), seed))
    return np.where(np.isnan(records), filled, records)


def impute_by_neighbours(Z: F64, attribute: I64, seed: int) -> F64:
    """Return coordinates (n, p), each of one `attribute` (p,), with none missing."""
    holes = np.isnan(Z)
    filled = np.where(holes, np.nanmean(Z, axis=0), Z)
    noise = JITTER * np.random.default_rng(seed).normal(size=(len(Z), AXES))
    for _ in range(PASSES):
        before = filled.copy()
        for j in np.unique(attribute[holes.any(axis=0)]).tolist():
            is_of_attribute = attribute == j
            lacking = holes[:, is_of_attribute.argmax()]
            points = _build_points(before[:, ~is_of_attribute], noise)
            rows = np.flatnonzero(lacking)
            filled[np.ix_(rows, is_of_attribute)] = _average_neighbours(
                points, before[:, is_of_attribute], lacking
            )
    return filled


def _build_points(others: F64, noise: F64) -> F64:
    """Return the coordinates for the search of neighbours, (n, AXES) or fewer."""
    if others.shape[1] > AXES:
        away = others - others.mean(axis=0)
        axes = np.linalg.eigh(away.T @ away)[1][:, -AXES:]
        others = away @ axes
    return np.asarray(others + noise[:, : others.shape[1]])


def _average_neighbours(points: F64, values: F64, lacking: Bool) -> F64:
    """Return the mean value of the records nearest to each one that has none."""
    from scipy.spatial import cKDTree

    donors = np.flatnonzero(~lacking)
    if not points.shape[1]:
        return np.tile(values[donors].mean(axis=0), (int(lacking.sum()), 1))
    wanted = np.arange(1, min(NEAR, len(donors)) + 1)
    near = cKDTree(points[donors]).query(points[lacking], wanted, workers=-1)[1]
    return np.asarray(values[donors[near]].mean(axis=1))


@dataclass(frozen=True, eq=False)
class Observed(Requirement):
    """Each group has `least` records whose value is `there` (n,).

    If `units` (n,) are given, these records must belong to at least `least` units.  A
    union of groups that satisfy the requirement satisfies it.
    """

    model: ClassVar[str] = "observed"

    attribute: str
    is_present: Bool = field(repr=False)
    least: int
    units: Labels | None = field(default=None, repr=False)

    @property
    def n(self) -> int:
        """Number of records."""
        return len(self.is_present)

    @property
    def name(self) -> str:
        """Name of the count."""
        return "values that are not missing"

    @property
    def required(self) -> float:
        """Required count."""
        return float(self.least)

    def measure_groups(self, records: I64, starts: I64) -> F64:
        """Return the count of values, or of units, in each group, (groups,)."""
        present = self.is_present[records]
        if self.units is None:
            return np.add.reduceat(present.astype(np.float64), starts[:-1])
        groups = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        pairs = np.stack([groups[present], self.units[records[present]]])
        distinct = np.unique(pairs, axis=1)[0]
        return np.bincount(distinct, minlength=len(starts) - 1).astype(np.float64)

    def find_broken(self, records: I64, starts: I64) -> Bool:
        """Whether each group has fewer than `least`, (groups,)."""
        return np.asarray(self.measure_groups(records, starts) < self.least)

    def describe_kept(self, value: float) -> str:
        """Return the k that these groups satisfy, for a message."""
        return f"k of at most {int(value)}"
