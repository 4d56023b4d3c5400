"""An aggregation over a grid of parameters: risk and loss at each point."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import chain, product
from pathlib import Path
from typing import Any

import numpy as np

from aggopt.aggregate import Aggregation, PublishedCategories
from aggopt.aggregate.kept_statistics import STATISTICS, require_statistic
from aggopt.aggregate.registry import Aggregating
from aggopt.aggregate.user_model import ByModel
from aggopt.core.html import HtmlFields
from aggopt.core.parallel import run_in_processes
from aggopt.core.plugins.section import UserMethodSection
from aggopt.data.context.distance_requests import require_reach
from aggopt.errors import JobError
from aggopt.experiments._picture import find_front
from aggopt.experiments.grid_run import require_jobs
from aggopt.job import Job, Squared
from aggopt.measure import PilParts
from aggopt.pipeline.aggregate.aggregate_table import (
    aggregate_categories,
    join_columns,
)
from aggopt.pipeline.aggregate.margins import make_margin_arguments
from aggopt.pipeline.aggregate.table_parts import aggregate_observed
from aggopt.pipeline.finish.evaluate import AT_ONCE, Evaluation, evaluate
from aggopt.pipeline.partition.partition_table import partition_table
from aggopt.pipeline.partition.partitioned_table import PartitionedTable
from aggopt.pipeline.prepare.inputs import Progress, load_job, read_progress
from aggopt.pipeline.prepare.job_settings import choose_method_solver
from aggopt.solvers import Solver


@dataclass(frozen=True)
class SweepPoint(HtmlFields):
    """One point of the grid and its measures.

    `linkage` is the expected share of records that the best one-to-one assignment
    links, in `blocks` blocks: more than 1000 records are linked in blocks, which is
    faster and mostly gives more.  So compare points with an equal number of blocks
    only.  `gap` is the largest, None unproven; `holds` is whether the audit of the
    point's values confirms all requirements, None without requirements; `keep` names
    the kept statistics.  Of a user's aggregation `settings` are the settings varied, in
    place of `alpha`, `delta` and `keep`.
    """

    alpha: float | None
    delta: float | None
    linkage: float
    blocks: int
    si: float
    dr: float
    pil: float
    sl: float | None
    il: float
    gap: float | None
    status: str
    usable: bool = True
    holds: bool | None = None
    keep: str = "variance"
    correlation_error: float | None = None
    pil_parts: PilParts = field(default_factory=PilParts)
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def at(self) -> dict[str, Any]:
        """Where in the grid it is: alpha and delta, or the settings, by name."""
        return dict(self.settings) or {"alpha": self.alpha, "delta": self.delta}

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, each part of PIL under a name of its own."""
        values = asdict(self)
        parts = values.pop("pil_parts")
        settings = values.pop("settings")
        setting_columns = {
            f"settings.{name}": value for name, value in settings.items()
        }
        for name in ("alpha", "delta", "keep") if setting_columns else ():
            del values[name]
        pil_columns = {f"pil_{name}": share for name, share in parts.items()}
        return setting_columns | values | pil_columns


def _make_sweep_point(masked: Aggregation, tried: Evaluation, **at: Any) -> SweepPoint:
    """Return the point of these results; `at` are its settings."""
    usable = all(c.status.usable for c in masked.certificates)
    measures = tried.require_measures()
    return SweepPoint(
        **{"alpha": None, "delta": None, **at},
        linkage=measures.linkage,
        blocks=measures.linkage_blocks,
        si=measures.si,
        dr=measures.dr,
        pil=measures.pil,
        sl=measures.sl,
        il=measures.il,
        gap=masked.gap,
        status=masked.status,
        usable=usable,
        holds=tried.audit.holds if usable else None,
        correlation_error=measures.correlation_error,
        pil_parts=measures.pil_parts,
    )


