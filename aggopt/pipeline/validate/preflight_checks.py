"""Checks of a table and a job before any group is made, each independent.

Masking makes them in turn; a check of a job makes all of them.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from aggopt.aggregate.kept_statistics import Keeping, KeptApart
from aggopt.core.plural import plural
from aggopt.core.standardise import Scale
from aggopt.core.types import Floats
from aggopt.data.context.confidential import Confidential
from aggopt.data.context.strata import RecordStrata
from aggopt.data.context.units import RecordUnits
from aggopt.data.table import Table
from aggopt.errors import InfeasibleInputError, JobError, TableError, require_known
from aggopt.job import Job, Mean, SolverSection
from aggopt.models.shared.joint import compute_root
from aggopt.partition.registry import PARTITIONERS, AttributeUse
from aggopt.partition.shared.result import Block
from aggopt.pipeline.prepare.job_settings import (
    Columns,
    choose_method_solver,
    is_aggregated_by_stratum,
    is_variance_kept,
    list_kept_columns,
    read_response,
)
from aggopt.pipeline.prepare.prepared_table import find_constant
from aggopt.pipeline.validate.bounds import require_bounds
from aggopt.pipeline.validate.categories import (
    require_counts,
    require_rare,
    require_together,
)
from aggopt.pipeline.validate.infeasibility import explain_single_group
from aggopt.pipeline.validate.missing_values import (
    require_covered,
    require_patterns,
    require_present_together,
    require_present_values,
)
from aggopt.pipeline.validate.privacy_guarantees import require_guarantees
from aggopt.pipeline.validate.sampling_weights import require_weighed
from aggopt.pipeline.validate.strata import (
    require_two_groups_per_stratum,
    require_values_in_strata,
    require_within,
)
from aggopt.pipeline.validate.true_statements import require_statements
from aggopt.pipeline.validate.units import (
    require_linkable,
    require_units,
    require_units_declared,
)
from aggopt.release.audit.risks import require_risk
from aggopt.solvers.options import make_native_options

Check = partial[Any]


def list_checks(
    table: Table,
    matrix: Floats,
    job: Job,
    columns: Columns,
    strata: RecordStrata | None,
    units: RecordUnits | None,
) -> Iterator[Check]:
    """Yield the checks that a job must pass before its table is partitioned.

    `matrix` (n, d) are its quasi-identifiers.  `columns` are grouped together within
    `strata`.  k counts `units`.
    """
    yield partial(require_within, job)
    yield partial(require_units_declared, job, table)
    yield partial(require_units, job, columns, units, strata)
    yield partial(require_linkable, job, units, strata)
    yield partial(require_two_groups_per_stratum, job, strata)
    yield partial(require_weighed, job, table, matrix, columns)
    yield partial(require_present_values, table, matrix, job)
    yield partial(require_values_in_strata, table, matrix, job, strata)
    yield partial(require_covered, table, matrix, job)
    yield partial(require_patterns, matrix, job)
    yield partial(require_present_together, job, table, matrix, columns)
    yield partial(_require_varying, table, matrix)
    yield partial(require_bounds, table, matrix, job)
    aggregation = job.aggregation
    for method in (job.partition, *aggregation.programs, aggregation.categories):
        if isinstance(method, SolverSection):
            yield partial(_require_solver, method)
    yield partial(_require_two_groups, matrix, job)
    yield partial(_require_rounding, job)
    yield partial(_require_integers, table, job)
    yield partial(require_one_at_a_time, job, columns)
    yield partial(require_scope, job, columns)
    yield partial(require_numeric_blocks, job, table, columns)
    yield partial(require_together, job, table, columns)
    yield partial(require_rare, job, table)
    yield partial(require_effective_weights, job, table, columns)
    yield partial(require_statements, job, table.spans)
    yield partial(require_guarantees, job)
    yield partial(require_risk, table, job)
    yield partial(_require_linkable_records, matrix, job)
    yield _make_covariance_check(table, matrix, job, columns, strata)


def _make_covariance_check(
    table: Table,
    matrix: Floats,
    job: Job,
    columns: Columns,
    strata: RecordStrata | None,
) -> Check:
    """Return the check that the covariance of numbers can be kept.

    Blocks without a number are left out.
    """
    at = {place: j for j, place in enumerate(table.places)}
    number_places = (
        tuple(at[place] for place in block if place in at) for block in columns
    )
    numbers = tuple(filter(None, number_places))
    X = matrix[:, table.places]
    return partial(require_covariance, table, X, numbers, job, strata)


def require_variance(
    job: Job, confidential: tuple[Confidential, ...], blocks: tuple[Block, ...]
) -> None:
    """Refuse a single group made for t-closeness if the variance is to be kept."""
    if not is_variance_kept(job) or blocks[0].groups > 1:
        return
    why = explain_single_group(confidential, job.privacy)
    if why:
        raise InfeasibleInputError(
            f"{why.problem} One value cannot keep the variance.",
            fix=f"{why.fix[:-1]}; or aggregate by the mean as it is.",
        )


def _require_varying(table: Table, matrix: Floats) -> None:
    """Refuse a table whose quasi-identifiers are all constant."""
    if find_constant(table, matrix).all():
        raise TableError(
            "No quasi-identifier varies: there is nothing to mask.",
            fix="name those that vary; where none does, k-anonymity needs no masking.",
        )


def _require_solver(method: SolverSection) -> None:
    """Refuse a solver, or options of it, that a later step could not use."""
    make_native_options(choose_method_solver(method), method.time_limit, method.options)


def _require_two_groups(matrix: Floats, job: Job) -> None:
    """Refuse fewer than 2k records if the variance is to be kept."""
    if is_variance_kept(job) and len(matrix) < 2 * job.privacy.k:
        raise InfeasibleInputError(
            f"{len(matrix)} records with k = {job.privacy.k} make one group, and one "
            "value cannot keep the variance.",
            fix="choose k of at most half the records, or aggregate by the mean as it "
            "is.",
        )


def _require_linkable_records(matrix: Floats, job: Job) -> None:
    """Refuse a limit of the linkage if records miss values."""
    n = len(matrix)
    privacy = job.privacy
    incomplete = int(np.isnan(matrix).any(axis=1).sum())
    if privacy.linkage is not None and incomplete:
        raise JobError(
            f"linkage is measured on complete records, and {incomplete} of {n} records "
            "miss a value of a quasi-identifier.",
            fix="fill them, or remove those records, before masking; or leave linkage "
            "out under [privacy].",
        )


def _requires_integer_centroids(job: Job) -> bool:
    """Whether the partition is optimal for whole-number centroids."""
    return getattr(job.partition, "centroids", None) == "integer"


def _require_rounding(job: Job) -> None:
    """Refuse a partition for whole-number centroids that are not rounded."""
    aggregation = job.aggregation
    plain = isinstance(aggregation, Mean) and aggregation.keep == "mean"
    if _requires_integer_centroids(job) and not (plain and job.output.round_integers):
        raise JobError(
            'centroids = "integer" asks for groups whose means are to be rounded, and '
            "this job would not round them.",
            fix='set round_integers = true under [output] and method = "mean" under '
            "[aggregation], or leave centroids out.",
        )


def _require_integers(table: Table, job: Job) -> None:
    """Refuse a partition for whole-number centroids of other columns."""
    kinds = table.frame.schema
    names = job.roles.quasi_identifier
    other = [n for n in names if n in table.domains or not kinds[n].is_integer()]
    if _requires_integer_centroids(job) and other:
        raise JobError(
            f'centroids = "integer" is for columns of whole numbers, which '
            f"{', '.join(map(repr, other))} are not by their type.",
            fix="convert them to integers, or leave centroids out.",
        )


def require_memory_engine(job: Job) -> None:
    """Refuse a job whose [engine] masks folders, for a table in memory.

    Raises
    ------
    JobError
        The way to a folder is in it.
    """
    if job.engine.name != "memory":
        raise JobError(
            f"[engine] name = {job.engine.name!r} masks a folder into another, and a "
            "table is to be masked.",
            fix='name the folder to write, out = "masked"; or leave [engine] out.',
        )


GROUPED_TOGETHER = "several attributes together, or leave it out"


def require_effective_weights(job: Job, table: Table, columns: Columns) -> None:
    """Refuse weights of attributes that are alone in their block.

    Raises
    ------
    JobError
        `weight` of an attribute that is grouped separately, or `weights` although every
        category is.
    """
    names = job.roles.quasi_identifier
    alone = [names[block[0]] for block in columns if len(block) == 1]
    for name in alone:
        if name in job.attributes and job.attributes[name].weight != 1:
            raise JobError(
                f"[attributes.{name}] weight is of distances beside those of other "
                f"attributes, and {name!r} is grouped by itself.",
                fix=f"group {GROUPED_TOGETHER}.",
            )
    if job.partition.weights == "variance" or len(alone) < len(columns):
        return
    if all(name in table.domains for name in alone):
        raise JobError(
            '[partition] weights = "range" is of attributes beside each other, and '
            f"{plural(len(alone), 'category', 'categories')} of the job "
            f"{'is' if len(alone) == 1 else 'are'} grouped each by itself.",
            fix=f"group {GROUPED_TOGETHER}.",
        )


def require_one_at_a_time(job: Job, blocks: Columns) -> None:
    """Refuse several attributes in one block for a method that takes one.

    Raises
    ------
    JobError
        The message has the method and how many are grouped together.
    """
    method = job.partition.method
    largest = max(map(len, blocks))
    if PARTITIONERS.of(job.partition).takes is AttributeUse.ONE and largest > 1:
        raise JobError(
            f"{method} takes one attribute, and the job groups {largest} together.",
            fix="group one attribute at a time, with method = "
            '"individual_ranking" or attributes = "one by one", which takes scope = '
            '"blocks" under [privacy]; or all together, with method = "projection" or '
            '"mhm".',
        )


def require_scope(job: Job, blocks: Columns) -> None:
    """Refuse several blocks if k is of the combination of all attributes.

    Raises
    ------
    JobError
        k would hold within each block alone.
    """
    method = job.partition.method
    d = len(job.roles.quasi_identifier)
    if len(blocks) > 1 and job.privacy.scope == "combination":
        raise JobError(
            f"{method} is to group {d} quasi-identifiers in {len(blocks)} blocks, each "
            f"by itself. k = {job.privacy.k} then holds within each block, and not for "
            "the combination of all of them, which the job promises.",
            fix='promise less, with scope = "blocks" under [privacy] (a record '
            "may then be unique with its combination); or group all together, with "
            f"{_suggest_grouping(job)}.",
        )


def _suggest_grouping(job: Job) -> str:
    """Return the text of a setting that groups all attributes together."""
    if PARTITIONERS.of(job.partition).takes is not AttributeUse.SEVERAL:
        return 'method = "mdav", "mhm" or another that takes several attributes'
    return 'attributes = "together" under [partition]'


def require_numeric_blocks(job: Job, table: Table, columns: Columns) -> None:
    """Refuse a univariate partition of a block with a category.

    Raises
    ------
    JobError
        The message names the method and the attribute.
    """
    if job.partition.function != "univariate":
        return
    names = job.roles.quasi_identifier
    grouped = [names[j] for block in columns for j in block]
    for name in filter(table.domains.__contains__, grouped):
        raise JobError(
            f"{job.partition.method} orders numbers, and {name!r} is "
            f"{table.domains[name].kind}.",
            fix='choose method = "mdav", "local_search" or another that takes several '
            "attributes.",
        )


KEPT_TOGETHER = {  # number of groups in addition to the rank, and the description
    "covariance": (1, "covariance matrix"),
    "regression": (2, "regression on attributes"),
}


def require_covariance(
    table: Table, X: Floats, places: Columns, job: Job, strata: RecordStrata | None
) -> None:
    """Refuse numbers X (n, p) whose covariance no groups of k can keep.

    `places` are the columns of X that are grouped together, block by block.  Each of
    the `strata` is checked if strata are aggregated separately.

    Raises
    ------
    JobError
        Attributes to keep together are not grouped together; or a table of `keep` names
        an attribute that is not a number, or omits a number.
    TableError
        The response of a regression is not a number in some records.
    InfeasibleInputError
        Their rank requires more groups than k allows.
    """
    if not isinstance(job.aggregation, Keeping):
        return
    keep = job.aggregation.keep
    apart = strata is not None and is_aggregated_by_stratum(job)
    rows = list(strata.members) if strata and apart else [np.arange(len(X))]
    who = "records of one stratum" if apart else "records"
    if isinstance(keep, KeptApart):
        _require_names(keep, table.numeric)
        if keep.formula:
            read_response(table, job)
        for what, columns in list_kept_columns(keep, table.numeric):
            if what in KEPT_TOGETHER:
                _require_together(what, _count_blocks(places, columns))
                for stratum_rows in rows:
                    _require_enough_groups(what, X[stratum_rows][:, columns], job, who)
    elif keep == "covariance":
        _require_together(keep, len(places))
        for stratum_rows in rows:
            _require_enough_groups(keep, X[stratum_rows], job, who)


def _require_names(keep: KeptApart, names: Sequence[str]) -> None:
    """Refuse a `keep` table without each numeric attribute."""
    kept_names = [name for _, part in keep.parts for name in part]
    for name in kept_names:
        require_known("quasi-identifier that is a number", name, names)
    left = [repr(name) for name in names if name not in kept_names]
    if left:
        raise JobError(
            f"keep does not name {', '.join(left)}.",
            fix="name every quasi-identifier that is a number under one statistic.",
        )


def _count_blocks(places: Columns, columns: Sequence[int]) -> int:
    """Return the number of blocks that contain some of these columns."""
    return sum(not set(block).isdisjoint(columns) for block in places)


def _require_together(statistic: str, blocks: int) -> None:
    """Refuse to keep a statistic of attributes in several blocks together."""
    if blocks > 1:
        raise JobError(
            f'keep = "{statistic}" is of attributes that are grouped together, and '
            f"[partition] attributes puts the numbers into {blocks} blocks.",
            fix='leave attributes out under [partition], or set keep = "variance".',
        )


def _require_enough_groups(statistic: str, X: Floats, job: Job, records: str) -> None:
    """Refuse a statistic of X (n, p) that needs more groups than k allows."""
    if np.isnan(X).any():
        return  # which is refused by itself
    scale = Scale.of(X)
    rank = len(compute_root(scale.standardise(X)[:, ~scale.constant]))
    more, matrix_kind = KEPT_TOGETHER[statistic]
    groups = len(X) // job.privacy.k
    if groups < rank + more:
        raise InfeasibleInputError(
            f"{len(X)} {records} with k = {job.privacy.k} make "
            f"{plural(groups, 'group')} at most, and a {matrix_kind} of rank {rank} is "
            f"kept by {rank + more} or more.",
            fix='choose a smaller k, fewer quasi-identifiers, or keep = "variance".',
        )


# these report nothing if fewer than k records exist
OF_K = (require_present_values, _require_two_groups, require_covariance, require_counts)
