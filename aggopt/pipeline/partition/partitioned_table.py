"""A table and its groups: what an aggregation starts from."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from aggopt.core.randomness import make_secret
from aggopt.core.standardise import Scale
from aggopt.core.types import Bool, Floats, Labels
from aggopt.data.context.confidential import Confidential
from aggopt.data.context.strata import RecordStrata
from aggopt.data.context.units import RecordUnits
from aggopt.data.context.weights import SamplingWeights
from aggopt.data.table import Table
from aggopt.encoding import Encoded
from aggopt.job import Job
from aggopt.partition.shared.result import Block, combine_labels
from aggopt.pipeline.prepare.prepared_table import find_constant
from aggopt.pipeline.waves.wave import LaterWave
from aggopt.release.audit.dominance import select_value_weights
from aggopt.release.manifest import Source


class Partitions(NamedTuple):
    """The groups of a table, by themselves: see the fields of `Grouped`."""

    blocks: tuple[Block, ...]
    kept: Bool | None


@dataclass(frozen=True, eq=False)
class PartitionedTable:
    """A checked table and its partition, the input of an aggregation.

    `whole` (n, d) are the quasi-identifiers as numbers.  `records` are the coordinates
    that distances are measured in: `whole` itself, or its encoding.  `blocks` are the
    attributes that are partitioned together, with their groups.  `asked` are the
    requests of the records, and `held` the confidential attributes.  `reasons` explain
    why the partition's method was chosen if the job leaves it open.  `secret` is the
    source of all secret randomness of the release.  If values are missing, `whole` is
    nan, and `kept` (n, d) marks the values that decide the published value of their
    group.  It is None if all of them do.  `strata` contain whole groups, and k counts
    `units` in place of records.  `sampling` is the number of people of a population
    that each record represents.  These three are None if absent.  `wave` is the table
    compared to that of an earlier release, whose groups are kept.
    """

    job: Job
    table: Table
    source: Source
    whole: Floats = field(repr=False)
    records: Floats | Encoded = field(repr=False)
    blocks: tuple[Block, ...]
    asked: dict[str, Floats] = field(repr=False)
    held: tuple[Confidential, ...] = ()
    reasons: tuple[str, ...] = ()
    secret: str = field(default_factory=make_secret, repr=False)
    kept: Bool | None = field(default=None, repr=False)
    strata: RecordStrata | None = None
    units: RecordUnits | None = None
    sampling: SamplingWeights | None = None
    wave: LaterWave | None = None

    @property
    def weights(self) -> Floats | None:
        """The weight of each record (n,), of mean 1; None if all are equal."""
        return self.sampling.scaled if self.sampling else None

    @property
    def weights_of_values(self) -> Floats | None:
        """The unscaled sampling weight of each record (n,); None without weights.

        If values are missing, the weight of each value (n, d), 0 if the value is
        unused.
        """
        if self.sampling is None or self.kept is None:
            return self.sampling.values if self.sampling else None
        return select_value_weights(self.sampling.values, self.kept)

    @property
    def scale(self) -> Scale:
        """Weighted mean and standard deviation of each number."""
        return Scale.of(self.X, self.weights)

    @property
    def groups(self) -> Partitions:
        """The blocks of attributes with their groups, and the mask of kept values."""
        return Partitions(self.blocks, self.kept)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the numeric quasi-identifiers: the columns of X."""
        return self.table.numeric

    @property
    def X(self) -> Floats:
        """The numeric quasi-identifiers, (n, p) in their own units.

        nan if a value is missing or not kept.
        """
        numbers = self.of_numbers(self.whole)
        if self.kept is None:
            return numbers
        return np.where(self.of_numbers(self.kept), numbers, np.nan)

    def of_numbers(self, matrix: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the columns of a matrix (n, d) that are numeric attributes."""
        if not self.table.domains:  # a copy of all of them would be large
            return matrix
        return np.ascontiguousarray(matrix[:, self.table.places])

    @property
    def labels(self) -> Labels:
        """Group of each record: (n,) with one block, (n, d) with several."""
        return combine_labels(self.blocks)

    @property
    def labels_of_numbers(self) -> Labels:
        """Group of each record by numeric attribute: (n,), or (n, p)."""
        labels = self.labels
        return labels if labels.ndim == 1 else self.of_numbers(labels)

    @property
    def constant(self) -> Bool:
        """Mask (d,) of the quasi-identifiers that have only one value."""
        return find_constant(self.table, self.whole)
