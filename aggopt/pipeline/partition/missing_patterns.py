"""Groups of records with missing values, and their requirements."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from aggopt.aggregate.kept_statistics import Keeping, KeptApart
from aggopt.core.record_weights import group_sse
from aggopt.core.types import F64, I64, Bool, Labels
from aggopt.core.validation import Floats
from aggopt.data.context.confidential import Confidential
from aggopt.data.context.strata import RecordStrata
from aggopt.data.table import Table
from aggopt.encoding import Encoded, EncodedAttribute
from aggopt.encoding.incomplete import fill_coordinates
from aggopt.errors import InfeasibleInputError, JobError
from aggopt.job import Job
from aggopt.missing._patterns import Patterns
from aggopt.missing._patterns import join_patterns as joined
from aggopt.partition.registry import PARTITIONERS, ConfidentialUse
from aggopt.partition.shared.result import Block, Partition
from aggopt.pipeline.partition.strata import separate_strata, stratum_requirements
from aggopt.pipeline.partition.subsets import (
    OnProgress,
    SubsetPartitioner,
    Subsets,
    partition_within,
)
from aggopt.pipeline.prepare.attribute_blocks import Columns
from aggopt.pipeline.validate.privacy_guarantees import repair_block
from aggopt.release.audit.counts import combine_codes
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


def require_covered(table: Table, whole: Floats, job: Job) -> None:
    """Refuse to keep the covariance of numbers with missing values.

    Raises
    ------
    JobError
        The aggregation uses all attributes of a record.
    """
    if np.isnan(whole[:, table.places]).any():
        require_no_covariance(job)


def require_no_covariance(job: Job) -> None:
    """Refuse to keep the covariance, some numbers being missing.

    Raises
    ------
    JobError
        The aggregation looks at all attributes of a record.
    """
    how = job.aggregation
    table_of = isinstance(how, Keeping) and isinstance(how.keep, KeptApart)
    if "covariance" in how.keeps or table_of:
        kept = "a table" if table_of else '"covariance"'
        raise JobError(
            f"keep = {kept} is of records that have every number, and values are "
            "missing.",
            fix='set keep = "variance", of each attribute, or remove those records.',
        )


def require_patterns(whole: Floats, job: Job) -> None:
    """Refuse a partition that cannot be made within patterns of missing values.

    Raises
    ------
    JobError
        It uses the confidential attributes of all records together.
    """
    method = PARTITIONERS.of(job.partition)
    apart = job.missing.policy == "patterns" and np.isnan(whole).any()
    if method.confides is not ConfidentialUse.NONE and apart:
        raise JobError(
            f"{method.name} looks at confidential values of all records together, and "
            "groups are made within each pattern of missing values.",
            fix='choose method = "mdav" or another, with repair = "merge" under '
            '[privacy]; or policy = "fill" under [missing].',
        )


def require_values(table: Table, whole: Floats, job: Job) -> None:
    """Refuse attributes with too few present values.

    Raises
    ------
    InfeasibleInputError
        Fewer than k are present, or fewer than 2k if the variance is to be kept.
    """
    require_enough((~np.isnan(whole)).sum(axis=0), len(whole), job, table.domains)


def require_enough(there: I64, n: int, job: Job, categories: Collection[str]) -> None:
    """Refuse attributes if `there` (d,), the present values of n, are too few.

    Raises
    ------
    InfeasibleInputError
        As `require_values`.
    """
    k, twice = job.privacy.k, "variance" in job.aggregation.keeps
    for name, count in zip(job.roles.quasi_identifier, there.tolist(), strict=True):
        least = 2 * k if twice and name not in categories else k
        if count == n or count >= least:
            continue
        why = " and its variance is to be kept" if least > k else ""
        raise InfeasibleInputError(
            f"{name!r} has {count} values that are not missing, with k = {k}{why}: "
            f"{least} are needed.",
            fix="drop it, as identifier, or choose a smaller k.",
        )


Require = Callable[[Bool, Sequence[str]], None]


def require_published(kept: Bool, names: Sequence[str]) -> None:
    """Refuse a release that has nothing of an attribute."""
    for name in (names[j] for j in np.flatnonzero(~kept.any(axis=0)).tolist()):
        raise InfeasibleInputError(
            f"Every value of {name!r} would be suppressed: fewer than k records of any "
            "pattern of missing values have one.",
            fix="drop the attribute, as identifier, or choose a smaller k.",
        )


def impute_means(incomplete: Encoded) -> Encoded:
    """Return coordinates with missing values replaced by the attribute's mean."""
    found = incomplete.coordinates
    count = (~np.isnan(found)).sum(axis=0)
    return fill_coordinates(incomplete, np.nansum(found, axis=0) / np.maximum(count, 1))


def join_patterns(
    incomplete: Encoded, absent: Bool, k: int, block: Sequence[int]
) -> Patterns:
    """Return the patterns of a block of attributes, each of k records or more."""
    own = incomplete.only(block)
    return joined(absent[:, list(block)], k, own.coordinates, own.owner)


def join_patterns_within_strata(
    incomplete: Encoded,
    absent: Bool,
    k: int,
    block: Sequence[int],
    strata: RecordStrata,
) -> Patterns:
    """Return the joined patterns of each stratum, without joining across strata."""
    own, holes = incomplete.only(block), absent[:, list(block)]
    labels, suppressed = np.empty_like(strata.labels), np.empty_like(holes)
    for rows in strata.members:
        found = joined(holes[rows], k, own.coordinates[rows], own.owner)
        labels[rows], suppressed[rows] = found.labels, found.suppressed
    return Patterns(combine_codes([strata.labels, labels]), suppressed)


def find_missing(incomplete: Encoded) -> Bool:
    """Return which values (n, d) are missing.

    Those of an attribute without coordinates, being constant, are looked up in it.
    """
    return np.stack([_absent(each) for each in incomplete.attributes], axis=1)


def _absent(attribute: EncodedAttribute) -> Bool:
    if attribute.numbers is not None:
        return np.isnan(attribute.numbers.values)
    return attribute.codes < 0


def partition_by_patterns(
    incomplete: Encoded,
    k: int,
    columns: Columns,
    how: SubsetPartitioner,
    names: Sequence[str],
    strata: RecordStrata | None = None,
    jobs: int = 1,
    require: Require = require_published,
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
