"""Groups made by imputed values, with k values of their own behind each attribute."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from aggopt.core.deadline import Deadline
from aggopt.core.types import Bool
from aggopt.core.validation import Floats, Labels, renumber_groups
from aggopt.data.context.confidential import Confidential, list_requirements
from aggopt.data.context.strata import RecordStrata
from aggopt.encoding import Encoded
from aggopt.encoding.incomplete import fill_coordinates
from aggopt.job import Job
from aggopt.missing.imputation import Observed, impute_by_neighbours
from aggopt.partition.block_partition import partition_blocks
from aggopt.partition.shared.result import Block, Partition
from aggopt.pipeline.partition.methods import repair_block
from aggopt.pipeline.partition.missing_patterns import (
    IncompletePartition,
    Require,
    compute_observed_sse,
    partition_by_patterns,
    repair_across_patterns,
)
from aggopt.pipeline.partition.strata import (
    add_stratum_requirement,
    partition_within_strata,
    separate_strata,
)
from aggopt.pipeline.partition.subsets import (
    OnProgress,
    SubsetPartitioner,
    report_share,
)
from aggopt.pipeline.prepare.job_settings import Columns
from aggopt.pipeline.prepare.prepared_table import find_missing
from aggopt.pipeline.validate.missing_values import (
    require_any_published,
    require_no_single_group,
    require_present_units,
)
from aggopt.privacy.dominance import Dominance
from aggopt.privacy.requirement import Requirement
from aggopt.repair.merge_until_satisfied import merge_until_satisfied
from aggopt.solvers import Certificate, Status

SEED = 0  # of ties among nearest records: repeated runs give equal groups
CUT = (Status.LIMIT, Status.INTERRUPTED, Status.UNPROVEN)


def impute_from_neighbours(incomplete: Encoded) -> Encoded:
    """Return coordinates with missing ones taken from the nearest records."""
    imputed = impute_by_neighbours(incomplete.coordinates, incomplete.owner, SEED)
    return fill_coordinates(incomplete, imputed)


def partition_incomplete(
    incomplete: Encoded,
    columns: Columns,
    partitioner: SubsetPartitioner,
    job: Job,
    confidential: Sequence[Confidential],
    repair: OnProgress | None,
    strata: RecordStrata | None = None,
    weights: Floats | None = None,
    require: Require = require_any_published,
    units: Labels | None = None,
) -> IncompletePartition:
    """Return the groups of records with missing values, by the job's policy.

    With `repair`, its progress callback, the groups satisfy all requirements of the
    job. They are within `strata`, if given. Records may have `weights` (n,). `require`
    checks the values that groups keep.  If k counts `units` (n,), present values are
    counted by units, too.

    Raises
    ------
    InfeasibleInputError
        Nothing of an attribute would be published, or merging until enough values are
        present leaves one group, which keeps no variance.
    """
    if job.missing.policy == "fill":
        return partition_imputed(
            incomplete,
            columns,
            partitioner,
            job,
            confidential,
            repair,
            strata,
            weights,
            units,
        )
    names, k = job.roles.quasi_identifier, job.privacy.k
    partition = partition_by_patterns(
        incomplete, k, columns, partitioner, names, strata, job.strata.jobs, require
    )
    if repair:
        partition = repair_across_patterns(
            partition.blocks[0],
            partition.kept,
            incomplete,
            job,
            confidential,
            repair,
            strata,
            weights,
        )
    require(partition.kept, names)
    return partition


def partition_imputed(
    incomplete: Encoded,
    columns: Columns,
    partitioner: SubsetPartitioner,
    job: Job,
    confidential: Sequence[Confidential],
    repair: OnProgress | None,
    strata: RecordStrata | None = None,
    weights: Floats | None = None,
    units: Labels | None = None,
) -> IncompletePartition:
    """Return groups made of imputed values, merged until each has k present values.

    With `units` (n,), the values must belong to k units.

    With `weights` (n,), groups are also merged until no record exceeds the share of
    their weight that the job allows.  The certificates refer to the present values and
    have no bound, because a proof about imputed values does not apply to them.

    Raises
    ------
    InfeasibleInputError
        One group is left although the variance is to be kept, or groups of several
        strata; or fewer than k units of a stratum have a value of an attribute.
    """
    divide, settings, on_progress = partitioner
    absent, k = find_missing(incomplete), job.privacy.k
    records = impute_from_neighbours(incomplete)
    names, blocks = job.roles.quasi_identifier, []
    if units is not None:
        require_present_units(absent, units, names, k, strata)
    for done, columns_of in enumerate(columns):
        clock = Deadline(None)
        part = partial(report_share, on_progress, done, len(columns))
        arguments = (divide, settings, part)
        if strata is None:
            (block,) = partition_blocks(records, k, (columns_of,), *arguments, names)
        else:
            (block,) = partition_within_strata(
                records, strata, (columns_of,), k, arguments, names, job.strata.jobs
            )
        requirements = _list_observed_requirements(
            absent, columns_of, names, k, confidential, units
        )
        first = block.partition
        with add_stratum_requirement(strata) as more:
            requirements += more
            if repair:
                near = separate_strata(records, strata)
                block = repair_block(
                    block, near, job, confidential, repair, requirements, weights
                )
                requirements += list_requirements(confidential)
            merged = _merge_block(
                block, first, records, absent, requirements, clock, job, strata, weights
            )
        blocks.append(merged)
    return IncompletePartition(tuple(blocks), ~absent)


def _list_observed_requirements(
    absent: Bool,
    block: Sequence[int],
    names: Sequence[str],
    k: int,
    confidential: Sequence[Confidential],
    units: Labels | None,
) -> list[Requirement]:
    """Return the requirements of groups for the present values of each attribute."""
    attributes = [(names[j], ~absent[:, j]) for j in block if absent[:, j].any()]
    requirements: list[Requirement] = [
        Observed(name, is_present, k, units) for name, is_present in attributes
    ]
    for requirement in list_requirements(confidential):
        if isinstance(requirement, Dominance):
            requirements += [
                replace(requirement, weights=requirement.weights * is_present)
                for _, is_present in attributes
            ]
    return requirements


def _merge_block(
    block: Block,
    first: Partition,
    records: Encoded,
    absent: Bool,
    requirements: Sequence[Requirement],
    clock: Deadline,
    job: Job,
    strata: RecordStrata | None,
    weights: Floats | None,
) -> Block:
    """Return a block whose groups satisfy all, with what its own values lose."""
    block_records, is_present = (
        records.only(block.columns),
        ~absent[:, list(block.columns)],
    )
    near = separate_strata(block_records, strata)
    labels = renumber_groups(
        merge_until_satisfied(near, block.labels, requirements, weights=weights)
    )
    ended = {proof.status for proof in (*first.evidence, *block.partition.evidence)}
    merged = labels.max() < first.labels.max()
    if merged and labels.max() == 0:
        require_no_single_group(block, records, is_present, job)
    proof = Certificate(
        next((status for status in CUT if status in ended), Status.HEURISTIC),
        compute_observed_sse(block_records, labels, is_present, weights),
        None,
        0.0,
        f"{job.partition.method} on imputed values{', then merging' * bool(merged)}",
        clock.spent,
    )
    return replace(block, partition=Partition(labels, proof))