def _list_settings(
    section: UserMethodSection, over: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Return the settings of each point; raises as `PluginSection.load_contents`.

    Raises
    ------
    JobError
        `over` names no setting, or lists no values of one.
    """
    if not over:
        raise JobError(
            "No setting is named to go through.",
            fix='name some with their values: over={"cap": [1.0, 2.0]}, or --over '
            "cap=1.0,2.0.",
        )
    for name, values in over.items():
        if isinstance(values, str) or not isinstance(values, Sequence) or not values:
            raise JobError(
                f"The setting {name} is to go through what is no list of values.",
                fix=f"list some: over={{{name!r}: [1.0, 2.0]}}.",
            )
    points = [
        dict(zip(over, combination, strict=True))
        for combination in product(*over.values())
    ]
    for point in points:
        _replace_settings(section, point)  # which refuses unknown settings
    return points


def _replace_settings(section: Any, point: Mapping[str, Any]) -> UserMethodSection:
    """Return a section with some settings changed, checked like those of a job."""
    arguments = {**section.arguments, **point}
    changed_section: UserMethodSection = section.model_copy(
        update={"arguments": arguments}
    )
    model = isinstance(section, ByModel)
    changed_section.check_arguments(
        section.program.takes if model else section.own.function
    )
    return changed_section


def _evaluate_settings(
    partitioned: PartitionedTable,
    chosen: Mapping[str, PublishedCategories],
    point: Mapping[str, Any],
) -> list[SweepPoint]:
    """Return the point of these settings, measured and audited."""
    section: Any = partitioned.job.aggregation
    masked = aggregate_observed(partitioned, {**section.settings, **point})
    values = join_columns(partitioned, masked, chosen).values
    tried = evaluate(partitioned, values, linked_at_once=AT_ONCE)
    return [_make_sweep_point(masked, tried, keep="", settings=point)]


def sweep(
    data: Any,
    job: Job | str | Path,
    *,
    alpha: Sequence[float] = (),
    delta: Sequence[float] = (),
    keep: Sequence[str] = (),
    over: Mapping[str, Sequence[Any]] | None = None,
    jobs: int = -1,
    progress: Progress | None = None,
    trust: Iterable[str | Path] = (),
) -> Iterator[SweepPoint]:
    """Yield a point for each alpha, delta and `keep`, as soon as it is done.

    `keep` are statistics, such as "variance" and "covariance"; the job's own when
    omitted.  Each `delta` applies to all records, in place of the job's own distances,
    including those in columns; its importance and margin stay.  The partition is made
    once, and one secret serves all points: the margins beyond delta are an equal share
    of their width.  SL is measured at each point's own delta.  Points are spread over
    `jobs` processes (-1: one per core), which get the records through pipes, not files.
    A local solver starts from the previous point in its row of equal delta.  `trust` is
    as for `mask`; each process loads the same bytes.

    An aggregation by a model or a function of yours has no alpha and delta: `over`
    lists values of its settings, by name, and each combination is a point.

    Raises
    ------
    JobError
        The job's aggregation is neither P3M nor yours, it or its solver does not
        keep a statistic, alpha or delta is empty or out of range, or `over` names
        an unknown setting.
    InfeasibleInputError
        The table does not let the statistic be kept.

    Examples
    --------
    >>> import pandas as pd, aggopt
    >>> people = pd.DataFrame({"age": [20, 21, 22, 60, 61, 65]})
    >>> roles, p3m = {"quasi-identifier": ["age"]}, {"method": "p3m"}
    >>> job = aggopt.Job(roles=roles, privacy={"k": 3}, aggregation=p3m)
    >>> points = sweep(people, job, alpha=[0.2, 0.5], delta=[0.1], jobs=1)
    >>> [(point.alpha, point.status) for point in points]
    [(0.2, 'optimal'), (0.5, 'optimal')]
    """
    require_jobs(jobs)
    job = load_job(job, trust)
    on_progress = read_progress(progress)
    if isinstance(job.aggregation, UserMethodSection) and not (alpha or delta or keep):
        grid = _list_settings(job.aggregation, over or {})
        partitioned = partition_table(data, job, on_progress)
        task = partial(
            _evaluate_settings,
            partitioned,
            aggregate_categories(partitioned, on_progress),
        )
        yield from chain.from_iterable(run_in_processes(task, grid, jobs))
        return
    ways = _list_statistics(job.aggregation, keep)
    _require_grid(alpha, delta, over)
    first = job.model_copy(update={"aggregation": ways[0]})
    partitioned = partition_table(data, first, on_progress)
    Z = partitioned.scale.standardise(partitioned.X)
    k = partitioned.job.privacy.k
    farthest = np.full((1, Z.shape[1]), max(delta))
    require_reach(farthest, Z, k, partitioned.names, partitioned.weights)
    chosen = aggregate_categories(partitioned, on_progress)
    rows = ((way, row) for way in ways for row in _list_rows(way, alpha, delta))
    for points in run_in_processes(
        partial(_solve_row, partitioned, chosen), rows, jobs
    ):
        yield from points


def _require_grid(alpha: Sequence[float], delta: Sequence[float], over: Any) -> None:
    """Refuse values that no point can have."""
    if over:
        raise JobError(
            f"over names {', '.join(over)}: it is of aggregations of your own.",
            fix="give alpha and delta.",
        )
    if not (alpha and all(0 <= a <= 1 for a in alpha)):
        raise JobError(f"alpha = {list(alpha)}.", fix="name some in [0, 1].")
    if not (delta and all(0 <= d < float("inf") for d in delta)):
        raise JobError(f"delta = {list(delta)}.", fix="name some of 0 or more.")


def _list_statistics(section: Aggregating, keep: Sequence[str]) -> list[Squared]:
    """Return the settings for each statistic to keep, the strictest first.

    Unchanged settings if none is named.

    Raises
    ------
    JobError
        The aggregation is not P3M, or it or its solver does not keep a statistic.
    """
    if not isinstance(section, Squared):
        remedy = "leave them and keep out, and list values of its settings as over"
        yours = isinstance(section, UserMethodSection)
        raise JobError(
            f"{section.method!r} has no alpha and delta.",
            fix=f"{remedy}." if yours else 'set method = "p3m" under [aggregation].',
        )
    for statistic in keep:
        require_statistic(section.method, section.able, statistic)
    most_first = sorted({*keep}, key=STATISTICS.index, reverse=True)
    ways = [section.model_copy(update={"keep": name}) for name in most_first] or [
        section
    ]
    for way in ways:
        _read_solvers(way)
    return ways


def _read_solvers(section: Squared) -> list[Solver]:
    programs = (program for program in section.programs if isinstance(program, Squared))
    return [choose_method_solver(program) for program in programs]


def _list_rows(
    section: Squared, alpha: Sequence[float], delta: Sequence[float]
) -> list[list[tuple[float, float]]]:
    """Return the points in rows; each point of a row starts from the previous one."""
    rows = [[(a, d) for a in dict.fromkeys(alpha)] for d in dict.fromkeys(delta)]
    if any(solver.is_global for solver in _read_solvers(section)) or len(rows) == 1:
        return [[pair] for row in rows for pair in row]  # no warm start
    return rows


def _solve_row(
    partitioned: PartitionedTable,
    chosen: Mapping[str, PublishedCategories],
    of: tuple[Squared, Sequence[tuple[float, float]]],
) -> list[SweepPoint]:
    """Return the solved points of one row of the sweep, each started by the last."""
    section, row = of
    points = []
    start = section.settings["start"]
    for alpha, delta in row:
        requests = {**partitioned.asked, "delta": np.full(partitioned.X.shape, delta)}
        settings = {
            **section.settings,
            **make_margin_arguments(partitioned, requests["delta"], alpha=alpha),
        }
        settings |= {"alpha": alpha, "start": start}
        masked = aggregate_observed(partitioned, settings)
        values = join_columns(partitioned, masked, chosen).values
        tried = evaluate(partitioned, values, requests=requests, linked_at_once=AT_ONCE)
        at = {"alpha": alpha, "delta": delta, "keep": str(section.keep)}
        points.append(_make_sweep_point(masked, tried, **at))
        if len(row) > 1:
            start = masked.centroids
    return points


def _is_usable(point: SweepPoint) -> bool:
    """Whether the point has an answer that satisfies the requirements."""
    return point.usable and point.holds is not False


def select_pareto_points(points: Sequence[SweepPoint]) -> list[SweepPoint]:
    """Return the points that are Pareto optimal in linkage and PIL, by linkage.

    Points without a solution, or that violate a requirement, are left out.

    >>> import pandas as pd, aggopt
    >>> people = pd.DataFrame({"age": [20, 21, 22, 60, 61, 65]})
    >>> roles, p3m = {"quasi-identifier": ["age"]}, {"method": "p3m"}
    >>> job = aggopt.Job(roles=roles, privacy={"k": 3}, aggregation=p3m)
    >>> points = list(sweep(people, job, alpha=[0.2, 0.5], delta=[0.1], jobs=1))
    >>> 1 <= len(select_pareto_points(points)) <= 2
    True
    """
    usable = list(filter(_is_usable, points))
    return [usable[j] for j in find_front([(p.linkage, p.pil) for p in usable])]
