"""A table before its groups: its records, by units and strata, and as encoded."""

from dataclasses import dataclass, field

import numpy as np

from aggopt.core.standardise import Scale
from aggopt.core.types import Bool
from aggopt.core.validation import Floats, check_group_size
from aggopt.data.context.strata import RecordStrata, stratify
from aggopt.data.context.units import RecordUnits, collapse_units
from aggopt.data.context.weights import SamplingWeights, read_sampling_weights
from aggopt.data.table import Table
from aggopt.encoding import Encoded
from aggopt.encoding.incomplete import impute_means
from aggopt.job import Job
from aggopt.pipeline.prepare.memory_check import require_memory_to_encode


@dataclass(frozen=True, eq=False)
class PreparedTable:
    """The records to group, and the data that grouping uses.

    `whole`, `records`, `strata`, `units` and `sampling` are those of
    `aggopt.pipeline.partition.partitioned_table.PartitionedTable`.  If values are
    missing, `holes` are the encoded records, and `records` have means in their place.
    Records are `apart` if groups are made within each pattern of missing values.
    `notes` are about the encoding.
    """

    table: Table
    whole: Floats = field(repr=False)
    records: Floats | Encoded = field(repr=False)
    holes: Encoded | None = field(default=None, repr=False)
    apart: bool = False
    strata: RecordStrata | None = None
    units: RecordUnits | None = None
    sampling: SamplingWeights | None = None
    notes: tuple[str, ...] = ()

    @property
    def weights(self) -> Floats | None:
        """The weight of each record (n,), of mean 1; None if all are equal."""
        return self.sampling.known if self.sampling else None


def prepare_table(table: Table, job: Job) -> PreparedTable:
    """Return the records of a table, one for each unit that k counts if there are any.

    Raises
    ------
    TableError, JobError, InfeasibleInputError
        As `collapse_units`, `stratify`, `read_sampling_weights` and `Table.encoded`;
        or the table has fewer than k records, or more coordinates than fit memory.
    """
    table, units = collapse_units(table, job)
    table, strata = stratify(table, job)
    whole = table.matrix()
    check_group_size(job.privacy.k, len(whole))
    require_memory_to_encode(table, whole, job)
    sampling = read_sampling_weights(table)
    weights = sampling.known if sampling else None
    encoded = table.encode(job.partition.weights, weights)
    of = strata, units, sampling, () if encoded is None else encoded.notes
    if encoded is None:
        return PreparedTable(table, whole, whole, None, False, *of)
    if not np.isnan(whole).any():
        return PreparedTable(table, whole, encoded, None, False, *of)
    apart = job.missing.policy == "patterns"
    return PreparedTable(table, whole, impute_means(encoded), encoded, apart, *of)


def find_constant(table: Table, whole: Floats) -> Bool:
    """Return which quasi-identifiers (n, d) have one value only, (d,)."""
    same = np.fmin.reduce(whole) == np.fmax.reduce(whole)  # only present values
    if table.places:
        same[table.places] = Scale.of(whole[:, table.places]).constant
    return np.asarray(same)


def present_values(x: Floats) -> Floats:
    """Return the values of x (n,) that are not missing."""
    holes = np.isnan(x)
    return x[~holes] if holes.any() else x
