"""Tasks of programs of all groups: P3M, and stretched means that leave their bounds.

A separable program needs of a group no record.  P3M needs the pieces of its cost
function, which each block writes.  The nearest values within bounds need its size and
its mean.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa

from aggopt.aggregate.bounds import Bounds
from aggopt.algorithms.lagrangian.piecewise_quartics import build_separable_program
from aggopt.algorithms.lagrangian.program import Separable
from aggopt.core.types import I64, Floats, Labels
from aggopt.data.table import Table
from aggopt.engine.state.group_sums import GroupSums
from aggopt.engine.state.run_state import BlockState, ShiftEnd
from aggopt.engine.state.shuffle import Each, read_block
from aggopt.engine.steps.attribute_values import make_empty_table
from aggopt.engine.steps.block import standardise_numbers
from aggopt.engine.steps.categories import is_chosen_globally
from aggopt.engine.steps.describe import read_checked_table
from aggopt.engine.steps.weights import read_weights, scale_weights
from aggopt.engine.storage.scratch_files import load_arrays, save_arrays
from aggopt.engine.validate.values import require_values_within
from aggopt.job import Job, Mean, P3m
from aggopt.models import p3m
from aggopt.models.shared.value_bounds import ROUNDING
from aggopt.pipeline.aggregate.margins import add_margins
from aggopt.pipeline.aggregate.table_parts import PresentRows
from aggopt.pipeline.prepare.published_grid import read_bounds
from aggopt.pipeline.prepare.record_requests import resolve_number_requests
from aggopt.pipeline.validate.solver_answers import require_solved
from aggopt.solvers import Certificate

if TYPE_CHECKING:  # it imports numba
    from aggopt.algorithms.lagrangian.solve import LagrangianSolution

SUMS = ("total", "squares", "cardinality")  # of a program, over its parts


@dataclass(frozen=True, eq=False)
class PartOfTable(p3m.Data):
    """Some records of a standardised attribute, and all of their groups.

    Their own mean is not 0 nor their variance 1; the table's are.
    """

    def __post_init__(self) -> None:
        """Check nothing: the settings are checked, and the scale is the table's."""


def shift_settings(config: BlockState) -> P3m:
    """Return the settings of the job's P3M aggregation."""
    return cast(P3m, config.job.aggregation)


def write_programs(number: int, config: BlockState) -> int:
    """Write a block's program for each varying attribute; return its record count.

    Each is of the records that have the attribute, and of the groups that publish it.
    """
    rows, _ = read_block(number, config)
    table = read_checked_table(rows, config)
    grouped = load_arrays(config.at("grouped", number), "labels", "kept")
    labels = grouped["labels"].astype(np.intp)
    is_kept = grouped["kept"][:, config.places]
    Z = standardise_numbers(table.matrix(), config)
    wider, importance = _read_requests(number, table, Z, labels, config)
    kept_values = config.kept_values
    ends = standardise_bounds(table, config)
    weights = scale_weights(read_weights(table), config)
    if kept_values is not None:
        Z = kept_values.scale.standardise(Z)
    arrays: dict[str, Any] = {}
    for j in np.flatnonzero(~config.constant).tolist():
        having = PresentRows.of(is_kept[:, j], labels)
        arrays[f"{j} there"] = having.there
        if not len(having.rows):
            continue
        requests = wider[having.rows, j], importance[having.rows, j]
        within = float(ends.lower[j]), float(ends.upper[j])
        record_weights = None if weights is None else weights[having.rows]
        if record_weights is not None and kept_values is not None:
            record_weights = record_weights * kept_values.factor[j]
        z = Z[having.rows, j]
        alpha = shift_settings(config).alpha
        program = _make_program(
            z, having.labels, (*requests, alpha), within, record_weights
        )
        arrays |= {f"{j} {name}": value for name, value in program._asdict().items()}
    save_arrays(config.at("stated", number), **arrays)
    return len(labels)


def _read_requests(
    number: int, table: Table, Z: Floats, labels: Labels, config: BlockState
) -> tuple[Floats, Floats]:
    """Return requested distances with secret margins, and importances, (n, p).

    Of each number (n, p); Z are their z-scores, nan if missing.
    """
    settings = shift_settings(config)
    requests = resolve_number_requests(settings, table, Z)
    secret = f"{config.secret} block {number}"
    no_steps = np.zeros(Z.shape[1])
    wider = add_margins(requests["delta"], labels, settings, secret, no_steps)
    return wider, requests["importance"]


