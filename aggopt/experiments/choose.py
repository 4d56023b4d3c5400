"""Which release: one job over k, methods and settings, risk and loss of each point."""

from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

from aggopt.experiments._choice import Choices as Choices
from aggopt.experiments._choice_point import ChoicePoint as ChoicePoint
from aggopt.experiments._choosing import Choosing
from aggopt.experiments._processes import require_jobs
from aggopt.job import Job
from aggopt.pipeline.partition.partition_table import Progress, progress_or_noop

__all__ = ["ChoicePoint", "Choices", "choose"]


def choose(
    table: Any,
    job: Job | str | Path,
    *,
    k: Any = None,
    method: Any = None,
    keep: Any = None,
    t: Any = None,
    l: Any = None,  # noqa: E741
    alpha: Any = None,
    delta: Any = None,
    at_most: float = 0.1,
    loss: str = "pil",
    time_limit: float | None = None,
    jobs: int = 1,
    cache: str | Path | None = None,
    trust: Iterable[str | Path] = (),
    progress: Progress | None = None,
) -> Choices:
    """Return risk and loss of a job's releases over k, methods and settings.

    Each combination of what is listed is a point: the job with that changed.  Groups
    are made once for all points that differ in the aggregation alone, and methods whose
    orderings are the same for every k (`mhm` with order "npn" or "tsp") order the
    records once.  No release is kept, but figures.  A point that fails is one that says
    why; equal points are one.

    Parameters
    ----------
    table, job
        As for `aggopt.mask`.
    k, l
        Whole numbers.
    method
        Names of partition methods, sections such as {"method": "mhm", "order": "tsp"},
        or functions of yours.  What the job says of the table, `attributes` and
        `weights` of [partition], is kept; its other settings are those of its method.
    keep, alpha, delta
        Settings of the job's aggregation: "variance", "covariance", ...; numbers.
        `delta` stands in place of the job's distances, those in columns too.
    t
        Numbers; None or "none" asks for no t, and leaves out of [privacy] what then
        acts no longer.
    at_most
        Share of records that may be linked: of the points within, that with the least
        loss is recommended.
    loss
        "pil", probabilistic information loss, or "il".
    time_limit
        Seconds for each search of groups that takes a limit and has none; it then ends
        with its best.
    jobs
        Processes; -1 is one per core, 1 this process.
    cache
        A folder in which points that are done are kept, as those of
        `aggopt.experiment`, and found when they are asked for again.
    trust, progress
        As for `aggopt.mask`; progress is of "points".

    Raises
    ------
    JobError
        Before any work: nothing is listed, an axis lists nothing, a combination is no
        job, the aggregation has no such setting, ...
    TableError
        The table cannot be used.
    UntrustedCodeError
        The job, or `method`, names a file of code that is not trusted.

    Examples
    --------
    >>> import aggopt
    >>> import pandas as pd
    >>> ages = pd.DataFrame({"age": [20, 21, 22, 40, 60, 61, 62, 90]})
    >>> job = aggopt.Job(roles={"quasi-identifier": ["age"]}, privacy={"k": 2})
    >>> found = choose(ages, job, k=[2, 4], method=["mdav"], at_most=0.3, loss="il")
    >>> print(found.recommendation())  # doctest: +NORMALIZE_WHITESPACE
    At most 30 % linked, least IL: point 2 (method = mdav, k = 4). It links 25 % of the
    records (no linkage exceeds 25 %), with IL 20 %.
    """
    on_progress = progress_or_noop(progress)
    require_jobs(jobs)
    axes = {"k": k, "method": method, "keep": keep, "t": t, "l": l}
    axes |= {"alpha": alpha, "delta": delta}
    how: dict[str, Any] = {"at_most": at_most, "loss": loss, "time_limit": time_limit}
    asked = Choosing.of(table, job, axes, **how, cache=cache, trust=trust)
    try:
        with closing(asked.through(jobs)) as shares:
            for share in shares:
                on_progress("points", share)
    except KeyboardInterrupt as stopped:
        stopped.add_note(asked.run.so_far)
        raise
    return asked.found
