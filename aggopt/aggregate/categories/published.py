"""The result of every aggregation of one categorical attribute."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from math import fsum
from typing import Any

import numpy as np
import numpy.typing as npt

from aggopt.core.deadline import Deadline
from aggopt.core.equality import EqualByField
from aggopt.core.html import render_html_section, render_html_table
from aggopt.core.types import F64, I64, Labels
from aggopt.core.validation import check_group_size
from aggopt.encoding import Encoded, EncodedAttribute
from aggopt.errors import JobError
from aggopt.partition.shared.neighbour_bound import prove_loss
from aggopt.solvers import Certificate, Status
from aggopt.solvers.certificate import HEADER, is_gap_closed, make_certificate_rows


@dataclass(frozen=True, eq=False)
class PublishedCategories(EqualByField):
    """One category for each group, and the certificate of the choice.

    Attributes
    ----------
    nodes
        Names of all possible published values: the levels, then the inner nodes of a
        tree.
    choice : (groups,)
        Index into `nodes` of the value of each group.
    labels : (n,)
        Group of each record.
    certificate
        objective: the total distance of the records' own levels from the published
        ones; with a price of `frequencies`, plus the cost of differences.  bound: no
        allowed choice for these groups has less.
    tied
        The number of groups with several categories of least distance.
    ties
        Certificate of the choice among these: the number of records by which the counts
        of categories then differ in the release.  None if it is not made, or nothing is
        tied.
    """

    nodes: tuple[Hashable, ...] = field(repr=False)
    choice: I64 = field(repr=False)
    labels: Labels = field(repr=False)
    certificate: Certificate
    tied: int = 0
    ties: Certificate | None = None

    @property
    def centroids(self) -> npt.NDArray[Any]:
        """The published category of each group, (groups,)."""
        names = np.empty(len(self.nodes), dtype=object)
        names[:] = self.nodes
        return names[self.choice]

    @property
    def values(self) -> npt.NDArray[Any]:
        """The published category of each record, (n,)."""
        return self.centroids[self.labels]

    @property
    def certificates(self) -> tuple[Certificate, ...]:
        """A tuple with the certificate of the attribute."""
        return (self.certificate,)

    def _repr_html_(self) -> str:
        """Return the certificate as an HTML table, without categories."""
        size = f"Categories: {len(self.labels)} records, {len(self.choice)} groups"
        return render_html_section(
            size,
            render_html_table(
                HEADER, make_certificate_rows({"attribute": self.certificate})
            ),
        )


@dataclass(frozen=True, eq=False)
class PublishedTogether(EqualByField):
    """Categories of several attributes that were chosen together.

    Attributes
    ----------
    attributes
        The published categories of each, in the given order.  They share one
        certificate.
    """

    attributes: tuple[PublishedCategories, ...]

    @property
    def certificate(self) -> Certificate:
        """The certificate of the choice for all attributes together."""
        return self.attributes[0].certificate

    @property
    def values(self) -> npt.NDArray[Any]:
        """The published category of each record and attribute, (n, attributes)."""
        return np.stack([attribute.values for attribute in self.attributes], axis=1)

    def _repr_html_(self) -> str:
        """Return the certificate as an HTML table, without categories."""
        size = f"Categories: {len(self.attributes)} attributes together"
        return render_html_section(
            size,
            render_html_table(
                HEADER, make_certificate_rows({"together": self.certificate})
            ),
        )


def published_loss(
    encoded: Encoded,
    published: PublishedTogether | Sequence[PublishedCategories],
    k: int,
) -> Certificate:
    """Return the loss of published categories, and a lower bound for any groups of k.

    The certificate of one attribute refers to the given groups.  This certificate
    refers to all attributes together, and to any groups.

    Parameters
    ----------
    encoded
        The original attributes, all of them categorical, as `aggopt.encode` returns
        them: distances are multiplied by their weights.
    published
        The published categories of each, in the order of `encoded`.
    k : int
        Records per group, at least; 1 <= k <= n.

    Returns
    -------
    Certificate
        objective: the sum over records and attributes of the weighted distance between
        own and published category.  bound: no groups of k or more have a smaller one,
        for any published categories.

    Raises
    ------
    JobError
        An attribute is numeric; `published` are not as many attributes, or of other
        records; k is not a whole number from 1 up.
    InfeasibleInputError
        k exceeds n.

    Notes
    -----
    Proof.  In a group of s records that publish v, sum_{i != j} d(i, j) <=
    sum_{i != j} (d(i, v) + d(v, j)) = 2 (s - 1) sum_i d(i, v), because distances of
    names, orders and trees satisfy the triangle inequality.  The left side is at least
    the sum over i of A_i(s - 1), of its s - 1 smallest distances; and
    A_i(s - 1) / (s - 1), a mean of ascending numbers, does not fall with s.  So no
    groups lose less than sum_i A_i(k - 1) / 2 (k - 1): k / (k - 1) times the bound of
    SSE.  Distances that a user gave need not satisfy the inequality, and count as in
    SSE.

    Examples
    --------
    >>> import aggopt, pandas as pd
    >>> people = pd.DataFrame({"sex": list("mmff"), "work": list("xyyy")})
    >>> E = aggopt.encode(people, weights="range")
    >>> made = [aggopt.aggregate.plurality(a, [0, 0, 1, 1]) for a in E.attributes]
    >>> proof = published_loss(E, made, 2)
    >>> proof.objective, round(proof.bound, 6)
    (1.0, 1.0)
    """
    clock = Deadline(None)
    parts: Any = getattr(published, "attributes", published)
    n = len(encoded)
    attributes = encoded.attributes
    k = check_group_size(k, n)
    if len(parts) != len(attributes) or any(len(p.labels) != n for p in parts):
        raise JobError(
            f"{len(parts)} published attributes do not go with {encoded!r}.",
            fix="pass the published values of each attribute, of the same records.",
        )
    pairs = zip(attributes, parts, strict=True)
    total = fsum(
        attribute.weight * _sum_distances(attribute, categories)
        for attribute, categories in pairs
    )
    coordinates = _scale_coordinates(encoded, k)
    proven = prove_loss(coordinates, k, seconds=0.0)
    bound = min(proven.require_uninterrupted(), total)
    status = Status.OPTIMAL if is_gap_closed(total, bound) else Status.HEURISTIC
    return Certificate(status, total, bound, 0.0, "neighbour bound", clock.spent)


def _sum_distances(
    attribute: EncodedAttribute, published: PublishedCategories
) -> float:
    """Return the total distance of records from their published categories."""
    domain = attribute.domain
    steps = domain.steps[attribute.codes, published.choice[published.labels]]
    return float(steps.sum() / domain.unit)


def _scale_coordinates(encoded: Encoded, k: int) -> F64:
    """Return coordinates (n, p), squares of metric ones times s / (s - 1).

    s is the size of the smallest group; that of the only one where two have no room.
    """
    n = len(encoded)
    coordinates = encoded.coordinates.copy()
    s = n if n < 2 * k else k
    for attribute in encoded.attributes:
        if s > 1 and attribute.domain.kind != "distances":
            coordinates[:, attribute.columns] *= np.sqrt(s / (s - 1))
    return coordinates
