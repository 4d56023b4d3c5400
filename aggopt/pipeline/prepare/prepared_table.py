"""A table before its groups: records, units, strata, encoding and missing values."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from aggopt.core.standardise import Scale
from aggopt.core.types import Bool, Floats
from aggopt.data.context.strata import RecordStrata, stratify
from aggopt.data.context.units import RecordUnits, collapse_units
from aggopt.data.context.weights import SamplingWeights, read_sampling_weights
from aggopt.data.table import Table
from aggopt.encoding import Encoded, EncodedAttribute
from aggopt.encoding.encode_table import impute_means
from aggopt.job import Job
from aggopt.missing import Patterns
from aggopt.missing import combine_patterns as joined
from aggopt.pipeline.prepare.memory_check import require_memory_to_encode
from aggopt.pipeline.prepare.size_check import require_enough_records
from aggopt.release.audit.counts import combine_codes


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
        """The sampling weight of each record (n,), of mean 1; None if all are equal."""
        return self.sampling.scaled if self.sampling else None


def prepare_table(table: Table, job: Job) -> PreparedTable:
    """Return the records to group, with units, strata, encoding and weights.

    Raises
    ------
    TableError, JobError, InfeasibleInputError
        As `collapse_units`, `stratify`, `read_sampling_weights` and `Table.encoded`;
        or the table has fewer than k records, or more coordinates than fit memory; or
        one group of all records exceeds a limit of the risk.
    """
    table, units = collapse_units(table, job)
    table, strata = stratify(table, job)
    matrix = table.matrix()
    require_enough_records(job.privacy, len(matrix))
    require_memory_to_encode(table, matrix, job)
    sampling = read_sampling_weights(table)
    weights = sampling.scaled if sampling else None
    encoded = table.encode(job.partition.weights, weights)
    holes = encoded if encoded is not None and np.isnan(matrix).any() else None
    records = matrix if encoded is None else encoded
    return PreparedTable(
        table=table,
        whole=matrix,
        records=records if holes is None else impute_means(holes),
        holes=holes,
        apart=holes is not None and job.missing.policy == "patterns",
        strata=strata,
        units=units,
        sampling=sampling,
        notes=() if encoded is None else encoded.notes,
    )


def find_constant(table: Table, matrix: Floats) -> Bool:
    """Return a mask (d,) of quasi-identifiers that have one value only."""
    same = np.fmin.reduce(matrix) == np.fmax.reduce(matrix)  # only present values
    if table.places:
        same[table.places] = Scale.of(matrix[:, table.places]).constant
    return np.asarray(same)


def select_present(x: Floats) -> Floats:
    """Return the values of x (n,) that are not missing."""
    holes = np.isnan(x)
    return x[~holes] if holes.any() else x


def join_patterns(
    incomplete: Encoded, absent: Bool, k: int, block: Sequence[int]
) -> Patterns:
    """Return the patterns of missing values in a block, merged to k records each."""
    block_values = incomplete.only(block)
    return joined(
        absent[:, list(block)], k, block_values.coordinates, block_values.owner
    )


def join_patterns_within_strata(
    incomplete: Encoded,
    absent: Bool,
    k: int,
    block: Sequence[int],
    strata: RecordStrata,
) -> Patterns:
    """Return the merged patterns of missing values of each stratum."""
    block_values = incomplete.only(block)
    holes = absent[:, list(block)]
    labels = np.empty_like(strata.labels)
    suppressed = np.empty_like(holes)
    for rows in strata.members:
        joined_patterns = joined(
            holes[rows], k, block_values.coordinates[rows], block_values.owner
        )
        labels[rows], suppressed[rows] = (
            joined_patterns.labels,
            joined_patterns.suppressed,
        )
    return Patterns(combine_codes([strata.labels, labels]), suppressed)


def find_missing(incomplete: Encoded) -> Bool:
    """Return a mask (n, d) of the values that are missing.

    Those of an attribute without coordinates, being constant, are looked up in it.
    """
    return np.stack(
        [_find_missing_of(attribute) for attribute in incomplete.attributes], axis=1
    )


def _find_missing_of(attribute: EncodedAttribute) -> Bool:
    """Return a mask (n,) of an attribute's missing values."""
    if attribute.numbers is not None:
        return np.isnan(attribute.numbers.values)
    return attribute.codes < 0
