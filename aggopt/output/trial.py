"""Values that are tried, and not written: whether they would keep the promises."""

from aggopt.arrays import Floats
from aggopt.blocks import names_of
from aggopt.grouped import Grouped
from aggopt.output.audit import Audit, audit


def audit_of(given: Grouped, values: Floats) -> Audit:
    """Return what the audit of a release with these values (n, d) would find."""
    job = given.job
    tried = given.table.masked(values, round_integers=job.output.round_integers)
    return audit(
        tried.frame.to_native(),
        job.roles,
        job.privacy,
        names_of(given.blocks, job),
        decimal=job.input.decimal,
    )
