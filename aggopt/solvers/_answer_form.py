"""Answer of a solver, in the form that its model reads."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from aggopt.core.validation import Floats
from aggopt.solvers.certificate import Claim, Status


@dataclass(frozen=True)
class Answer:
    """Answer of a solver, as read by the model, with its proven bound.

    `reading` is centroids (m,), or labels (n,); None if the solver found no point.
    `claimed` is a bound that the user's code claims.  `iterations` and `multipliers`
    are as in a `Certificate`; the multipliers are in the model's units.
    """

    reading: Any = field(repr=False)
    status: Status
    bound: float | None
    solver: str
    seconds: float
    claimed: Claim | None = None
    iterations: int | None = None
    multipliers: Mapping[str, Floats] | None = field(
        default=None, repr=False, compare=False
    )
