"""Requirements of at least k units for each combination of values."""

import json
from typing import Any

import numpy as np

from aggopt.core.plural import plural
from aggopt.data.context.strata import RecordStrata
from aggopt.data.context.units import RecordUnits, find_undeclared_units
from aggopt.data.readers.column_profile import are_codes
from aggopt.data.table import Table
from aggopt.errors import InfeasibleInputError, JobError
from aggopt.job import Job
from aggopt.pipeline.prepare.job_settings import Columns
from aggopt.pipeline.validate.privacy_guarantees import require_plain_repair


def require_units_declared(job: Job, table: Table) -> None:
    """Refuse a table with a column of units that the job does not declare.

    Raises
    ------
    JobError
        The message has the column, and the number of units with several records.
    """
    undeclared_units = find_undeclared_units(table)
    if (
        undeclared_units is None
        or len(np.bincount(undeclared_units[1])) < 2 * job.privacy.k
    ):
        return
    name, unit_of_record = undeclared_units
    several = int((np.bincount(unit_of_record) > 1).sum())
    raise JobError(
        f"{several} values of {name!r} are of several records each, in which all "
        "quasi-identifiers are the same: as of households. k would count their "
        "records, of which a group may have those of one alone.",
        fix=_describe_remedy(name, job, codes=are_codes(table.frame[name].to_arrow())),
    )


def _describe_remedy(name: str, job: Job, *, codes: bool) -> str:
    """Return the text of a remedy for a column that may identify units."""
    column, masked = (
        json.dumps(names, ensure_ascii=False)
        for names in ([name], job.roles.quasi_identifier)
    )
    units = f"unit = {column} under [roles] and attributes = {masked} under [units]"
    if codes:
        return f"let k count units, with {units}; or list the column as drop."
    return (
        f"list the column as drop; as stratum, if it is to be published, as a region; "
        f"or, if each entry is one household or firm, let k count these, with {units}."
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
    pairs = np.unique(np.stack([strata.labels, units.unit_of_record]), axis=1)[0]
    few = int((np.bincount(pairs) < k).sum())
    if few:
        raise InfeasibleInputError(
            f"{few} of {len(strata.sizes)} strata "
            f"{'has' if few == 1 else 'have'} records of fewer than k = {k} units.",
            fix="choose a smaller k, or fewer columns as stratum.",
        )


_DONE = {"merge": "merged", "drop": "dropped"}


def require_linkable(
    job: Job, units: RecordUnits | None, strata: RecordStrata | None
) -> None:
    """Refuse pseudonyms that would identify a unit by its records together.

    Raises
    ------
    JobError
        Records of a unit may be of several groups; or units of a stratum have different
        numbers of records.
    """
    if units is None or job.pseudonym is None:
        return
    sizes = np.bincount(units.unit_of_record)
    if units.records is None and sizes.max() > 1:
        raise JobError(
            "Pseudonyms tell which records are of one unit, and the records of a unit "
            "are masked each by itself: the groups that they are of, taken together, "
            "tell the unit apart.",
            fix="name every quasi-identifier as attributes under [units], if they are "
            'the same within a unit; or set published = "drop" there.',
        )
    labels = np.zeros_like(sizes)
    if strata is not None and units.records is not None:
        labels = strata.labels
    differ = len({*zip(labels.tolist(), sizes.tolist(), strict=True)})
    several = differ - int(labels.max()) - 1
    if several:
        raise JobError(
            f"Pseudonyms tell how many records a unit has, and {len(sizes)} units have "
            f"{len({*sizes.tolist()})} different numbers of records, by which groups "
            "are not made.",
            fix="add a column with the number of records of each unit to the table, "
            'and name it as stratum under [roles]; or set published = "drop" under '
            "[units].",
        )


def require_uniform_settings(job: Job) -> None:
    """Refuse settings of single attributes if a job masks units and records.

    Raises
    ------
    JobError
        The job names groups of attributes, or keeps or requests something of some.
    """
    if not job.units.apart(job.roles):
        return
    aggregation = job.aggregation
    keys = ("keep", "delta", "importance")
    settings = [
        key for key in keys if not _is_common_value(getattr(aggregation, key, None))
    ]
    if job.partition.attributes not in ("together", "one by one"):
        settings.append("attributes")
    if settings:
        raise JobError(
            f"{' and '.join(settings)} of the job "
            f"{'is' if len(settings) == 1 else 'are'} "
            "said of single attributes, and some of these are of units, others of "
            "records: each kind is masked by itself.",
            fix="say the same of all attributes; or mask those of one kind in a job of "
            "their own, and drop the others there.",
        )


def _is_common_value(value: Any) -> bool:
    """Whether a setting has one value for all attributes."""
    return value is None or isinstance(value, str | float | int)


def require_one_kind(job: Job) -> None:
    """Refuse a job that masks both attributes of units and of records."""
    if job.units.apart(job.roles):
        raise JobError(
            "Some quasi-identifiers are of units, and others of records: such a job is "
            "for aggopt mask, aggopt check, and what looks at releases.",
            fix="name those of one kind alone, and drop the others, as identifier.",
        )
