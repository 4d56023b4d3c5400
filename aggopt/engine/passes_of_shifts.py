"""Tasks of P3M: each block states the costs of its groups, one program has them all.

A separable program needs of a group no record, but the pieces of its cost function.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from aggopt.aggregate._margin import margins
from aggopt.aggregate._together import VARIANCE
from aggopt.core.types import I64, Labels
from aggopt.core.validation import Floats
from aggopt.engine.able import SOLVER
from aggopt.engine.block_rows import of_block
from aggopt.engine.config import InBlocks
from aggopt.engine.limits import standardised_ends
from aggopt.engine.passes_in import table_of
from aggopt.engine.passes_of_blocks import numbers_of
from aggopt.engine.weights import each_of, known_of
from aggopt.engine.workspace import load, save
from aggopt.input.table import Table
from aggopt.input.wishes import resolved
from aggopt.job import P3m
from aggopt.models import p3m
from aggopt.models._shift import FARTHEST
from aggopt.pipeline.observed import Having
from aggopt.solvers import Certificate, Status
from aggopt.solvers._certificate import closed, size_of
from aggopt.solvers._lagrangian.piecewise_quartics import program_of
from aggopt.solvers._lagrangian.program import Separable

if TYPE_CHECKING:  # it imports numba
    from aggopt.solvers._lagrangian.solve import LagrangianSolution

SUMS = ("total", "squares", "cardinality")  # of a program, over its parts


@dataclass(frozen=True, eq=False)
class PartOfTable(p3m.Data):
    """Some records of a standardised attribute, and all of their groups.

    Their own mean is not 0 nor their variance 1: those of the table are.
    """

    def __post_init__(self) -> None:
        """Check nothing: what is asked was checked, and the scale is the table's."""


def asked_of(config: InBlocks) -> P3m:
    """Return what is asked of the aggregation, which shifts."""
    return cast(P3m, config.job.aggregation)


def stated(number: int, config: InBlocks) -> int:
    """Write the programs of a block, one for each attribute that varies.

    Each is of the records that have the attribute, and of the groups that publish it.
    """
    rows, _ = of_block(number, config)
    table = table_of(rows, config)
    held = load(config.at("grouped", number), "labels", "kept")
    labels, kept = held["labels"].astype(np.intp), held["kept"][:, config.places]
    Z = numbers_of(table.matrix(), config)
    wider, importance = _wishes(number, table, Z, labels, config)
    own, ends = config.kept_values, standardised_ends(table, config)
    weights = known_of(each_of(table), config)
    if own is not None:
        Z = own.scale.standardise(Z)
    found: dict[str, Any] = {}
    for j in np.flatnonzero(~config.constant).tolist():
        having = Having.of(kept[:, j], labels)
        found[f"{j} there"] = having.there
        if not len(having.rows):
            continue
        asked = wider[having.rows, j], importance[having.rows, j]
        within = float(ends.lower[j]), float(ends.upper[j])
        each = None if weights is None else weights[having.rows]
        if each is not None and own is not None:
            each = each * own.factor[j]
        z, alpha = Z[having.rows, j], asked_of(config).alpha
        program = _program(z, having.labels, (*asked, alpha), within, each)
        found |= {f"{j} {name}": value for name, value in program._asdict().items()}
    save(config.at("stated", number), **found)
    return len(labels)


def _wishes(
    number: int, table: Table, Z: Floats, labels: Labels, config: InBlocks
) -> tuple[Floats, Floats]:
    """Return the distances that records ask for, with secret margins, and how much.

    Of each number (n, p); Z are their z-scores, nan where one is missing.
    """
    how, there = asked_of(config), ~np.isnan(Z)
    z = np.where(there, Z, 0.0)
    delta = np.where(there, resolved(how.delta, table, z, "delta"), 0.0)
    importance = resolved(how.importance, table, z, "importance")
    own = f"{config.secret} block {number}"
    added = margins(labels, delta, how.margin, own, np.zeros(Z.shape[1]))
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
    return program_of(part)


class ShiftEnd(NamedTuple):
    """How the program of an attribute ended."""

    status: Status
    objective: float
    bound: float
    evaluations: int
    seconds: float

    def certificate(self, missed: float) -> Certificate:
        """Return what is proven, of centroids that miss what they keep by so much."""
        bound, status = max(self.bound, 0.0), self.status
        size = size_of(self.objective, VARIANCE)
        if status is Status.OPTIMAL and not closed(self.objective, bound, size):
            status = Status.LIMIT  # it was content with less
        found = status, self.objective, bound, missed, SOLVER, self.seconds
        return Certificate(*found, iterations=self.evaluations, size=size)


def solved(j: int, config: InBlocks) -> ShiftEnd | None:
    """Solve the program of an attribute, and write its centroids; None if constant."""
    from aggopt.solvers._lagrangian.solve import solve  # imports numba

    if config.constant[j]:
        save(config.at("solved", j), centroids=np.zeros(sum(config.counts)))
        return None
    found = solve(whole_program(j, config), **asked_of(config).options)
    if found.centroids is not None:
        centroids = np.full(sum(config.counts), np.nan)
        centroids[_there(j, config)] = found.centroids
        save(config.at("solved", j), centroids=centroids)
    return ended(found)


def ended(found: "LagrangianSolution") -> ShiftEnd:
    """Return how a program ended."""
    proven = found.status, found.objective, found.bound
    return ShiftEnd(*proven, found.evaluations, found.seconds)


def _there(j: int, config: InBlocks) -> I64:
    """Return which groups of all blocks publish an attribute."""
    first = np.cumsum([0, *config.counts])[:-1].tolist()
    paths = config.all("stated", len(config.blocks))
    held = [load(path, f"{j} there")[f"{j} there"] for path in paths]
    return np.concatenate(
        [own + before for own, before in zip(held, first, strict=True)]
    )


def whole_program(j: int, config: InBlocks) -> Separable:
    """Return the program of an attribute: those of all blocks, one after the other."""
    parts: dict[str, list[Any]] = {name: [] for name in Separable._fields}
    pieces = 0
    for path in config.all("stated", len(config.blocks)):
        if not len(load(path, f"{j} there")[f"{j} there"]):
            continue
        held = load(path, *(f"{j} {name}" for name in parts))
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