def _make_program(
    x: Floats,
    labels: Labels,
    requests: tuple[Floats, Floats, float],
    within: tuple[float, float],
    weights: Floats | None,
) -> Separable:
    """Return the separable program of one attribute for a block's records."""
    settings: dict[str, Any] = {
        "lower": within[0],
        "upper": within[1],
        "weights": weights,
    }
    part = PartOfTable(np.ascontiguousarray(x), labels, *requests, **settings)
    return build_separable_program(part)


def solve_attribute(j: int, config: BlockState) -> ShiftEnd | None:
    """Solve an attribute's program; write its centroids; None if constant."""
    from aggopt.algorithms.lagrangian.solve import solve_separable  # imports numba

    if config.constant[j]:
        save_arrays(config.at("solved", j), centroids=np.zeros(sum(config.counts)))
        return None
    separable = solve_separable(
        build_global_program(j, config), **shift_settings(config).options
    )
    if separable.centroids is not None:
        centroids = np.full(sum(config.counts), np.nan)
        centroids[_find_publishing_groups(j, config)] = separable.centroids
        save_arrays(config.at("solved", j), centroids=centroids)
    return read_end(separable)


def read_end(lagrangian_solution: "LagrangianSolution") -> ShiftEnd:
    """Return the result of a program, from that of the Lagrangian solver."""
    return ShiftEnd(
        lagrangian_solution.status,
        lagrangian_solution.objective,
        lagrangian_solution.bound,
        lagrangian_solution.evaluations,
        lagrangian_solution.seconds,
    )


def _find_publishing_groups(j: int, config: BlockState) -> I64:
    """Return the groups, over all blocks, that publish attribute j."""
    first = np.cumsum([0, *config.counts])[:-1].tolist()
    paths = config.all("stated", len(config.blocks))
    arrays = [load_arrays(path, f"{j} there")[f"{j} there"] for path in paths]
    return np.concatenate(
        [groups + before for groups, before in zip(arrays, first, strict=True)]
    )


def build_global_program(j: int, config: BlockState) -> Separable:
    """Return attribute j's program for the whole table, joined from all blocks."""
    parts: dict[str, list[Any]] = {name: [] for name in Separable._fields}
    pieces = 0
    for path in config.all("stated", len(config.blocks)):
        if not len(load_arrays(path, f"{j} there")[f"{j} there"]):
            continue
        arrays = load_arrays(path, *(f"{j} {name}" for name in parts))
        for name, joined in parts.items():
            joined.append(arrays[f"{j} {name}"])
        last = parts["first"][-1]
        parts["first"][-1] = last[:-1] + pieces
        pieces += int(last[-1])
    parts["first"].append(np.array([pieces]))
    joined = [
        float(np.sum(part)) if name in SUMS else np.concatenate(part)
        for name, part in parts.items()
    ]
    return Separable._make(joined)


def is_bound_at_risk(job: Job) -> bool:
    """Whether stretched means may leave an attribute's bounds."""
    aggregation = job.aggregation
    stretched = isinstance(aggregation, Mean) and aggregation.keep == "variance"
    return stretched and any(section.bounded for section in job.attributes.values())


def solve_bounded_means(j: int, config: BlockState) -> ShiftEnd | None:
    """Solve for centroids within bounds if stretched means leave them.

    Those are of what decides on a release.  Returns how their program ended; None where
    stretched means are within.
    """
    from aggopt.algorithms.lagrangian.solve import solve_separable  # imports numba

    if config.shift is None or config.ends is None or config.constant[j]:
        return None
    lower, upper = (float(end[j]) for end in config.ends)
    solved, sizes = _read_means(j, config)
    rows = np.flatnonzero(sizes)
    stretched = (solved[rows] - config.shift.centre[j]) * config.shift.map[j, j]
    if ((stretched >= lower - ROUNDING) & (stretched <= upper + ROUNDING)).all():
        return None
    means, standardised = _standardise_means(solved[rows], sizes[rows], j, config)
    solution = solve_separable(_make_nearest_program(means, standardised, lower, upper))
    if solution.centroids is not None:
        centroids = np.full(len(sizes), np.nan)
        centroids[rows] = solution.centroids
        save_arrays(config.at("solved", j), centroids=centroids)
    return read_end(solution)


