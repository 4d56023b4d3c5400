"""Choice of a release: one job over k, methods and settings, with risk and loss."""

from collections.abc import Generator, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aggopt.core.plugins.loading import trust_files
from aggopt.experiments._cache import Cache
from aggopt.experiments._choice import Choices, read_at_most, require_loss
from aggopt.experiments._choice_grid import AXES, list_choice_cells, make_choice_point
from aggopt.experiments._choice_grid import ChoicePoint as ChoicePoint
from aggopt.experiments.grid_run import Run, Tables, require_jobs
from aggopt.job import Job
from aggopt.pipeline.prepare.inputs import Progress, load_job, read_progress
from aggopt.solvers.options import check_time_limit


@dataclass(eq=False)
class Choosing:
    """A running choice; `found` are its results so far."""

    run: Run
    table: Path | None
    at_most: float
    loss: str

    @classmethod
    def of(
        cls,
        table: Any,
        job: Job | str | Path,
        axes: Mapping[str, Any],
        *,
        at_most: float,
        loss: str,
        time_limit: float | None = None,
        cache: str | Path | None = None,
        trust: Iterable[str | Path] = (),
    ) -> "Choosing":
        """Return the choice that `choose` makes, nothing of it done; raises as that."""
        require_loss(loss)
        limit = read_at_most(at_most)
        check_time_limit(time_limit)
        with trust_files(trust):
            varied = {name: axes.get(name) for name in AXES}
            cells = list_choice_cells("table", load_job(job, trust), varied, time_limit)
        tables = Tables({"table": table})
        tables.fingerprint(cells[0])  # what cannot be read is refused at once
        run = Run(cells, tables, Cache(cache), seconds=None, raises=False)
        path = Path(table) if isinstance(table, str | Path) else None
        return cls(run, path, limit, loss)

    def through(self, jobs: int) -> Generator[float]:
        """Go through the points; yield the share of them that is done."""
        for count in self.run.through(jobs):
            yield count / len(self.run.cells)

    @property
    def found(self) -> Choices:
        """Results so far."""
        points = tuple(
            make_choice_point(place + 1, cell.settings, cell.job, self.run.found[place])
            for place, cell in enumerate(self.run.cells)
            if place in self.run.found
        )
        return Choices(points, len(self.run.cells), self.table, self.at_most, self.loss)


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

    Each combination of listed values is a point: the job with these settings changed.
    Groups are made once for all points that differ only in the aggregation, and methods
    whose orderings are equal for every k (`mhm` with order "npn" or "tsp") order the
    records once.  No release is kept, but figures.  A failed point has the reason;
    equal points are one.

    Parameters
    ----------
    table, job
        As for `aggopt.mask`.
    k, l
        Whole numbers.
    method
        Names of partition methods, sections such as {"method": "mhm", "order": "tsp"},
        or functions of yours.  The job's settings of the table, `attributes` and
        `weights` of [partition], are kept; its other settings belong to its method.
    keep, alpha, delta
        Settings of the job's aggregation: "variance", "covariance", ...; numbers.
        `delta` replaces the job's distances, including distances in columns.
    t
        Numbers; None or "none" requires no t, and leaves out of [privacy] the keys
        that then have no effect.
    at_most
        Maximum share of linked records: of the points within, the one with the
        least loss is recommended.
    loss
        "pil", probabilistic information loss, or "il".
    time_limit
        Seconds for each search of groups that takes a limit and has none; it then ends
        with its best.
    jobs
        Processes; -1 is one per core, 1 this process.
    cache
        A folder that keeps finished points, like those of `aggopt.experiment`, and
        from which equal points are read.
    trust, progress
        As for `aggopt.mask`; progress is of "points".

    Raises
    ------
    JobError
        Before any work: nothing is listed, an axis lists nothing, a combination is
        not a valid job, the aggregation lacks a setting, ...
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
    on_progress = read_progress(progress)
    require_jobs(jobs)
    axes = {"k": k, "method": method, "keep": keep, "t": t, "l": l}
    axes |= {"alpha": alpha, "delta": delta}
    options: dict[str, Any] = {
        "at_most": at_most,
        "loss": loss,
        "time_limit": time_limit,
    }
    choosing = Choosing.of(table, job, axes, **options, cache=cache, trust=trust)
    try:
        with closing(choosing.through(jobs)) as shares:
            for share in shares:
                on_progress("points", share)
    except KeyboardInterrupt as stopped:
        stopped.add_note(choosing.run.so_far)
        raise
    return choosing.found
