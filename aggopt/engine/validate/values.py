"""Refusals that depend on the values of the records, or on those of all records."""

from collections.abc import Sequence

import pyarrow as pa

from aggopt.core.plural import plural
from aggopt.core.standardise import Scale
from aggopt.core.types import I64, Floats
from aggopt.data.context.confidential import Confidential
from aggopt.data.context.weights import read_sampling_weights
from aggopt.data.table import Table
from aggopt.encoding import AttributeType
from aggopt.errors import InfeasibleInputError, TableError, naming
from aggopt.job import Job
from aggopt.partition.shared.scaling import WIDEST, make_range_error
from aggopt.pipeline.prepare.prepared_table import select_present
from aggopt.pipeline.validate.bounds import require_inside, require_number, require_some
from aggopt.pipeline.validate.sampling_weights import require_done
from aggopt.pipeline.validate.strata import require_none_of
from aggopt.privacy.dominance import ROUNDING, make_dominance_error
from aggopt.privacy.model import OwnRequirement
from aggopt.solvers import Status

MOST = 1000  # levels of an attribute: each is a coordinate of all records of a block
MOST_CENTRES = 20_000_000  # coordinates of means of strata: each task adds up as many
MOST_RECORDS = 20_000_000  # records whose values a user's model receives at once


def require_levels(count: int) -> None:
    """Refuse a category with more than `MOST` distinct values."""
    if count > MOST:
        raise TableError(
            f"There are more than {MOST} different values, and each is a coordinate of "
            "every record of a block.",
            fix="publish less detail, a region in place of a postcode; or drop the "
            "column, as identifier.",
        )


def require_any_level(count: int) -> None:
    """Refuse a category without any value."""
    if not count:
        raise TableError("All values are missing.", fix="leave the column out.")


def require_common_order(kind: pa.DataType, declared: AttributeType) -> None:
    """Refuse an ordered column whose order the job does not declare."""
    if pa.types.is_dictionary(kind) and kind.ordered and declared.kind is None:
        raise TableError(
            "The order of its categories stands in each file by itself.",
            fix='name the levels: order = ["low", "middle", "high"]; or write kind = '
            '"nominal".',
        )


def _list_limited(job: Job) -> list[str]:
    """Return the attributes with bounds, or with whole published values."""
    return [name for name, section in job.attributes.items() if section.limited]


def require_originals_inside(X: Floats, table: Table, job: Job) -> None:
    """Refuse original records X (n, d) beyond the bounds of published values.

    Raises
    ------
    TableError
        The message has their number.
    """
    names = job.roles.quasi_identifier
    for name in _list_limited(job):
        with naming(repr(name)):
            require_inside(select_present(X[:, names.index(name)]), table, job, name)


def require_number_with_bounds(table: Table, name: str) -> None:
    """Refuse bounds of an attribute that is not numeric."""
    with naming(repr(name)):
        require_number(table, name)


def require_feasible_bounds(table: Table, job: Job, scale: Scale, n: Floats) -> None:
    """Refuse bounds that exclude all rounded values, or the variance.

    `scale` is the scale of numbers with `n` (p,) present values; raises as
    `require_some`.
    """
    for name in _list_limited(job):
        j = table.numeric.index(name)
        ends = (part[[j]] for part in (scale.origin, scale.centre, scale.spread))
        with naming(repr(name)):
            require_some(Scale(*ends), int(n[j]), table, job, name)


def require_supported_weights(table: Table, job: Job) -> None:
    """Refuse settings that are not supported with sampling weights.

    Raises
    ------
    TableError, JobError
        As `aggopt.pipeline.validate.sampling_weights.require_weighed`.
    """
    if job.roles.weight:
        read_sampling_weights(table)
        matrix = table.matrix()
        require_done(job, matrix, (tuple(range(matrix.shape[1])),))


def require_supported_range(
    job: Job, n: int, total: float, lowest: float, highest: float
) -> None:
    """Refuse n weights if the largest is too large for the smallest or the sum.

    Raises
    ------
    TableError
        The largest is more than a million times the smallest.
    InfeasibleInputError
        One record has more of the weight of all than a group may have.
    """
    (name,) = job.roles.weight
    if not highest / WIDEST <= lowest:
        with naming(f"Column {name!r}"):
            raise make_range_error(n)
    share = job.weights.dominance
    if highest > share * total * (1 + ROUNDING):
        raise make_dominance_error(n, share, name)


def require_few_centres(strata: int, width: int) -> None:
    """Refuse too many strata to hold their mean coordinates in memory."""
    if strata * width > MOST_CENTRES:
        raise InfeasibleInputError(
            f"There are {plural(strata, 'stratum', 'strata')} of records that have "
            f"{plural(width, 'coordinate')}, and the nearest of them are looked for by "
            f"their means: {MOST_CENTRES} numbers at most.",
            fix='set small = "drop" under [strata], or name fewer columns as stratum.',
        )


def require_few_records(confidential: Confidential) -> None:
    """Refuse a user's privacy model that would receive too many records."""
    for requirement in confidential.requirements:
        if not isinstance(requirement, OwnRequirement) or requirement.counts is None:
            continue
        records = int(requirement.counts.sum())
        if requirement.judge.takes("whole") and records > MOST_RECORDS:
            raise InfeasibleInputError(
                f"{requirement.name} takes whole, the values of all {records} records "
                f"of {confidential.name!r}, and each process can hold those of "
                f"{MOST_RECORDS}.",
                fix="let it look at the values of the group alone, without whole; or "
                "mask the table in parts.",
            )


def require_values_of_strata(counts: I64, job: Job) -> None:
    """Refuse strata with fewer than k present values (s, d) of an attribute."""
    k = job.privacy.k
    for name, count in zip(job.roles.quasi_identifier, counts.T, strict=True):
        require_none_of(count < k, name, k, k)


def require_feasible_strata(
    errors: Sequence[InfeasibleInputError], *, several: bool
) -> None:
    """Refuse requirements that all records of the table, or a stratum, violate.

    Each violation is one of the `errors`.
    """
    for error in errors:
        if not several:
            raise error
        with naming("In one stratum"):
            raise error


def require_small_blocks(records: Sequence[int], block: int) -> None:
    """Refuse requirements that no block of the largest size satisfies.

    `records` are the sizes of the refused parts of a block.
    """
    if records:
        raise InfeasibleInputError(
            f"Not even {max(records)} records that lie together keep what is promised "
            f"of groups, and [engine] block = {block} allows no more.",
            fix="promise less of them, or choose a larger block.",
        )


def require_distinct_means(are_apart: bool) -> None:
    """Refuse group means that coincide, from which no map restores moments."""
    if not are_apart:
        raise InfeasibleInputError(
            "Group means coincide in an attribute or a direction in which records "
            "differ, so no map restores what is to be kept.",
            fix="choose a smaller k, or take the means as they are.",
        )


def require_values_within(
    names: Sequence[str], statuses: Sequence[Status | None]
) -> None:
    """Refuse bounds within which the solver found no values.

    Raises
    ------
    InfeasibleInputError
        The attribute is named.
    """
    for name, status in zip(names, statuses, strict=True):
        if status is not None and not status.usable:
            with naming(repr(name)):
                raise InfeasibleInputError(
                    "No values within the bounds of what is published were found that "
                    "keep the variance of the originals.",
                    fix="choose a smaller k, keep less, or leave a bound out.",
                )
