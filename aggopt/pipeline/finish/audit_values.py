"""Audit values before they are written, or if they are only tried."""

from aggopt.data.table import Table
from aggopt.measure import Assessment
from aggopt.pipeline.partition.partitioned_table import PartitionedTable
from aggopt.release.audit.audit import Audit, audit_release
from aggopt.release.audit.dominance import dominance_requirement
from aggopt.release.audit.originals import Originals
from aggopt.release.block_names import partition_names


def audit_before_writing(
    given: PartitionedTable, tried: Table, both: Originals | None = None
) -> Audit:
    """Return the audit of a release with this table.

    In a table of units each record is a unit.  With `both`, the values before and after
    masking, the audit also compares them.
    """
    job, units = given.job, given.units
    return audit_release(
        tried.frame.to_native(),
        job.roles,
        job.privacy,
        partition_names(given.blocks, job),
        decimal=job.input.decimal,
        originals=both,
        compatible=job.missing.report_compatible,
        bounds=job.attributes,
        units=units.of if units and units.records is None else None,
        dropped=job.dropped,
        pseudonym=job.pseudonym,
        dominance=dominance_requirement(job, given.weights_of_values),
    )


def holds_for_trial(
    given: PartitionedTable, tried: Table, measures: Assessment
) -> bool:
    """Return whether all that was promised holds of a table that is only tried."""
    found = audit_before_writing(given, tried)
    return found.with_linkage(given.job.privacy, measures.linkage).holds
