"""What a solver found, as its model reads it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from aggopt.core.validation import Floats
from aggopt.solvers._certificate import Claim, Status


@dataclass(frozen=True)
class Answer:
    """What a solver found, as its model's reader gives it, and what is proven.

    `reading` is centroids (m,), or labels (n,); None where it found nothing.
    `claimed` is what code of the user's says is a bound; `iterations` and
    `multipliers` are those of a `Certificate`, the latter in the model's units.
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
