"""A job that names no method of partition, given the one that is recommended."""

from collections.abc import Callable

from aggopt.job._job import Job
from aggopt.job._partition import Recommended


def choose_partition(
    job: Job,
    n: int,
    d: int,
    distinct: Callable[[], int | None] = lambda: None,
    *,
    weighted: bool = False,
) -> tuple[Job, tuple[str, ...]]:
    """Return the job with a partition method that suits n records, and the reason.

    At most `d` attributes are grouped together.  `distinct` returns the number of
    distinct records, if known.  `weighted` is whether records have unequal sampling
    weights.  A job that names its method is returned unchanged.

    >>> job = Job(roles={"quasi-identifier": ["age"]}, privacy={"k": 5})
    >>> choose_partition(job, n=400, d=4)[0].partition.method
    'local_search'
    """
    partition = job.partition
    if not isinstance(partition, Recommended):
        return job, ()
    from aggopt.partition import recommend

    k = job.privacy.k
    limit = partition.time_limit
    recommendation = recommend(n, d, k, limit, distinct=distinct(), weighted=weighted)
    unchanged_keys = {"attributes": partition.attributes, "weights": partition.weights}
    keys = {
        "method": recommendation.method,
        **unchanged_keys,
        **recommendation.settings,
    }
    section = Job.model_validate(
        {"roles": job.roles, "privacy": job.privacy, "partition": keys}
    ).partition
    reason = (
        f"The partition {recommendation.method!r} was chosen: {recommendation.reason}"
    )
    if partition.time_limit is not None and "time_limit" not in recommendation.settings:
        reason += " It ends by itself: [partition] time_limit is not needed."
    return job.model_copy(update={"partition": section}), (reason,)
