"""Tasks of P3M: each block states the costs of its groups, one program has them all.

A separable program needs of a group no record, but the pieces of its cost function.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from aggopt.algorithms.lagrangian.piecewise_quartics import build_separable_program
from aggopt.algorithms.lagrangian.program import Separable
from aggopt.core.types import I64, Labels
from aggopt.core.validation import Floats
from aggopt.data.table import Table
from aggopt.engine.state.run_state import BlockState, ShiftEnd
from aggopt.engine.state.shuffle import read_block
from aggopt.engine.steps.block import standardise_numbers
from aggopt.engine.steps.describe import read_checked_table
from aggopt.engine.steps.value_bounds import standardise_bounds
from aggopt.engine.steps.weights import read_weights, scale_weights
from aggopt.engine.storage.scratch_files import load_arrays, save_arrays
from aggopt.job import P3m
from aggopt.models import p3m
from aggopt.pipeline.aggregate.margins import add_margins
from aggopt.pipeline.aggregate.missing_values import PresentRows
from aggopt.pipeline.prepare.record_requests import resolve_number_requests

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
    """Return the settings of the aggregation, which shifts."""
    return cast(P3m, config.job.aggregation)


def write_programs(number: int, config: BlockState) -> int:
    """Write the programs of a block, one for each attribute that varies.

    Each is of the records that have the attribute, and of the groups that publish it.
    """
    rows, _ = read_block(number, config)
    table = read_checked_table(rows, config)
    held = load_arrays(config.at("grouped", number), "labels", "kept")
    labels, is_kept = held["labels"].astype(np.intp), held["kept"][:, config.places]
    Z = standardise_numbers(table.matrix(), config)
    wider, importance = _read_requests(number, table, Z, labels, config)
    kept_values, ends = config.kept_values, standardise_bounds(table, config)
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
        each = None if weights is None else weights[having.rows]
        if each is not None and kept_values is not None:
            each = each * kept_values.factor[j]
        z, alpha = Z[having.rows, j], shift_settings(config).alpha
        program = _make_program(z, having.labels, (*requests, alpha), within, each)
        arrays |= {f"{j} {name}": value for name, value in program._asdict().items()}
    save_arrays(config.at("stated", number), **arrays)
    return len(labels)


def _read_requests(
    number: int, table: Table, Z: Floats, labels: Labels, config: BlockState
) -> tuple[Floats, Floats]:
    """Return the distances that records request, with secret margins, and importances.

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
    settings: dict[str, Any] = {
        "lower": within[0],
        "upper": within[1],
        "weights": weights,
    }
    part = PartOfTable(np.ascontiguousarray(x), labels, *requests, **settings)
    return build_separable_program(part)


def solve_attribute(j: int, config: BlockState) -> ShiftEnd | None:
    """Solve the program of an attribute, and write its centroids; None if constant."""
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
    """Return the result of a program."""
    proven = (
        lagrangian_solution.status,
        lagrangian_solution.objective,
        lagrangian_solution.bound,
    )
    return ShiftEnd(
        *proven, lagrangian_solution.evaluations, lagrangian_solution.seconds
    )


def _find_publishing_groups(j: int, config: BlockState) -> I64:
    """Return which groups of all blocks publish an attribute."""
    first = np.cumsum([0, *config.counts])[:-1].tolist()
    paths = config.all("stated", len(config.blocks))
    arrays = [load_arrays(path, f"{j} there")[f"{j} there"] for path in paths]
    return np.concatenate(
        [groups + before for groups, before in zip(arrays, first, strict=True)]
    )


def build_global_program(j: int, config: BlockState) -> Separable:
    """Return the program of an attribute: the programs of all blocks in turn."""
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
