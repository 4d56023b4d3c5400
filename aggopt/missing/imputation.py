"""Values in place of missing ones, to group records by: means of nearest records."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from aggopt.core.standardise import Scale
from aggopt.core.types import F64, I64, Bool
from aggopt.core.validation import Labels, check_incomplete_matrix, require_seed
from aggopt.privacy.requirement import Requirement

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
    there: Bool = field(repr=False)
    least: int
    units: Labels | None = field(default=None, repr=False)

    @property
    def n(self) -> int:
        """Number of records."""
        return len(self.there)

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
        present = self.there[records]
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
