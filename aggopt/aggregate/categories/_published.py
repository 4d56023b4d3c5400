"""What every aggregation of one categorical attribute returns."""

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from aggopt.core.equality import EqualByField
from aggopt.core.html import html_section, html_table
from aggopt.core.types import I64, Labels
from aggopt.solvers import Certificate
from aggopt.solvers._certificate import HEADER, rows


@dataclass(frozen=True, eq=False)
class PublishedCategories(EqualByField):
    """One category for each group, and what is proven of the choice.

    Attributes
    ----------
    nodes
        Names of what can be published: the levels, then the inner nodes of a tree.
    choice : (groups,)
        Which of them each group publishes.
    labels : (n,)
        Group of each record.
    certificate
        objective: the total distance of the records' own levels from those that are
        published for them; with a price of `frequencies`, what is paid besides.
        bound: no choice that was allowed for these groups has less.
    tied
        In how many groups several had the least distance.
    ties
        What is proven of the choice among these, by how many records the number of
        each category then differs in the release; None where it is not made, or
        nothing is tied.
    """

    nodes: tuple[Hashable, ...] = field(repr=False)
    choice: I64 = field(repr=False)
    labels: Labels = field(repr=False)
    certificate: Certificate
    tied: int = 0
    ties: Certificate | None = None

    @property
    def centroids(self) -> npt.NDArray[Any]:
        """What each group publishes, (groups,)."""
        names = np.empty(len(self.nodes), dtype=object)
        names[:] = self.nodes
        return names[self.choice]

    @property
    def values(self) -> npt.NDArray[Any]:
        """What is published for each record, (n,)."""
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
        What is published of each, in the order that they were given.  They have one
        certificate, of all of them together.
    """

    attributes: tuple[PublishedCategories, ...]

    @property
    def certificate(self) -> Certificate:
        """What is proven of the choice for all attributes together."""
        return self.attributes[0].certificate

    @property
    def values(self) -> npt.NDArray[Any]:
        """What is published for each record, (n, attributes)."""
        return np.stack([each.values for each in self.attributes], axis=1)

    def _repr_html_(self) -> str:
        """Return the certificate for a notebook; no category."""
        size = f"Categories: {len(self.attributes)} attributes together"
        return html_section(
            size, html_table(HEADER, rows({"together": self.certificate}))
        )
