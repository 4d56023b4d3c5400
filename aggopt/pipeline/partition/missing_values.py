"""Groups of records with missing values: within patterns, or by imputed values."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from aggopt.core.deadline import Deadline
from aggopt.core.record_weights import group_sse
from aggopt.core.types import F64, Bool, Floats, Labels
from aggopt.core.validation import renumber_groups
from aggopt.data.context.confidential import Confidential, list_requirements
from aggopt.data.context.strata import RecordStrata
from aggopt.encoding import Encoded
from aggopt.encoding.encode_table import fill_coordinates, impute_means
from aggopt.job import Job
from aggopt.missing import Observed, impute_by_neighbours
from aggopt.partition.shared.result import Block, Partition
from aggopt.pipeline.partition import subsets
from aggopt.pipeline.partition.methods import repair_block
from aggopt.pipeline.prepare.job_settings import Columns
from aggopt.pipeline.prepare.prepared_table import (
    find_missing,
    join_patterns,
    join_patterns_within_strata,
)
from aggopt.pipeline.validate import missing_values
from aggopt.privacy.dominance import Dominance
from aggopt.privacy.requirement import Requirement
from aggopt.repair.merge_until_satisfied import merge_until_satisfied
from aggopt.solvers import Certificate, Status

SEED = 0  # of ties among nearest records: repeated runs give equal groups
CUT = (Status.LIMIT, Status.INTERRUPTED, Status.UNPROVEN)


class IncompletePartition(NamedTuple):
    """The partition of records with missing values.

    Attributes
    ----------
    blocks
        Attributes that are partitioned together, with their groups.
    kept : (n, d)
        Whether a value is present and used for the value that its group publishes.
    """

    blocks: tuple[Block, ...]
    kept: Bool


Require = Callable[[Bool, Sequence[str]], None]


def impute_from_neighbours(incomplete: Encoded) -> Encoded:
    """Return coordinates with missing ones imputed from the nearest records."""
    imputed = impute_by_neighbours(incomplete.coordinates, incomplete.owner, SEED)
    return fill_coordinates(incomplete, imputed)


def partition_incomplete(
    incomplete: Encoded,
    columns: Columns,
    partitioner: subsets.SubsetPartitioner,
    job: Job,
    confidential: Sequence[Confidential],
    repair: subsets.OnProgress | None,
    strata: RecordStrata | None = None,
    weights: Floats | None = None,
    require: Require = missing_values.require_any_published,
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
    names = job.roles.quasi_identifier
    k = job.privacy.k
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
    partitioner: subsets.SubsetPartitioner,
    job: Job,
    confidential: Sequence[Confidential],
    repair: subsets.OnProgress | None,
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
    absent = find_missing(incomplete)
    k = job.privacy.k
    records = impute_from_neighbours(incomplete)
    names = job.roles.quasi_identifier
    blocks = []
    if units is not None:
        missing_values.require_present_units(absent, units, names, k, strata)
    for done, columns_of in enumerate(columns):
        clock = Deadline(None)
        method = partitioner.reporting(
            partial(subsets.report_share, partitioner.on_progress, done, len(columns))
        )
        if strata is None:
            block = method.partition_block(records, k, columns_of, names)
        else:
            (block,) = subsets.partition_within_strata(
                records, strata, (columns_of,), k, method, names, job.strata.jobs
            )
        requirements = _list_observed_requirements(
            absent, columns_of, names, k, confidential, units
        )
        first = block.partition
        with subsets.add_stratum_requirement(strata) as more:
            requirements += more
            if repair:
                near = subsets.separate_strata(records, strata)
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
    """Return the requirements on present values in groups, by attribute."""
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
    """Return a block with groups merged to satisfy the requirements, certified."""
    block_records = records.only(block.columns)
    is_present = ~absent[:, list(block.columns)]
    near = subsets.separate_strata(block_records, strata)
    labels = renumber_groups(
        merge_until_satisfied(near, block.labels, requirements, weights=weights)
    )
    ended = {proof.status for proof in (*first.evidence, *block.partition.evidence)}
    merged = labels.max() < first.labels.max()
    if merged and labels.max() == 0:
        missing_values.require_no_single_group(block, records, is_present, job)
    proof = Certificate(
        next((status for status in CUT if status in ended), Status.HEURISTIC),
        compute_observed_sse(block_records, labels, is_present, weights),
        None,
        0.0,
        f"{job.partition.method} on imputed values{', then merging' * bool(merged)}",
        clock.spent,
    )
    return replace(block, partition=Partition(labels, proof))


def partition_by_patterns(
    incomplete: Encoded,
    k: int,
    columns: Columns,
    partitioner: subsets.SubsetPartitioner,
    names: Sequence[str],
    strata: RecordStrata | None = None,
    jobs: int = 1,
    require: Require = missing_values.require_any_published,
) -> IncompletePartition:
    """Return groups of records with missing values in equal attributes.

    Each pattern, within a stratum if strata are given, is a part of the table, see
    `partition_within`.  `require` checks the values that are kept.

    Raises
    ------
    InfeasibleInputError
        Nothing of an attribute would be published.
    """
    absent = find_missing(incomplete)
    is_kept = ~absent
    if strata is None:
        patterns = [join_patterns(incomplete, absent, k, block) for block in columns]
    else:
        patterns = [
            join_patterns_within_strata(incomplete, absent, k, b, strata)
            for b in columns
        ]
    for block, pattern in zip(columns, patterns, strict=True):
        is_kept[:, list(block)] &= ~pattern.suppressed
    require(is_kept, names)  # before any group is made
    pairs = zip(columns, patterns, strict=True)
    parts = [
        subsets.Subsets(pattern.labels, is_kept[:, list(block)])
        for block, pattern in pairs
    ]
    blocks = subsets.partition_within(
        incomplete, columns, parts, k, partitioner, names, jobs
    )
    return IncompletePartition(blocks, is_kept)


def repair_across_patterns(
    block: Block,
    is_kept: Bool,
    incomplete: Encoded,
    job: Job,
    confidential: Sequence[Confidential],
    on_progress: subsets.OnProgress,
    strata: RecordStrata | None = None,
    weights: Floats | None = None,
) -> IncompletePartition:
    """Return groups that satisfy the job's requirements, across patterns if necessary.

    A group publishes the attributes that all of its records have.  Records of different
    patterns are far apart, so that few values are suppressed.
    """
    records = impute_means(incomplete)
    near = subsets.separate_strata(separate_patterns(records, is_kept), strata)
    with subsets.add_stratum_requirement(strata) as more:
        repaired = repair_block(
            block, near, job, confidential, on_progress, more, weights
        )
    if repaired is block:
        return IncompletePartition((block,), is_kept)
    shared = find_present_in_group(repaired.labels, ~is_kept)
    return IncompletePartition(
        (certify_observed_loss(repaired, records, shared, weights),), shared
    )


def separate_patterns(records: Encoded, is_kept: Bool) -> Encoded:
    """Return records with coordinates that separate patterns of missing values.

    Groups that are then merged have few values to suppress.
    """
    coordinates = records.coordinates
    far = 1.0 + np.sqrt((np.ptp(coordinates, axis=0) ** 2).sum())
    return replace(records, coordinates=np.hstack([coordinates, far * ~is_kept]))


def find_present_in_group(labels: Labels, absent: Bool) -> Bool:
    """Return a mask (n, d) of attributes present in all records of the group."""
    lacking = np.stack([np.bincount(labels, holes) for holes in absent.T], axis=1)
    return np.asarray(lacking[labels] == 0)


def certify_observed_loss(
    block: Block, records: Encoded, is_kept: Bool, weights: Floats | None = None
) -> Block:
    """Return a block with the certificate of the loss of its kept values (n, d).

    Uses `weights` (n,), if records have them.  The certificate has no bound, because
    the proof about the groups does not refer to these values.
    """
    certificate = block.certificate
    block_records = records.only(block.columns)
    is_kept_in_block = is_kept[:, list(block.columns)]
    proof = Certificate(
        certificate.status
        if certificate.status is not Status.OPTIMAL
        else Status.HEURISTIC,
        compute_observed_sse(block_records, block.labels, is_kept_in_block, weights),
        None,
        certificate.violation,
        certificate.solver,
        certificate.seconds,
    )
    return replace(block, partition=Partition(block.labels, proof))


def compute_observed_sse(
    records: Encoded, labels: Labels, is_kept: Bool, weights: Floats | None = None
) -> float:
    """Return the squared error within groups of the values that are kept (n, d).

    By `weights` (n,), if records have some.
    """
    return sum(_iterate_sse(records, labels, is_kept, weights))


def _iterate_sse(
    records: Encoded, labels: Labels, is_kept: Bool, weights: Floats | None
) -> Iterator[float]:
    """Yield each attribute's squared error within groups, of kept values."""
    owner = records.owner
    for j in np.unique(owner):
        rows = np.flatnonzero(is_kept[:, j])
        values: F64 = records.coordinates[np.ix_(rows, owner == j)]
        if len(rows):
            groups = np.unique(labels[rows], return_inverse=True)[1]
            yield group_sse(values, groups, None if weights is None else weights[rows])
