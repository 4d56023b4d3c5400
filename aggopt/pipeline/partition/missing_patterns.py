"""Groups of records with missing values, and their requirements."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from aggopt.core.record_weights import group_sse
from aggopt.core.types import F64, Bool, Labels
from aggopt.core.validation import Floats
from aggopt.data.context.confidential import Confidential
from aggopt.data.context.strata import RecordStrata
from aggopt.encoding import Encoded
from aggopt.encoding.incomplete import impute_means
from aggopt.job import Job
from aggopt.partition.shared.result import Block, Partition
from aggopt.pipeline.partition.methods import repair_block
from aggopt.pipeline.partition.strata import add_stratum_requirement, separate_strata
from aggopt.pipeline.partition.subsets import (
    OnProgress,
    SubsetPartitioner,
    Subsets,
    partition_within,
)
from aggopt.pipeline.prepare.job_settings import Columns
from aggopt.pipeline.prepare.prepared_table import (
    find_missing,
    join_patterns,
    join_patterns_within_strata,
)
from aggopt.pipeline.validate.missing_values import require_any_published
from aggopt.solvers import Certificate, Status


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


def partition_by_patterns(
    incomplete: Encoded,
    k: int,
    columns: Columns,
    partitioner: SubsetPartitioner,
    names: Sequence[str],
    strata: RecordStrata | None = None,
    jobs: int = 1,
    require: Require = require_any_published,
) -> IncompletePartition:
    """Return groups of records whose values are missing in equal attributes.

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
        Subsets(pattern.labels, is_kept[:, list(block)]) for block, pattern in pairs
    ]
    blocks = partition_within(incomplete, columns, parts, k, partitioner, names, jobs)
    return IncompletePartition(blocks, is_kept)


def repair_across_patterns(
    block: Block,
    is_kept: Bool,
    incomplete: Encoded,
    job: Job,
    confidential: Sequence[Confidential],
    on_progress: OnProgress,
    strata: RecordStrata | None = None,
    weights: Floats | None = None,
) -> IncompletePartition:
    """Return groups that satisfy the job's requirements, across patterns if necessary.

    A group publishes the attributes that all of its records have.  Records of different
    patterns are far apart, so that few values are suppressed.
    """
    records = impute_means(incomplete)
    near = separate_strata(separate_patterns(records, is_kept), strata)
    with add_stratum_requirement(strata) as more:
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
    """Return records that are farther from other patterns than from all of their own.

    Groups that are then merged have few values to suppress.
    """
    coordinates = records.coordinates
    far = 1.0 + np.sqrt((np.ptp(coordinates, axis=0) ** 2).sum())
    return replace(records, coordinates=np.hstack([coordinates, far * ~is_kept]))


def find_present_in_group(labels: Labels, absent: Bool) -> Bool:
    """Return which values (n, d) none of the record's group is without."""
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
    block_records, is_kept_in_block = (
        records.only(block.columns),
        is_kept[:, list(block.columns)],
    )
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
    """Return the sum of squares within groups of the values that are kept (n, d).

    By `weights` (n,), if records have some.
    """
    return sum(_iterate_sse(records, labels, is_kept, weights))


def _iterate_sse(
    records: Encoded, labels: Labels, is_kept: Bool, weights: Floats | None
) -> Iterator[float]:
    owner = records.owner
    for j in np.unique(owner):
        rows = np.flatnonzero(is_kept[:, j])
        values: F64 = records.coordinates[np.ix_(rows, owner == j)]
        if len(rows):
            groups = np.unique(labels[rows], return_inverse=True)[1]
            yield group_sse(values, groups, None if weights is None else weights[rows])
