"""The result of a partitioner."""

from dataclasses import dataclass, field

from aggopt.core.equal import Fieldwise
from aggopt.core.html import table, titled
from aggopt.core.validation import Labels
from aggopt.solvers import Certificate
from aggopt.solvers._certificate import HEADER, rows


@dataclass(frozen=True, eq=False)
class Partition(Fieldwise):
    """Groups, and what is proven of them.

    Attributes
    ----------
    labels : (n,)
        Group of each record, 0..m-1.
    certificate
        How good they are, in standardised units.
    """

    labels: Labels = field(repr=False)
    certificate: Certificate

    def _repr_html_(self) -> str:
        """Return sizes and certificates for a notebook."""
        named = {"groups": self.certificate}
        size = f"Partition: {len(self.labels)} records, {self.labels.max() + 1} groups"
        return titled(size, table(HEADER, rows(named)))
