"""The result of every aggregation of one categorical attribute."""

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from aggopt.core.equality import EqualByField
from aggopt.core.html import html_section, html_table
from aggopt.core.types import I64, Labels
from aggopt.solvers import Certificate
from aggopt.solvers.certificate import HEADER, rows


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
        """The certificate, as of one attribute."""
        return (self.certificate,)

    def _repr_html_(self) -> str:
        """Return the certificate for a notebook; no category."""
        size = f"Categories: {len(self.labels)} records, {len(self.choice)} groups"
        return html_section(
            size, html_table(HEADER, rows({"attribute": self.certificate}))
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
        return np.stack([each.values for each in self.attributes], axis=1)

    def _repr_html_(self) -> str:
        """Return the certificate for a notebook; no category."""
        size = f"Categories: {len(self.attributes)} attributes together"
        return html_section(
            size, html_table(HEADER, rows({"together": self.certificate}))
        )
