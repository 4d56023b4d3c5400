"""Groups within strata: what is refused of them, how they are made and repaired."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from aggopt.core.plural import many
from aggopt.core.types import Labels
from aggopt.core.validation import Floats
from aggopt.encoding import Encoded
from aggopt.errors import InfeasibleInputError, JobError
from aggopt.input.confidential import Confidential
from aggopt.input.strata import Stratified
from aggopt.job import Job
from aggopt.partition._registry import PARTITIONERS, Confides
from aggopt.partition._shared.block import Block
from aggopt.pipeline.attribute_blocks import Columns
from aggopt.pipeline.by_stratum import each_by_itself
from aggopt.pipeline.guarantees import repaired, require_plain_repair
from aggopt.pipeline.parts import How, Parts, Told, divided_within


def require_within(job: Job, whole: Floats) -> None:
    """Refuse a job whose groups are not made within strata.

    Raises
    ------
    JobError
        Its method looks at confidential values of all records, or at whole numbers; its
        repair exchanges records wherever they are; or values are missing.
    """
    if not job.roles.stratum:
        return
    method = PARTITIONERS.of(job.partition)
    if method.confides is not Confides.NONE:
        raise JobError(
            f"{method.name} looks at confidential values of all records together, and "
            "groups are made within strata.",
            fix='choose method = "mdav" or another, with repair = "merge" under '
            "[privacy].",
        )
    require_plain_repair(job, "is not made within strata.")
    if getattr(job.partition, "centroids", "any") == "integer":
        raise JobError(
            'centroids = "integer" is of values in their own units, and within strata '
            "distances are measured in standard deviations of all records.",
            fix="leave centroids out under [partition].",
        )
    holes = int(np.isnan(whole).sum())
    if holes:
        raise JobError(
            f"{many(holes, 'value')} of quasi-identifiers "
            f"{'is' if holes == 1 else 'are'} missing, and groups of such records are "
            "not made within strata.",
            fix='remove those records, or of names write missing = "own value" under '
            "[attributes.NAME].",
        )


def require_twice(job: Job, strata: Stratified | None) -> None:
    """Refuse strata of one group, where the variance of each is to be kept.

    Raises
    ------
    InfeasibleInputError
        The message has how many they are.
    """
    if strata is None or not each_by_itself(job):
        return
    sizes, k = strata.sizes, job.privacy.k
    few = sizes[sizes < 2 * k]
    if "variance" in job.aggregation.keeps and few.size:
        raise InfeasibleInputError(
            f"{len(few)} of {many(len(sizes), 'stratum', 'strata')} "
            f"{'has' if len(few) == 1 else 'have'} fewer than 2k = {2 * k} records, "
            f"{many(int(few.sum()), 'record')} in all: they make one group each, and "
            "one value cannot keep a variance.",
            fix='set keep = "overall" under [strata], which keeps the variance of all '
            "records together; or choose a smaller k, fewer columns as stratum, or "
            "aggregate by the mean as it is.",
        )


def within_strata(
    records: Encoded,
    strata: Stratified,
    columns: Columns,
    k: int,
    how: How,
    names: Sequence[str],
) -> tuple[Block, ...]:
    """Return groups that lie within strata, each of which is a part of the table."""
    n = len(records)
    parts = [Parts(strata.labels, np.ones((n, len(b)), dtype=bool)) for b in columns]
    return divided_within(records, columns, parts, k, how, names)


def repaired_within(
    block: Block,
    records: Encoded,
    strata: Stratified,
    job: Job,
    held: Sequence[Confidential],
    told: Told,
) -> Block:
    """Return groups within strata that satisfy what the job requires.

    Records of different strata are farther apart than any of one, so that a repair goes
    beyond a stratum only where nothing within it will do.

    Raises
    ------
    InfeasibleInputError
        A group has records of several strata.
    """
    made = repaired(block, _apart(records, strata.labels), job, held, told)
    across = int((_strata_in(made.labels, strata.labels) > 1).sum())
    if across:
        raise InfeasibleInputError(
            "Within strata no groups were found that keep what is promised: the repair "
            f"made {many(across, 'group')} with records of several.",
            fix="promise less of confidential values, choose fewer columns as stratum, "
            'or small = "merge" under [strata] with a larger k.',
        )
    return made


def _apart(records: Encoded, strata: Labels) -> Encoded:
    """Return records with one coordinate more, in which strata lie apart."""
    found = records.coordinates
    far = np.ceil(1.0 + np.sqrt((np.ptp(found, axis=0) ** 2).sum()))
    return replace(records, coordinates=np.hstack([found, far * strata[:, None]]))


def _strata_in(labels: Labels, strata: Labels) -> Labels:
    """Return how many strata the records of each group are of, (m,)."""
    pairs = np.unique(np.stack([labels, strata], axis=1), axis=0)
    return np.bincount(pairs[:, 0])
