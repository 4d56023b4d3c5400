"""The two tables of every measure on one scale, and the knowledge of an attacker."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from aggopt.core.columns import find_groups
from aggopt.core.plural import plural
from aggopt.core.record_weights import check_weights, scale_to_mean_one
from aggopt.core.standardise import Scale
from aggopt.core.types import F64, I64, Bool, Labels
from aggopt.core.validation import Floats, check_matrix
from aggopt.errors import TableError


@dataclass(frozen=True, eq=False)
class Attacker:
    """Knowledge of an attacker about each record besides its masked attributes.

    Attributes
    ----------
    known : (n,)
        Class of each record: records are in one class if they share every published
        column that the attacker knows.  He looks for a record in its class alone.
        None: all records are in one class.
    units : (n,)
        Unit of each record.  A link is right if it reaches a record of the unit.  None:
        each record is a unit.
    before : (n,)
        Class of each record by the columns that are known without the release, such as
        strata: chance is within these classes.  `known` also has columns that the
        release adds, such as the mean weight of a group.  None: one class.
    """

    known: Labels | None = field(default=None, repr=False)
    units: Labels | None = field(default=None, repr=False)
    before: Labels | None = field(default=None, repr=False)

    @classmethod
    def of(
        cls, n: int, known: Any = None, units: Any = None, added: Any = None
    ) -> "Attacker":
        """Return the knowledge about n records, from columns of any type.

        `added` are known columns that the release adds to its groups.

        Raises
        ------
        TableError
            An argument is not a column or table, or has another number of records.
        """
        before = _read_labels("known", known, n)
        marks = _read_labels("added", added, n)
        labellings = [labels for labels in (before, marks) if labels is not None]
        is_known_and_added = (
            find_groups(np.column_stack(labellings)) if len(labellings) == 2 else None
        )
        candidates = (
            is_known_and_added
            if is_known_and_added is not None
            else next(iter(labellings), None)
        )
        return cls(candidates, _read_labels("units", units, n), before)

    def chance(self, n: int) -> float:
        """Return the share of right links of n records, each drawn from its class."""
        classes = np.zeros(n, np.intp) if self.before is None else self.before
        sizes = np.bincount(classes)
        if self.units is None:
            return len(sizes) / n
        pairs = np.stack([self.units, classes])
        _, place, counts = np.unique(
            pairs, axis=1, return_inverse=True, return_counts=True
        )
        return float((counts[place.ravel()] / sizes[classes]).mean())


@dataclass(frozen=True, eq=False)
class LinkedGroups:
    """Groups of released records that an attacker cannot distinguish.

    Attributes
    ----------
    rows : (m, v)
        Released values of each group; groups of one class follow each other.
    classes : (m,)
        Class of each group, in ascending order.
    group : (n,)
        Group of each record.
    sizes : (m,)
        Number of records of each group.
    units : (n,)
        As in `Attacker`.
    """

    rows: F64 = field(repr=False)
    classes: Labels = field(repr=False)
    group: Labels = field(repr=False)
    sizes: I64 = field(repr=False)
    units: Labels | None = field(default=None, repr=False)

    @classmethod
    def of(cls, released: F64, attacker: Attacker) -> "LinkedGroups":
        """Return the groups of released records (n, v) of equal values and class."""
        before = attacker.known
        columns = released
        if before is not None:
            columns = np.column_stack([before.astype(np.float64), released])
        rows, group, sizes = np.unique(
            columns, axis=0, return_inverse=True, return_counts=True
        )
        if before is None:
            classes = np.zeros(len(rows), np.intp)
        else:
            classes = rows[:, 0].astype(np.intp)
            rows = rows[:, 1:]
        return cls(rows, classes, group.ravel(), sizes, attacker.units)

    @property
    def spans(self) -> Iterator[tuple[int, int]]:
        """Yield the first group of each class, and the first after it."""
        ends = [*np.flatnonzero(np.diff(self.classes)) + 1, len(self.rows)]
        yield from zip([0, *ends], map(int, ends), strict=False)

    @cached_property
    def first_of_class(self) -> Labels:
        """The first group of each record's class, (n,)."""
        return np.searchsorted(self.classes, self.classes[self.group])

    @cached_property
    def certain(self) -> F64:
        """Chance that a record of each record's own group is the right one, (n,)."""
        everybody = np.arange(len(self.group))
        return self.count(everybody, self.group) / self.sizes[self.group]

    @cached_property
    def limit(self) -> float:
        """Largest share of right links of any linkage.

        Without units this is groups / records.  A unit may have records in several
        groups of a class: the group with the unit's largest share counts.
        """
        if self.units is None:
            return len(self.rows) / len(self.group)
        place = self.units * len(self.rows) + self.first_of_class
        targets, target = np.unique(place, return_inverse=True)
        best = np.zeros(len(targets))
        np.maximum.at(best, target, self.certain)
        return float(best[target].mean())

    def count(self, records: Labels, groups: Labels) -> F64:
        """Return the number of records (p,) of each record's unit in each group."""
        if self.units is None:
            return np.asarray(self.group[records] == groups, np.float64)
        keys, counts = self._of_units
        key = self.units[records] * len(self.rows) + groups
        place = np.minimum(np.searchsorted(keys, key), len(keys) - 1)
        return np.asarray(np.where(keys[place] == key, counts[place], 0), np.float64)

    @cached_property
    def _of_units(self) -> tuple[I64, I64]:
        """Pairs of a unit and a group that has records of it, and their number."""
        keys = np.asarray(self.units) * len(self.rows) + self.group
        pairs = np.unique(keys, return_counts=True)
        return pairs[0], pairs[1]


