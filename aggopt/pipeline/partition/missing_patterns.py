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
from aggopt.pipeline.partition.strata import separate_strata, stratum_requirements
from aggopt.pipeline.partition.subsets import (
    OnProgress,
    SubsetPartitioner,
    Subsets,
    partition_within,
)
from aggopt.pipeline.prepare.attribute_blocks import Columns
from aggopt.pipeline.prepare.value_patterns import (
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
    how: SubsetPartitioner,
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
    kept = ~absent
    if strata is None:
        patterns = [join_patterns(incomplete, absent, k, block) for block in columns]
    else:
        patterns = [
            join_patterns_within_strata(incomplete, absent, k, b, strata)
            for b in columns
        ]
    for block, found in zip(columns, patterns, strict=True):
        kept[:, list(block)] &= ~found.suppressed
    require(kept, names)  # before any group is made
    pairs = zip(columns, patterns, strict=True)
    parts = [Subsets(found.labels, kept[:, list(block)]) for block, found in pairs]
    made = partition_within(incomplete, columns, parts, k, how, names, jobs)
    return IncompletePartition(made, kept)


def repair_across_patterns(
    block: Block,
    kept: Bool,
    incomplete: Encoded,
    job: Job,
    held: Sequence[Confidential],
    on_progress: OnProgress,
    strata: RecordStrata | None = None,
    weights: Floats | None = None,
) -> IncompletePartition:
    """Return groups that satisfy the job's requirements, across patterns if necessary.

    A group publishes the attributes that all of its records have.  Records of different
    patterns are far apart, so that few values are suppressed.
    """
    records = impute_means(incomplete)
    near = separate_strata(separate_patterns(records, kept), strata)
    with stratum_requirements(strata) as more:
        made = repair_block(block, near, job, held, on_progress, more, weights)
    if made is block:
        return IncompletePartition((block,), kept)
    shared = present_in_whole_group(made.labels, ~kept)
    return IncompletePartition(
        (certify_observed_loss(made, records, shared, weights),), shared
    )


def separate_patterns(records: Encoded, kept: Bool) -> Encoded:
    """Return records that are farther from other patterns than from all of their own.

    Groups that are then merged have few values to suppress.
    """
    found = records.coordinates
    far = 1.0 + np.sqrt((np.ptp(found, axis=0) ** 2).sum())
    return replace(records, coordinates=np.hstack([found, far * ~kept]))


def present_in_whole_group(labels: Labels, absent: Bool) -> Bool:
    """Return which values (n, d) none of the record's group is without."""
    lacking = np.stack([np.bincount(labels, holes) for holes in absent.T], axis=1)
    return np.asarray(lacking[labels] == 0)


def certify_observed_loss(
    block: Block, records: Encoded, kept: Bool, weights: Floats | None = None
) -> Block:
    """Return a block with the certificate of the loss of its kept values (n, d).

    Uses `weights` (n,), if records have them.  The certificate has no bound, because
    the proof about the groups does not refer to these values.
    """
    found = block.certificate
    own, held = records.only(block.columns), kept[:, list(block.columns)]
    proof = Certificate(
        found.status if found.status is not Status.OPTIMAL else Status.HEURISTIC,
        observed_sse(own, block.labels, held, weights),
        None,
        found.violation,
        found.solver,
        found.seconds,
    )
    return replace(block, partition=Partition(block.labels, proof))


def observed_sse(
    records: Encoded, labels: Labels, kept: Bool, weights: Floats | None = None
) -> float:
    """Return the sum of squares within groups of the values that are kept (n, d).

    By `weights` (n,), if records have some.
    """
    return sum(_sse(records, labels, kept, weights))


def _sse(
    records: Encoded, labels: Labels, kept: Bool, weights: Floats | None
) -> Iterator[float]:
    owner = records.owner
    for j in np.unique(owner):
        rows = np.flatnonzero(kept[:, j])
        values: F64 = records.coordinates[np.ix_(rows, owner == j)]
        if len(rows):
            own = np.unique(labels[rows], return_inverse=True)[1]
            yield group_sse(values, own, None if weights is None else weights[rows])
