"""Sampling weights: their use by the job, and the settings refused with them."""

from collections.abc import Iterator
from inspect import signature
from typing import Any

import numpy as np

from aggopt.aggregate.registry import AGGREGATORS
from aggopt.aggregate.user_model import ByModel
from aggopt.core.plural import plural
from aggopt.core.validation import Floats
from aggopt.data.context.confidential import Confidential
from aggopt.data.context.weights import SamplingWeights, read_sampling_weights
from aggopt.data.table import Table
from aggopt.errors import JobError, naming
from aggopt.job import Job, Repairing
from aggopt.partition.registry import PARTITIONERS
from aggopt.partition.shared.scaling import Weighing
from aggopt.pipeline.prepare.attribute_blocks import Columns
from aggopt.pipeline.validate.privacy_guarantees import require_plain_repair
from aggopt.release.audit.dominance import dominance_requirement

MERGING = (
    "Groups are merged until no record dominates one, which can lose several times as "
    "much as groups that keep it from the start: in memory, without missing values, "
    'method = "local_search" makes such groups.'
)


def weight_arguments(
    job: Job, weights: Floats | None, *, apart: bool = False
) -> dict[str, Any]:
    """Return the arguments that pass weights (n,) to a partition.

    Dominance is omitted if groups are within patterns of missing values, `apart`: some
    patterns may have no groups that keep it before they are merged.
    """
    if weights is None:
        return {}
    keeps = PARTITIONERS.of(job.partition).dominates and not apart
    dominance = {"dominance": job.weights.dominance} if keeps else {}
    return {"weights": weights, **dominance}


def dominance_requirements(
    job: Job, sampling: SamplingWeights | None
) -> tuple[Confidential, ...]:
    """Return the requirement on the weights of records: no record dominates a group."""
    if sampling is None:
        return ()
    asked = dominance_requirement(job, sampling.each)
    if not asked:
        return ()
    codes = np.unique(sampling.each, return_inverse=True)[1].astype(np.int64)
    return (Confidential(sampling.name, codes, asked),)


def add_dominance_repair(
    job: Job, sampling: SamplingWeights | None, *, apart: bool
) -> tuple[Job, tuple[str, ...]]:
    """Return the job with a repair for groups that one record dominates, and why.

    No repair is added if the partition keeps dominance, or if any groups of k records
    do.  The partition does not keep it within patterns of missing values, `apart`.
    """
    if sampling is None or job.privacy.repair:
        return job, ()
    share, method = job.weights.dominance, PARTITIONERS.of(job.partition)
    largest = float(sampling.each.max())
    lightest = float(np.sort(sampling.each)[: job.privacy.k - 1].sum())
    keeps = method.dominates and sampling.known is not None and not apart
    if largest <= share * (largest + lightest) or keeps:
        return job, ()
    return merge_for_dominance(job, apart=apart)


def merge_for_dominance(
    job: Job, *, apart: bool = False
) -> tuple[Job, tuple[str, ...]]:
    """Return the job with groups merged until no record dominates one, and why.

    Groups are within patterns of missing values if `apart`.
    """
    asked = job.privacy.model_copy(update={"repair": Repairing(method="merge")})
    method = PARTITIONERS.of(job.partition)
    within = " within patterns of missing values" if apart and method.dominates else ""
    reason = (
        f"No record is to have more than {job.weights.dominance:g} of the weight of "
        f"its group, which {method.name!r} does not look at{within}: groups are merged "
        'until none has, by repair = "merge".'
    )
    return job.model_copy(update={"privacy": asked}), (reason,)


def notes(job: Job, weights: Floats | None) -> list[str]:
    """Return a note on the use of weights; nothing if all weights are equal."""
    if weights is None:
        return []
    method = PARTITIONERS.of(job.partition)
    made = (
        "groups, means and losses are by weight"
        if method.weighs
        else f"means and losses are by weight; {method.name!r} makes groups without "
        "weights, of which the certificate says the weighted loss"
    )
    (name,) = job.roles.weight
    counted = "units" if job.roles.unit else "records"
    said = f"{name!r} weighs records: {made}. k counts {counted}, whatever they weigh."
    return [said, *([MERGING] if _merges_for_dominance(job) else [])]


def _merges_for_dominance(job: Job) -> bool:
    """Whether groups are merged for the weights, and for nothing else."""
    repair, only = job.privacy.repair, not (job.privacy.models or job.roles.unit)
    merges = repair is not None and repair.method == "merge"
    return merges and only and job.weights.dominance < 1


def require_weighed(job: Job, table: Table, whole: Floats, columns: Columns) -> None:
    """Refuse a job with settings that do not support weights.

    Raises
    ------
    JobError
        Mean weights of groups are to be published for attributes in blocks, some of
        their values are missing, the aggregation is a user's model or function, or the
        partition has a loss of its own.
    TableError
        A weight is 0 or below, or more than a million times another.
    InfeasibleInputError
        One record has more of the weight of all than a group may have.
    """
    sampling = read_sampling_weights(table)
    if sampling is None:
        return
    require_done(job, whole, columns)
    with naming(f"Column {sampling.name!r}"):
        Weighing.read(sampling.each, len(whole))
    for asked in dominance_requirement(job, sampling.each):
        require_plain_repair(job, "does not keep the dominance of [weights].")
        if refusal := asked.infeasible(job.privacy.k):
            raise refusal


def require_done(job: Job, whole: Floats, columns: Columns) -> None:
    """Refuse settings that do not support weights, for any weights.

    Raises
    ------
    JobError
        As `require_weighed`.
    """
    wrong = next(_not_weighed(job, whole, columns), None)
    if wrong is not None:
        (name,), (what, fix) = job.roles.weight, wrong
        raise JobError(
            f"{name!r} has sampling weights, and {what}.",
            fix=f"{fix}; or list the weights as drop, and leave [weights] out.",
        )


def _not_weighed(
    job: Job, whole: Floats, columns: Columns
) -> Iterator[tuple[str, str]]:
    """Yield each setting that does not support weights, with a remedy."""
    how, holes = job.aggregation, int(np.isnan(whole).sum())
    blocks = f"quasi-identifiers are grouped in {len(columns)} blocks"
    several = len(columns) > 1 and not job.units.apart(job.roles)  # else refused before
    if several and holes:
        yield (
            f"{blocks}, of which {plural(holes, 'value')} "
            f"{'is' if holes == 1 else 'are'} missing",
            'set attributes = "together" under [partition], or remove those records',
        )
    if several and job.weights.published == "group mean":
        yield (
            f"{blocks}, so that no group has one weight to publish",
            'set published = "drop" under [weights], or attributes = "together" under '
            "[partition]",
        )
    function = AGGREGATORS.of(how).function
    if isinstance(how, ByModel) or "weights" not in signature(function).parameters:
        yield (
            "values are published by a function or a model of your own, which does not "
            "take them",
            'set method = "mean" or "p3m" under [aggregation]',
        )
    if getattr(job.partition, "cost", "sse") != "sse":
        yield (
            "[partition] cost asks for a loss that has none",
            'set cost = "sse"',
        )
    if getattr(job.partition, "centroids", "any") != "any":
        yield (
            '[partition] centroids = "integer" is of means without them',
            "leave centroids out",
        )