def _read_labels(name: str, columns: Any, n: int) -> Labels | None:
    if columns is None:
        return None
    labels = find_groups(columns)
    if len(labels) != n:
        raise TableError(
            f"{name} has {plural(len(labels), 'record')}, and the tables have {n}.",
            fix="pass one entry per record, in the order of the tables.",
        )
    return labels


TOLERANCE = 1e-9
"""Numbers closer than this share of what they are held against count as equal."""

FARTHEST = 1e100  # standard deviations; squares of it still fit into a float


@dataclass(frozen=True, eq=False)
class Pair:
    """Original and released records on the original's scale, varying attributes only.

    Attributes
    ----------
    original, released : (n, v)
        In population standard deviations of the original, about its mean.
    difference : (n, v)
        Released minus original, same unit, taken before any rounding by the mean.
    varying : (d,)
        Whether each attribute takes more than one value in the original.
    published : (n, d)
        Released records in the original's units, all attributes.
    total
        Sum of squares of the original about its mean.
    weights : (n,)
        Sampling weights, of mean 1, for means, deviations and sums of squares; None
        if records have no weights, or equal ones.
    attacker
        Knowledge of an attacker about each record besides its attributes.
    """

    original: Floats = field(repr=False)
    released: Floats = field(repr=False)
    difference: Floats = field(repr=False)
    varying: Bool
    published: Floats = field(repr=False)
    total: float
    weights: Floats | None = field(default=None, repr=False)
    attacker: Attacker = field(default_factory=Attacker, repr=False)

    @classmethod
    def of(
        cls,
        original: npt.ArrayLike,
        released: npt.ArrayLike,
        weights: npt.ArrayLike | None = None,
    ) -> "Pair":
        """Return the pair of two tables (n, d) in the original units.

        Raises
        ------
        TableError
            Not matrices of finite numbers, unequal shapes, no attribute that varies,
            or released values too far away for their squares to be computed; weights
            that are not one number above 0 for each record.
        """
        X = check_matrix(original, name="original")
        Y = check_matrix(released, name="released")
        if X.shape != Y.shape:
            raise TableError(
                f"original has shape {X.shape}, released has shape {Y.shape}.",
                fix="pass the same records and the same attributes in the same order.",
            )
        mean_weights = scale_to_mean_one(check_weights(weights, len(X)))
        scale, varying = find_varying_scale(X, mean_weights)
        with np.errstate(over="ignore"):
            difference = (Y - X)[:, varying] / scale.spread[varying]
            z, w = (scale.standardise(table)[:, varying] for table in (X, Y))
        _check_reach(difference, varying)
        return cls(z, w, difference, varying, Y, float(z.size), mean_weights)

    def add_attacker(self, attacker: Attacker) -> "Pair":
        """Return the pair with an attacker's knowledge of each record."""
        return replace(self, attacker=attacker)

    @property
    def n(self) -> int:
        """Number of records."""
        return len(self.original)

    @property
    def sample_deviation(self) -> float:
        """Standard deviation with divisor n - 1, in the unit of that with divisor n."""
        return float(np.sqrt(self.n / (self.n - 1)))  # n > 1, for something varies


def find_varying_scale(X: Floats, weights: Floats | None = None) -> tuple[Scale, Bool]:
    """Return the scale of records X (n, d), and which attributes vary, (d,).

    By `weights` (n,), if records have some.

    Raises
    ------
    TableError
        None does.
    """
    scale = Scale.of(X, weights)
    if scale.constant.all():
        n, d = X.shape
        raise TableError(
            f"No attribute of the original varies ({n} record(s), {d} attribute(s)), "
            "so there is no standard deviation to measure anything in.",
            fix="pass at least two records that differ.",
        )
    return scale, ~scale.constant


def _check_reach(difference: Floats, varying: Bool) -> None:
    """Refuse released values that are too far from the originals to square."""
    near = np.abs(difference) <= FARTHEST
    if not near.all():
        columns = np.flatnonzero(varying)[~near.all(axis=0)].tolist()
        raise TableError(
            f"Column(s) {columns} of released lie more than {FARTHEST:g} standard "
            "deviations, or more than a float can hold, away from the original.",
            fix="release them in the units of the original.",
        )
