"""The two tables of every measure of typed attributes, in common coordinates."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from aggopt.core.record_weights import (
    check_weights,
    multiply_by_weights,
    scale_to_mean_one,
)
from aggopt.core.types import F64, Bool, Labels
from aggopt.encoding import Categories, Encoded, EncodedAttribute, encode
from aggopt.encoding.encoded_table import read_released_ends, read_released_values
from aggopt.encoding.spans import mark_wide
from aggopt.errors import JobError, TableError
from aggopt.measure._pair import FARTHEST, Attacker, Pair

Found = TypeVar("Found")
Types = Mapping[str, Any] | None  # as `aggopt.encode` takes them


@dataclass(frozen=True, eq=False)
class AttributePair:
    """An attribute of the original and of the released records.

    Attributes
    ----------
    of
        The encoded attribute.
    released : (n,)
        Number or node released for each record.
    alike : (n,)
        Group of each record: a group has the records that are released alike in all
        attributes.
    safety
        See `sdid`.
    weights : (n,)
        Sampling weights, of mean 1, for sums of squares; None without weights.
    known : (n,)
        Class of each record, for chance within classes: see `Attacker.before`.
    ends : (n,), (n,)
        Ends of the statement that is published about a number; None for others.
    """

    of: EncodedAttribute
    released: Any = field(repr=False)
    alike: Labels = field(repr=False)
    safety: float
    weights: F64 | None = field(default=None, repr=False)
    known: Labels | None = field(default=None, repr=False)
    ends: tuple[F64, F64] | None = field(default=None, repr=False)

    @property
    def n(self) -> int:
        """Number of records."""
        return len(self.released)

    @property
    def original(self) -> Any:
        """Number or level of each original record, (n,)."""
        return self.of.codes if self.of.numbers is None else self.of.numbers.values

    @property
    def unchanged(self) -> Bool:
        """Whether each record is released unchanged, (n,)."""
        same = self.original == self.released
        if self.ends is not None:
            same &= ~mark_wide(*self.ends)
        return np.asarray(same)

    @cached_property
    def points(self) -> tuple[F64, F64]:
        """Coordinates (n, q) of the original and of the released records, weighted.

        Coordinates that are equal for all of them are left out.
        """
        records = np.concatenate([self.original, self.released])
        if self.of.weight == 0:
            coordinates = np.empty((2 * self.n, 0))
        elif self.of.numbers is None:
            coordinates = Categories(self.of.domain, records).points()
        else:
            coordinates = self.of.numbers.points(records)
        coordinates = np.sqrt(self.of.weight) * coordinates
        return coordinates[: self.n], coordinates[self.n :]

    @cached_property
    def loss(self) -> float:
        """Sum of the squared distances of records from their released values."""
        one, other = self.points
        return float(multiply_by_weights((other - one) ** 2, self.weights).sum())

    @cached_property
    def total(self) -> float:
        """Sum of squares of the original: the loss if its mean is released for all."""
        return _compute_within_sse(
            self.points[0], np.zeros(self.n, np.intp), self.weights
        )

    @cached_property
    def within(self) -> float:
        """Sum of squares of the original within groups that are released alike."""
        return _compute_within_sse(self.points[0], self.alike, self.weights)

    @property
    def varies(self) -> bool:
        """Whether original records differ in it."""
        return self.total > 0


@dataclass(frozen=True, eq=False)
class TypedPair:
    """Original and released records with attributes of any types.

    Attributes
    ----------
    attributes
        Each attribute of both.
    published : (n, d)
        Number or node released for each record.
    alike : (n,)
        Group of each record: a group has the records that are released alike.
    weights : (n,)
        Sampling weights, of mean 1, for moments and sums of squares; None if records
        have no weights, or equal ones.
    attacker
        Knowledge of an attacker about each record besides its attributes.
    """

    attributes: tuple[AttributePair, ...]
    published: F64 = field(repr=False)
    alike: Labels = field(repr=False)
    weights: F64 | None = field(default=None, repr=False)
    attacker: Attacker = field(default_factory=Attacker, repr=False)

    @classmethod
    def of(
        cls,
        original: Any,
        released: Any,
        attributes: Types = None,
        safety: float = 0.05,
        weights: npt.ArrayLike | None = None,
        known: Any = None,
        units: Any = None,
        added: Any = None,
    ) -> "TypedPair":
        """Return the pair of a table, encoded or not, and its release.

        Raises
        ------
        JobError
            `attributes` are given for an encoded table; or as in `aggopt.encode`.
        TableError
            As in `aggopt.encode`, or the release has other records, columns or types.
        """
        if isinstance(original, Encoded) and attributes is not None:
            raise JobError(
                "attributes are given of what is encoded already.",
                fix="leave them out, or pass the table itself.",
            )
        if not isinstance(original, Encoded):
            original = encode(original, attributes, sampling_weights=weights)
        shares = scale_to_mean_one(check_weights(weights, len(original)))
        values = read_released_values(original, released)
        ends = read_released_ends(original, released)
        widths = [high - low for low, high in ends.values()]  # of statements
        rows = np.column_stack(
            [column.astype(np.float64) for column in (*values, *widths)]
        )
        alike = np.unique(rows, axis=0, return_inverse=True)[1].ravel()
        attacker = Attacker.of(len(alike), known, units, added)
        pairs = [
            AttributePair(
                of, column, alike, safety, shares, attacker.before, ends.get(of.name)
            )
            for of, column in zip(original.attributes, values, strict=True)
        ]
        _require_reach(pairs)
        return cls(tuple(pairs), rows, alike, shares, attacker)

    @property
    def n(self) -> int:
        """Number of records."""
        return len(self.alike)

    @property
    def varying(self) -> list[AttributePair]:
        """The attributes that vary among original records."""
        return [pair for pair in self.attributes if pair.varies]

    @property
    def categories(self) -> list[AttributePair]:
        """Those of them that are not numeric."""
        return [pair for pair in self.varying if pair.of.numbers is None]

    @cached_property
    def embedded(self) -> Pair:
        """Both tables in coordinates, as measures of numbers take them."""
        one = np.hstack([pair.points[0] for pair in self.attributes])
        other = np.hstack([pair.points[1] for pair in self.attributes])
        if not one.size:  # nothing differs
            one = other = np.zeros((self.n, 1))
        varying = np.array([pair.varies for pair in self.attributes])
        total = sum(pair.total for pair in self.attributes)
        return Pair(
            one,
            other,
            other - one,
            varying,
            self.published,
            total,
            self.weights,
            self.attacker,
        )

    @cached_property
    def numbers(self) -> Pair | None:
        """The numeric attributes, in standard deviations; None if none of them varies.

        Their weights do not matter: their figures equal those of a table of them alone.
        """
        pairs = [pair for pair in self.attributes if pair.of.numbers is not None]
        if not any(pair.varies for pair in pairs):
            return None
        before = np.column_stack([pair.original for pair in pairs])
        after = np.column_stack([pair.released for pair in pairs])
        return Pair.of(before, after, self.weights)

    def by_attribute(
        self, figure: Callable[[AttributePair], Found]
    ) -> dict[str, Found]:
        """Return a figure of each attribute, by name."""
        return {pair.of.name: figure(pair) for pair in self.attributes}

    def mean(self, figure: Callable[[AttributePair], float]) -> float:
        """Return the mean of a figure over the attributes that vary, one at least."""
        return float(np.mean([figure(pair) for pair in self.varying]))


def _require_reach(pairs: list[AttributePair]) -> None:
    """Refuse numbers whose squared distances no float holds."""
    far = [p.of.name for p in pairs if not (np.abs(p.points[1]) <= FARTHEST).all()]
    if far:
        raise TableError(
            f"{', '.join(map(repr, far))}: released more than {FARTHEST:g} standard "
            "deviations, or more than a float can hold, away from the original.",
            fix="release them in the units of the original.",
        )


def _compute_within_sse(
    points: F64, labels: Labels, weights: F64 | None = None
) -> float:
    """Return the sum of squares of records (n, q) within groups, by weights (n,).

    Measured from a record of the group, so that groups of equal records have 0.
    """
    sizes = np.bincount(labels, weights)
    first = np.empty(len(sizes), np.intp)
    first[labels[::-1]] = np.arange(len(labels))[::-1]
    total = 0.0
    for column in points.T:
        away = column - column[first[labels]]
        squares = away if weights is None else away * weights
        sums = np.bincount(labels, squares)
        total += float((squares * away).sum() - (sums**2 / sizes).sum())
    return max(total, 0.0)
