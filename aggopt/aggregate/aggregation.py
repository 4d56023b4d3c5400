"""The result of every aggregation, and sums over groups."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from aggopt.aggregate.bounds import Bounds
from aggopt.core.equality import EqualByField
from aggopt.core.html import render_html_section, render_html_table
from aggopt.core.standardise import Scale
from aggopt.core.types import Floats, Labels
from aggopt.core.validation import check_matrix
from aggopt.encoding import Encoded
from aggopt.errors import JobError, naming
from aggopt.solvers import Certificate
from aggopt.solvers.certificate import (
    HEADER,
    find_largest_gap,
    list_statuses,
    make_certificate_rows,
)


@dataclass(frozen=True, eq=False)
class Aggregation(EqualByField):
    """Published values and their certificates.

    Attributes
    ----------
    centroids : (m, d)
        One value per group and attribute, in the original units.  If attributes have
        labels of their own, m is the largest number of groups, and an attribute with
        fewer groups has nan after its last one.
    labels : (n,) or (n, d)
        Group of each record, for all attributes or for each, as given.
    certificates
        One per attribute, in order; one of all that were solved together if a
        covariance is kept.
    together
        The attributes (columns) of each certificate; if empty, each has one attribute.
    """

    centroids: Floats = field(repr=False)
    labels: Labels = field(repr=False)
    certificates: tuple[Certificate, ...]
    together: tuple[tuple[int, ...], ...] = ()

    @property
    def values(self) -> Floats:
        """Published value of each record and attribute (n, d), in original units."""
        if self.labels.ndim == 2:
            return np.take_along_axis(self.centroids, self.labels, axis=0)
        return self.centroids[self.labels]

    def _repr_html_(self) -> str:
        """Return a table of the certificates as HTML, without published values."""
        m, d = self.centroids.shape
        by_names = self.name_certificates([f"attribute {j}" for j in range(d)])
        by_label = {", ".join(names): c for names, c in by_names.items()}
        size = f"Aggregation: {len(self.labels)} records, {m} groups, {d} attributes"
        return render_html_section(
            size, render_html_table(HEADER, make_certificate_rows(by_label))
        )

    def name_certificates(
        self, names: Sequence[str]
    ) -> dict[tuple[str, ...], Certificate]:
        """Return each certificate by the names of its attributes, from all d names."""
        blocks = self.together or tuple((j,) for j in range(len(names)))
        block_names = (tuple(names[j] for j in columns) for columns in blocks)
        return dict(zip(block_names, self.certificates, strict=True))

    @property
    def gap(self) -> float | None:
        """Largest optimality gap of an attribute; None unless every one has a bound."""
        return find_largest_gap(self.certificates)

    @property
    def status(self) -> str:
        """The distinct solver statuses of the attributes, as one text."""
        return list_statuses(self.certificates)


def read_start(
    start: "str | Floats | Aggregation | None", labels: npt.ArrayLike
) -> str | Floats | None:
    """Return the centroids of an earlier aggregation; any other start is unchanged.

    Raises
    ------
    JobError
        It has other groups, so that its centroids belong to another program.
    """
    if not isinstance(start, Aggregation):
        return start
    if not np.array_equal(start.labels, labels):
        raise JobError(
            f"start is an aggregation of {len(start.labels)} records in other groups "
            "than labels.",
            fix="start from one of the same records in the same groups.",
        )
    return start.centroids


def aggregate_by_attribute(
    combine: Callable[..., Aggregation],
    X: Floats,
    labels: Labels,
    bounds: Bounds | None = None,
) -> Aggregation:
    """Return the aggregation of each attribute of X (n, d) by its own group labels.

    `combine` aggregates an attribute.  With `bounds`, it receives the attribute's
    bounds as `lower` and `upper`.
    """
    parts = []
    for j, label in enumerate(labels.T):
        ends = bounds.of_columns([j])._asdict() if bounds else {}
        with naming(f"Column {j}"):
            parts.append(combine(X[:, [j]], label, **ends))
    centroids = stack_centroids([part.centroids[:, 0] for part in parts])
    certificates = tuple(part.certificates[0] for part in parts)
    return Aggregation(centroids, labels, certificates)


def get_column(values: npt.NDArray[Any], j: int) -> npt.NDArray[Any]:
    """Return column j of `values` (n, d); `values` (n,) apply to all attributes."""
    return values if values.ndim == 1 else np.ascontiguousarray(values[:, j])


def stack_centroids(centroids: Sequence[Floats]) -> Floats:
    """Return the attributes' centroids (m_j,) as one matrix, padded with nan."""
    rows = max(map(len, centroids))
    padded = np.full((rows, len(centroids)), np.nan)
    for j, of_attribute in enumerate(centroids):
        padded[: len(of_attribute), j] = of_attribute
    return padded


def scale_for(X: Floats, labels: Labels, weights: Floats | None = None) -> Scale:
    """Return the means and standard deviations of X (n, d), by sampling weights.

    If attributes have labels of their own, each is measured separately.  Its values are
    then, to the last bit, the values of a table with only this attribute.
    """
    if labels.ndim == 1:
        return Scale.of(X, weights)
    return Scale.concatenate(Scale.of(X[:, [j]], weights) for j in range(X.shape[1]))


def group_means(X: Floats, labels: Labels, weights: Floats | None = None) -> Floats:
    """Return the mean of each group (m, d), by sampling weights (n,) if given.

    Summed about the group's first record: values far from zero lose no digits, and
    a group of equal values keeps that value to the last bit.
    """
    some = np.empty(labels.max() + 1, dtype=np.intp)
    some[labels[::-1]] = np.arange(len(labels))[::-1]  # the first is written last
    base = X[some]
    away = X - base[labels]
    sizes = np.bincount(labels, weights)
    share = away if weights is None else away * weights[:, None]
    sums = np.stack([np.bincount(labels, column) for column in share.T], axis=1)
    return np.asarray(base + sums / sizes[:, None])


def read_float_records(X: npt.ArrayLike) -> Floats:
    """Return records X (n, d) as a matrix of floats; refuse encoded attributes.

    Raises
    ------
    JobError
        They are encoded: means of coordinates are not values of attributes.
    """
    if isinstance(X, Encoded):
        raise JobError(
            "X is encoded, and its coordinates are no values that can be published.",
            fix='pass the numbers as they are, people[["age", "income"]]; of a '
            'category aggopt.aggregate.plurality takes X.attribute("sex").',
        )
    return check_matrix(X)
