"""A job that names no method of partition, given the one that is recommended."""

from collections.abc import Callable

from aggopt.job._job import Job
from aggopt.job._partition import Recommended


def settled(
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
    >>> settled(job, n=400, d=4)[0].partition.method
    'local_search'
    """
    how = job.partition
    if not isinstance(how, Recommended):
        return job, ()
    from aggopt.partition import recommend

    k, limit = job.privacy.k, how.time_limit
    found = recommend(n, d, k, limit, distinct=distinct(), weighted=weighted)
    kept = {"attributes": how.attributes, "weights": how.weights}
    named = {"method": found.method, **kept, **found.settings}
    section = Job.model_validate(
        {"roles": job.roles, "privacy": job.privacy, "partition": named}
    ).partition
    reason = f"The partition {found.method!r} was chosen: {found.reason}"
    if how.time_limit is not None and "time_limit" not in found.settings:
        reason += " It ends by itself: [partition] time_limit is not needed."
    return job.model_copy(update={"partition": section}), (reason,)
