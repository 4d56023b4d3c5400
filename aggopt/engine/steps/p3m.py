"""Tasks of P3M: each block states the costs of its groups, one program has them all.

A separable program needs of a group no record, but the pieces of its cost function.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from aggopt.aggregate.secret_margins import draw_margins
from aggopt.algorithms.lagrangian.piecewise_quartics import build_separable_program
from aggopt.algorithms.lagrangian.program import Separable
from aggopt.core.types import I64, Labels
from aggopt.core.validation import Floats
from aggopt.data.context.distance_requests import resolve_request
from aggopt.data.table import Table
from aggopt.engine.state.run_state import BlockState, ShiftEnd
from aggopt.engine.state.shuffle import read_block
from aggopt.engine.steps.block import standardised_numbers
from aggopt.engine.steps.describe import check_table
from aggopt.engine.steps.value_bounds import standardised_bounds
from aggopt.engine.steps.weights import read_weights, scale_weights
from aggopt.engine.storage.scratch_files import load_arrays, save_arrays
from aggopt.job import P3m
from aggopt.models import p3m
from aggopt.models.shared.shift_data import FARTHEST
from aggopt.pipeline.aggregate.missing_values import PresentRows

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


def state_programs(number: int, config: BlockState) -> int:
    """Write the programs of a block, one for each attribute that varies.

    Each is of the records that have the attribute, and of the groups that publish it.
    """
    rows, _ = read_block(number, config)
    table = check_table(rows, config)
    held = load_arrays(config.at("grouped", number), "labels", "kept")
    labels, kept = held["labels"].astype(np.intp), held["kept"][:, config.places]
    Z = standardised_numbers(table.matrix(), config)
    wider, importance = _wishes(number, table, Z, labels, config)
    own, ends = config.kept_values, standardised_bounds(table, config)
    weights = scale_weights(read_weights(table), config)
    if own is not None:
        Z = own.scale.standardise(Z)
    found: dict[str, Any] = {}
    for j in np.flatnonzero(~config.constant).tolist():
        having = PresentRows.of(kept[:, j], labels)
        found[f"{j} there"] = having.there
        if not len(having.rows):
            continue
        asked = wider[having.rows, j], importance[having.rows, j]
        within = float(ends.lower[j]), float(ends.upper[j])
        each = None if weights is None else weights[having.rows]
        if each is not None and own is not None:
            each = each * own.factor[j]
        z, alpha = Z[having.rows, j], shift_settings(config).alpha
        program = _program(z, having.labels, (*asked, alpha), within, each)
        found |= {f"{j} {name}": value for name, value in program._asdict().items()}
    save_arrays(config.at("stated", number), **found)
    return len(labels)


def _wishes(
    number: int, table: Table, Z: Floats, labels: Labels, config: BlockState
) -> tuple[Floats, Floats]:
    """Return the distances that records request, with secret margins, and importances.

    Of each number (n, p); Z are their z-scores, nan if missing.
    """
    how, there = shift_settings(config), ~np.isnan(Z)
    z = np.where(there, Z, 0.0)
    delta = np.where(there, resolve_request(how.delta, table, z, "delta"), 0.0)
    importance = resolve_request(how.importance, table, z, "importance")
    own = f"{config.secret} block {number}"
    added = draw_margins(labels, delta, how.margin, own, np.zeros(Z.shape[1]))
    return np.minimum(delta + added, np.maximum(delta, FARTHEST)), importance


def _program(
    x: Floats,
    labels: Labels,
    asked: tuple[Floats, Floats, float],
    within: tuple[float, float],
    weights: Floats | None,
) -> Separable:
    known: dict[str, Any] = {"lower": within[0], "upper": within[1], "weights": weights}
    part = PartOfTable(np.ascontiguousarray(x), labels, *asked, **known)
    return build_separable_program(part)


def solve_attribute(j: int, config: BlockState) -> ShiftEnd | None:
    """Solve the program of an attribute, and write its centroids; None if constant."""
    from aggopt.algorithms.lagrangian.solve import solve_separable  # imports numba

    if config.constant[j]:
        save_arrays(config.at("solved", j), centroids=np.zeros(sum(config.counts)))
        return None
    found = solve_separable(
        build_global_program(j, config), **shift_settings(config).options
    )
    if found.centroids is not None:
        centroids = np.full(sum(config.counts), np.nan)
        centroids[_there(j, config)] = found.centroids
        save_arrays(config.at("solved", j), centroids=centroids)
    return read_end(found)


def read_end(found: "LagrangianSolution") -> ShiftEnd:
    """Return the result of a program."""
    proven = found.status, found.objective, found.bound
    return ShiftEnd(*proven, found.evaluations, found.seconds)


def _there(j: int, config: BlockState) -> I64:
    """Return which groups of all blocks publish an attribute."""
    first = np.cumsum([0, *config.counts])[:-1].tolist()
    paths = config.all("stated", len(config.blocks))
    held = [load_arrays(path, f"{j} there")[f"{j} there"] for path in paths]
    return np.concatenate(
        [own + before for own, before in zip(held, first, strict=True)]
    )


def build_global_program(j: int, config: BlockState) -> Separable:
    """Return the program of an attribute: the programs of all blocks in turn."""
    parts: dict[str, list[Any]] = {name: [] for name in Separable._fields}
    pieces = 0
    for path in config.all("stated", len(config.blocks)):
        if not len(load_arrays(path, f"{j} there")[f"{j} there"]):
            continue
        held = load_arrays(path, *(f"{j} {name}" for name in parts))
        for name, found in parts.items():
            found.append(held[f"{j} {name}"])
        last = parts["first"][-1]
        parts["first"][-1] = last[:-1] + pieces
        pieces += int(last[-1])
    parts["first"].append(np.array([pieces]))
    found = [
        float(np.sum(each)) if name in SUMS else np.concatenate(each)
        for name, each in parts.items()
    ]
    return Separable._make(found)
