"""Sampling weights: their use by the job, and the settings refused with them."""

from collections.abc import Iterator
from inspect import signature

import numpy as np

from aggopt.aggregate.registry import AGGREGATORS
from aggopt.aggregate.user_model import ByModel
from aggopt.core.plural import plural
from aggopt.core.types import Floats
from aggopt.data.context.weights import read_sampling_weights
from aggopt.data.table import Table
from aggopt.errors import JobError, naming
from aggopt.job import Job
from aggopt.partition.shared.scaling import Weighing
from aggopt.pipeline.prepare.job_settings import Columns
from aggopt.pipeline.validate.privacy_guarantees import require_plain_repair
from aggopt.release.audit.dominance import make_dominance_requirements


def require_weighed(job: Job, table: Table, matrix: Floats, columns: Columns) -> None:
    """Refuse a job with settings that do not support its sampling weights.

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
    require_done(job, matrix, columns)
    with naming(f"Column {sampling.name!r}"):
        Weighing.read(sampling.values, len(matrix))
    for requirement in make_dominance_requirements(job, sampling.values):
        require_plain_repair(job, "does not keep the dominance of [weights].")
        if refusal := requirement.explain_infeasible(job.privacy.k):
            raise refusal


def require_done(job: Job, matrix: Floats, columns: Columns) -> None:
    """Refuse settings that do not support sampling weights, whatever their values.

    Raises
    ------
    JobError
        As `require_weighed`.
    """
    wrong = next(_iter_unweighed(job, matrix, columns), None)
    if wrong is not None:
        (name,) = job.roles.weight
        (what, fix) = wrong
        raise JobError(
            f"{name!r} has sampling weights, and {what}.",
            fix=f"{fix}; or list the weights as drop, and leave [weights] out.",
        )


def _iter_unweighed(
    job: Job, matrix: Floats, columns: Columns
) -> Iterator[tuple[str, str]]:
    """Yield a text on each setting without support of weights, and a remedy."""
    aggregation = job.aggregation
    holes = int(np.isnan(matrix).sum())
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
    function = AGGREGATORS.of(aggregation).function
    if (
        isinstance(aggregation, ByModel)
        or "weights" not in signature(function).parameters
    ):
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
