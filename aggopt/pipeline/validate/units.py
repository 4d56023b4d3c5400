"""Requirements of at least k units for each combination of values."""

import numpy as np

from aggopt.core.plural import plural
from aggopt.data.context.confidential import Confidential
from aggopt.data.context.strata import RecordStrata
from aggopt.data.context.units import RecordUnits, find_undeclared_units
from aggopt.data.table import Table
from aggopt.errors import InfeasibleInputError, JobError
from aggopt.job import Job, Repairing
from aggopt.job.earlier_section import EarlierGroups
from aggopt.pipeline.prepare.attribute_blocks import Columns
from aggopt.pipeline.validate.privacy_guarantees import require_plain_repair
from aggopt.privacy.models.l_diversity import Diversity


def add_repair_for_units(
    job: Job, units: RecordUnits | None
) -> tuple[Job, tuple[str, ...]]:
    """Return the job with a repair for groups of k units, and why it has one."""
    if units is None or units.records is not None or job.privacy.repair:
        return job, ()
    kept = isinstance(job.partition, EarlierGroups)
    method, then = ("merge", "") if kept else ("search", "then searched further, ")
    asked = job.privacy.model_copy(update={"repair": Repairing(method=method)})
    reason = (
        "k counts units: groups are merged until each has records of k units, "
        f'{then}by repair = "{method}".'
    )
    return job.model_copy(update={"privacy": asked}), (reason,)


def unit_requirements(job: Job, units: RecordUnits | None) -> tuple[Confidential, ...]:
    """Return the requirement on the units of records: k distinct ones in a group."""
    if units is None or units.records is not None:
        return ()
    codes = units.of.astype(np.int64)
    asked = Diversity("unit", codes, job.privacy.k)
    return (Confidential("unit", codes, (asked,)),)


def require_units_declared(job: Job, table: Table) -> None:
    """Refuse a table with a column of units that the job does not declare.

    Raises
    ------
    JobError
        The message has the column, and the number of units with several records.
    """
    found = find_undeclared_units(table)
    if found is None or len(np.bincount(found[1])) < 2 * job.privacy.k:
        return
    name, of = found
    several = int((np.bincount(of) > 1).sum())
    raise JobError(
        f"{several} values of {name!r} are of several records each, in which all "
        "quasi-identifiers are the same: as of households. k would count their "
        "records, of which a group may have those of one alone.",
        fix=f'let k count units: unit = ["{name}"] under [roles], and attributes, all '
        "quasi-identifiers, under [units]; or leave the column out of the table.",
    )


def require_units(
    job: Job, columns: Columns, units: RecordUnits | None, strata: RecordStrata | None
) -> None:
    """Refuse a job that does not support groups of k units, or has too few.

    Raises
    ------
    JobError
        Attributes of records are grouped in blocks; another repair is named; or small
        strata are to be merged or dropped.
    InfeasibleInputError
        The table has fewer than k units, or a stratum has records of fewer.
    """
    if units is None:
        return
    k = job.privacy.k
    if job.roles.stratum and job.strata.small != "refuse":
        raise JobError(
            f"Strata of few records are to be {_DONE[job.strata.small]}, and k counts "
            "units.",
            fix='set small = "refuse" under [strata], and make strata larger before '
            "masking.",
        )
    require_plain_repair(job, "does not keep k units in each group.")
    if units.count < k:
        raise InfeasibleInputError(
            f"k = {k}, but there are only {plural(units.count, 'unit')}.",
            fix="choose a smaller k, or bring records of more units.",
        )
    if units.records is not None:
        return
    if len(columns) > 1 and not job.units.apart(job.roles):
        raise JobError(
            f"k counts units, and quasi-identifiers of records are grouped in "
            f"{len(columns)} blocks.",
            fix='set attributes = "together" under [partition].',
        )
    if strata is not None:
        _require_units_within(strata, units, k)


def _require_units_within(strata: RecordStrata, units: RecordUnits, k: int) -> None:
    """Refuse strata with records of fewer than k units."""
    pairs = np.unique(np.stack([strata.labels, units.of]), axis=1)[0]
    few = int((np.bincount(pairs) < k).sum())
    if few:
        raise InfeasibleInputError(
            f"{few} of {len(strata.sizes)} strata "
            f"{'has' if few == 1 else 'have'} records of fewer than k = {k} units.",
            fix="choose a smaller k, or fewer columns as stratum.",
        )


_DONE = {"merge": "merged", "drop": "dropped"}