def _read_means(j: int, config: BlockState) -> tuple[Floats, Floats]:
    """Return the mean (m,) and the size (m,) of each group of all blocks."""
    arrays = [
        load_arrays(path, "centroids", "sizes") for path in _list_block_means(config)
    ]
    place = config.places[j]
    means = np.concatenate([requirement["centroids"][:, j] for requirement in arrays])
    return means, np.concatenate(
        [requirement["sizes"][:, place] for requirement in arrays]
    )


def _standardise_means(
    means: Floats, sizes: Floats, j: int, config: BlockState
) -> tuple[Floats, Floats]:
    """Return group means and sizes (m,) on z-scores of the kept values."""
    kept_values = config.kept_values
    if kept_values is None:
        return means, sizes
    scale = kept_values.scale
    factor = float(kept_values.factor[j])
    return (means - scale.mean[j]) / scale.spread[j], sizes * factor


def _list_block_means(config: BlockState) -> list[Path]:
    """Return the paths of the files with group means, of all blocks."""
    return config.all("grouped", len(config.blocks))


def _make_nearest_program(
    means: Floats, sizes: Floats, lower: float, upper: float
) -> Separable:
    """Return the program of centroids (m,) of mean 0, variance 1, near means.

    Minimise sum_j n_j t_j^2, where t_j = c_j - C_j, with lower <= c_j <= upper.
    """
    m = len(means)
    quartic = np.zeros((m, 5))
    quartic[:, 2] = sizes
    first: I64 = np.arange(m + 1)
    return Separable(
        first=first,
        low=lower - means,
        high=upper - means,
        quartic=quartic,
        level=np.zeros(m),
        sizes=sizes,
        centres=means,
        terms=np.zeros(m),
        total=0.0,
        squares=float(sizes.sum()),
        cardinality=0.0,
    )


def solve_number_programs(
    run_step: Each, config: BlockState, groups: GroupSums, schema: pa.Schema
) -> tuple[BlockState, list[ShiftEnd | None]]:
    """Return the state with the shift of centroids, and the programs' results.

    Raises
    ------
    SolverError, InfeasibleInputError
        One has no usable solution; or no map keeps the moments to keep.
    """
    job = config.job
    names = config.numbers
    config = replace(
        config, shift=groups.shift(_get_kept_statistic(job), config.constant)
    )
    ends: list[ShiftEnd | None]
    if job.aggregation.method == "p3m":
        run_step("state", len(config.blocks), config)
        ends = run_step("solve", len(names), config)
        both = zip(names, ends, strict=True)
        require_solved({name: end.certificate(0.0) for name, end in both if end})
        return replace(config, solved=tuple(range(len(names)))), ends
    if not is_bound_at_risk(job):
        return config, []
    ends = run_step("draw in", len(names), add_bounds(config, schema))
    statuses = [None if end is None else end.status for end in ends]
    require_values_within(names, statuses)
    drawn = tuple(j for j, end in enumerate(ends) if end is not None)
    return replace(config, solved=drawn), ends


def _get_kept_statistic(job: Job) -> str:
    """Return the statistic that moved means keep: "mean", "variance", ..."""
    aggregation = job.aggregation
    return str(aggregation.keep) if isinstance(aggregation, Mean) else "mean"


def solve_category_programs(run_step: Each, config: BlockState) -> list[Certificate]:
    """Return the certificates of categories chosen globally; none else.

    Raises
    ------
    SolverError
        One has no answer that may be used.
    """
    if not is_chosen_globally(config):
        return []
    ends: list[Certificate] = run_step("choose", len(config.categories), config)
    require_solved(dict(zip(config.categories, ends, strict=True)))
    return ends


def add_bounds(config: BlockState, schema: pa.Schema) -> BlockState:
    """Return the run state with the bounds of the numbers, as z-scores."""
    table = make_empty_table(schema, config)
    return replace(config, ends=standardise_bounds(table, config))


def standardise_bounds(table: Table, config: BlockState) -> Bounds:
    """Return the bounds of the numbers (p,), on z-scores of the kept values."""
    ends = read_bounds(table, config.job, config.numbers).standardised(config.scale)
    kept_values = config.kept_values
    return ends if kept_values is None else ends.standardised(kept_values.scale)
