"""Refusals of missing values that a job cannot treat."""

from collections.abc import Collection, Sequence

import numpy as np

from aggopt.aggregate.kept_statistics import Keeping, KeptApart
from aggopt.core.plural import agree, plural
from aggopt.core.types import I64, Bool, Floats, Labels
from aggopt.data.context.strata import RecordStrata
from aggopt.data.table import Table
from aggopt.encoding import Encoded
from aggopt.errors import InfeasibleInputError, JobError, attribute_sections
from aggopt.job import Job
from aggopt.partition.registry import PARTITIONERS, ConfidentialUse
from aggopt.partition.shared.result import Block
from aggopt.pipeline.prepare.job_settings import (
    Columns,
    is_variance_kept,
    list_categories_by_block,
)


def require_covered(table: Table, matrix: Floats, job: Job) -> None:
    """Refuse to keep the covariance of numbers with missing values.

    Raises
    ------
    JobError
        The aggregation uses all attributes of a record.
    """
    if np.isnan(matrix[:, table.places]).any():
        require_no_covariance(job)


def require_no_covariance(job: Job) -> None:
    """Refuse to keep the covariance of numbers with missing values.

    Raises
    ------
    JobError
        The aggregation looks at all attributes of a record.
    """
    aggregation = job.aggregation
    table_of = isinstance(aggregation, Keeping) and isinstance(
        aggregation.keep, KeptApart
    )
    if "covariance" in aggregation.keeps or table_of:
        setting = "a table" if table_of else '"covariance"'
        raise JobError(
            f"keep = {setting} is of records that have every number, and values are "
            "missing.",
            fix='set keep = "variance", of each attribute, or remove those records.',
        )


def require_patterns(matrix: Floats, job: Job) -> None:
    """Refuse a partition that cannot be made within patterns of missing values.

    Raises
    ------
    JobError
        It uses the confidential attributes of all records together.
    """
    method = PARTITIONERS.of(job.partition)
    apart = job.missing.policy == "patterns" and np.isnan(matrix).any()
    if method.confides is not ConfidentialUse.NONE and apart:
        raise JobError(
            f"{method.name} looks at confidential values of all records together, and "
            "groups are made within each pattern of missing values.",
            fix='choose method = "mdav" or another, with repair = "merge" under '
            '[privacy]; or policy = "fill" under [missing].',
        )


def require_present_values(table: Table, matrix: Floats, job: Job) -> None:
    """Refuse attributes with too few present values.

    Raises
    ------
    InfeasibleInputError
        Fewer than k are present, or fewer than 2k if the variance is to be kept.
    """
    require_enough((~np.isnan(matrix)).sum(axis=0), len(matrix), job, table.domains)


def require_enough(counts: I64, n: int, job: Job, categories: Collection[str]) -> None:
    """Refuse attributes with too few present values, `counts` (d,) of n records.

    Raises
    ------
    InfeasibleInputError
        As `require_values`.
    """
    k = job.privacy.k
    twice = "variance" in job.aggregation.keeps
    for name, count in zip(job.roles.quasi_identifier, counts.tolist(), strict=True):
        needed = 2 * k if twice and name not in categories else k
        if count == n or count >= needed:
            continue
        why = " and its variance is to be kept" if needed > k else ""
        raise InfeasibleInputError(
            f"{name!r} has {count} {agree(count, 'value that is', 'values that are')} "
            f"not missing, with k = {k}{why}: {needed} are needed.",
            fix="drop it, as identifier, or choose a smaller k.",
        )


def require_any_published(is_kept: Bool, names: Sequence[str]) -> None:
    """Refuse a release in which all values of an attribute are suppressed."""
    for name in (names[j] for j in np.flatnonzero(~is_kept.any(axis=0)).tolist()):
        raise InfeasibleInputError(
            f"Every value of {name!r} would be suppressed: fewer than k records of any "
            "pattern of missing values have one.",
            fix="drop the attribute, as identifier, or choose a smaller k.",
        )


def require_present_together(
    job: Job, table: Table, matrix: Floats, columns: Columns
) -> None:
    """Refuse to choose categories together if some of them are missing.

    Raises
    ------
    JobError
        A group might have no record with all of them.
    """
    method = job.aggregation.categories
    names = job.roles.quasi_identifier
    holes = {n for n, x in zip(names, matrix.T, strict=True) if np.isnan(x).any()}
    if method is None or not holes:
        return
    for chosen in method.together(list_categories_by_block(job, table, columns)):
        lacking = [name for name in chosen if name in holes]
        if len(chosen) > 1 and lacking:
            raise JobError(
                f"{', '.join(map(repr, chosen))} are chosen together, and values of "
                f"{', '.join(map(repr, lacking))} are missing.",
                fix='choose each by itself, or write missing = "own value" under '
                f"{attribute_sections(lacking)}.",
            )


def require_present_units(
    absent: Bool,
    units: Labels,
    names: Sequence[str],
    k: int,
    strata: RecordStrata | None,
) -> None:
    """Refuse an attribute that fewer than k units of a stratum have a value of."""
    within = np.zeros_like(units) if strata is None else strata.labels
    for name, lacks in zip(names, absent.T, strict=True):
        pairs = np.unique(np.stack([within[~lacks], units[~lacks]]), axis=1)[0]
        counts = int(np.bincount(pairs, minlength=int(within.max()) + 1).min())
        if counts < k:
            raise InfeasibleInputError(
                f"{name!r}: records of {plural(counts, 'unit')} have values"
                f"{' in a stratum' if strata else ''}, fewer than k = {k}.",
                fix=f"drop {name!r}, as identifier, or choose a smaller k.",
            )


def require_no_single_group(
    block: Block, records: Encoded, is_present: Bool, job: Job
) -> None:
    """Refuse a single merged group if the variance is to be kept.

    `is_present` (n, d) are the values of the block's attributes that are not missing.
    """
    attributes = [records.attributes[j] for j in block.columns]
    varying = any(
        attribute.numbers is not None and attribute.weight > 0
        for attribute in attributes
    )
    if not (varying and is_variance_kept(job)) or job.privacy.t is not None:
        return
    count = is_present.sum(axis=0)
    k = job.privacy.k
    name = attributes[int(count.argmin())].name
    raise InfeasibleInputError(
        f"Merging groups until k = {k} records of each have a value of every attribute "
        f"leaves one group, and one value cannot keep the variance: {name!r} has "
        f"{count.min()} of {len(is_present)} values, the fewest.",
        fix=f"remove records in which {name!r} is missing, drop it, as identifier, "
        "choose a smaller k, or aggregate by the mean as it is.",
    )


def require_published_keys(is_published: Bool, job: Job) -> None:
    """Refuse keys (n, columns) if a column has no value left to publish."""
    for name, is_kept in zip(job.key_columns, is_published.T, strict=True):
        if not is_kept.any():
            raise JobError(
                f"[privacy] keys suppress all values of {name!r}: its combinations are "
                "too rare.",
                fix=f"merge its labels by [attributes.{name}] groups, raise its weight "
                "there, set a smaller k, or leave it out of keys.",
            )
