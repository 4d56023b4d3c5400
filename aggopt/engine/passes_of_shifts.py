"""Tasks of P3M: each block states the costs of its groups, one program has them all.

A separable program needs of a group no record, but the pieces of its cost function.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from aggopt.aggregate._margin import margins
from aggopt.core.types import Labels
from aggopt.core.validation import Floats
from aggopt.engine.able import SOLVER
from aggopt.engine.block_rows import of_block
from aggopt.engine.config import InBlocks
from aggopt.engine.limits import ends_of
from aggopt.engine.passes_in import table_of
from aggopt.engine.weights import each_of, known_of
from aggopt.engine.workspace import load, save
from aggopt.input.wishes import resolved
from aggopt.job import P3m
from aggopt.models import p3m
from aggopt.models._shift import FARTHEST
from aggopt.solvers import Certificate, Status
from aggopt.solvers._certificate import closed
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
    """Write the programs of a block, one for each attribute that varies."""
    rows, _ = of_block(number, config)
    table, how = table_of(rows, config), asked_of(config)
    Z = config.scale.standardise(table.matrix()[:, config.places])
    labels = load(config.at("grouped", number), "labels")["labels"].astype(np.intp)
    delta = resolved(how.delta, table, Z, "delta")
    importance = resolved(how.importance, table, Z, "importance")
    own = f"{config.secret} block {number}"
    added = margins(labels, delta, how.margin, own, np.zeros(Z.shape[1]))
    wider = np.minimum(delta + added, np.maximum(delta, FARTHEST))
    ends = ends_of(table, config).standardised(config.scale)
    found: dict[str, Any] = {}
    weights = known_of(each_of(table), config)
    for j in np.flatnonzero(~config.scale.constant).tolist():
        asked = wider[:, j], importance[:, j], how.alpha
        within = float(ends.lower[j]), float(ends.upper[j])
        program = _program(Z[:, j], labels, asked, within, weights)
        found |= {f"{j} {name}": value for name, value in program._asdict().items()}
    save(config.at("stated", number), **found)
    return len(labels)


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
        if status is Status.OPTIMAL and not closed(self.objective, bound):
            status = Status.LIMIT  # it was content with less
        found = status, self.objective, bound, missed, SOLVER, self.seconds
        return Certificate(*found, iterations=self.evaluations)


def solved(j: int, config: InBlocks) -> ShiftEnd | None:
    """Solve the program of an attribute, and write its centroids; None if constant."""
    from aggopt.solvers._lagrangian.solve import solve  # imports numba

    if config.scale.constant[j]:
        save(config.at("solved", j), centroids=np.zeros(sum(config.counts)))
        return None
    found = solve(whole_program(j, config), **asked_of(config).options)
    if found.centroids is not None:
        save(config.at("solved", j), centroids=found.centroids)
    return ended(found)


def ended(found: "LagrangianSolution") -> ShiftEnd:
    """Return how a program ended."""
    proven = found.status, found.objective, found.bound
    return ShiftEnd(*proven, found.evaluations, found.seconds)


def whole_program(j: int, config: InBlocks) -> Separable:
    """Return the program of an attribute: those of all blocks, one after the other."""
    parts: dict[str, list[Any]] = {name: [] for name in Separable._fields}
    pieces = 0
    for path in config.all("stated", len(config.blocks)):
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
