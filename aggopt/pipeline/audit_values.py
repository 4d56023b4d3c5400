"""What the audit finds in values before they are written, or that are only tried."""

from aggopt.input.table import Table
from aggopt.measure import Assessment
from aggopt.output.audit import Audit, audit
from aggopt.output.block_names import names_of
from aggopt.output.dominance import dominance_of
from aggopt.output.originals import Originals
from aggopt.pipeline.grouped import Grouped


def audit_of(given: Grouped, tried: Table, both: Originals | None = None) -> Audit:
    """Return what the audit of a release with this table finds.

    Of a table of units each record is one.  With `both`, the values before and after
    masking, it also says what they say.
    """
    job, units = given.job, given.units
    return audit(
        tried.frame.to_native(),
        job.roles,
        job.privacy,
        names_of(given.blocks, job),
        decimal=job.input.decimal,
        originals=both,
        compatible=job.missing.report_compatible,
        bounds=job.attributes,
        units=units.of if units and units.records is None else None,
        dropped=job.dropped,
        pseudonym=job.pseudonym,
        dominance=dominance_of(job, given.weights_of_values),
    )


def holds_of(given: Grouped, tried: Table, measures: Assessment) -> bool:
    """Return whether all that was promised holds of a table that is only tried."""
    found = audit_of(given, tried)
    return found.with_linkage(given.job.privacy, measures.linkage).holds
