"""Values that are tried, and not written: whether they would keep the promises."""

from aggopt.blocks import names_of
from aggopt.grouped import Grouped
from aggopt.input.table import Table
from aggopt.output.audit import Audit, audit


def audit_of(given: Grouped, tried: Table) -> Audit:
    """Return what the audit of a release with this table would find."""
    job = given.job
    return audit(
        tried.frame.to_native(),
        job.roles,
        job.privacy,
        names_of(given.blocks, job),
        decimal=job.input.decimal,
    )
