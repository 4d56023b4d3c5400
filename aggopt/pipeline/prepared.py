"""A table before its groups: its records, by units and strata, and as encoded."""

from dataclasses import dataclass, field

import numpy as np

from aggopt.core.validation import Floats, group_size
from aggopt.encoding import Encoded
from aggopt.input.strata import Stratified, stratified
from aggopt.input.table import Table
from aggopt.input.units import Members, by_unit
from aggopt.input.weights import SamplingWeights, weights_in
from aggopt.job import Job
from aggopt.pipeline.holes import with_means


@dataclass(frozen=True, eq=False)
class PreparedTable:
    """The records that are grouped, and what they are grouped by.

    `whole`, `records`, `strata`, `units` and `sampling` are those of
    `aggopt.pipeline.grouped.Grouped`.  Where values are missing, `holes` are the
    records as they are encoded, which have means in their place in `records`; records
    are `apart` if groups are made within each pattern of what is missing.  `notes` say
    what is to be known of the encoding.
    """

    table: Table
    whole: Floats = field(repr=False)
    records: Floats | Encoded = field(repr=False)
    holes: Encoded | None = field(default=None, repr=False)
    apart: bool = False
    strata: Stratified | None = None
    units: Members | None = None
    sampling: SamplingWeights | None = None
    notes: tuple[str, ...] = ()

    @property
    def weights(self) -> Floats | None:
        """The weight of each record (n,), of mean 1; None where none differ."""
        return self.sampling.known if self.sampling else None


def prepared(table: Table, job: Job) -> PreparedTable:
    """Return the records of a table, one for each unit that k counts if there are any.

    Raises
    ------
    TableError, JobError, InfeasibleInputError
        As `by_unit`, `stratified`, `weights_in` and `Table.encoded`; or there are fewer
        than k records.
    """
    table, units = by_unit(table, job)
    table, strata = stratified(table, job)
    whole = table.matrix()
    group_size(job.privacy.k, len(whole))
    sampling = weights_in(table)
    weights = sampling.known if sampling else None
    encoded = table.encoded(job.partition.weights, weights)
    of = strata, units, sampling, () if encoded is None else encoded.notes
    if encoded is None:
        return PreparedTable(table, whole, whole, None, False, *of)
    if not np.isnan(whole).any():
        return PreparedTable(table, whole, encoded, None, False, *of)
    apart = job.missing.policy == "patterns"
    return PreparedTable(table, whole, with_means(encoded), encoded, apart, *of)
