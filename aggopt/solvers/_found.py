"""What a solver found, as its model reads it."""

from dataclasses import dataclass, field
from typing import Any

from aggopt.solvers._certificate import Claim, Status


@dataclass(frozen=True)
class Answer:
    """What a solver found, as its model's reader gives it, and what is proven.

    `reading` is centroids (m,), or labels (n,); None where it found nothing.
    `claimed` is what code of the user's says is a bound.
    """

    reading: Any = field(repr=False)
    status: Status
    bound: float | None
    solver: str
    seconds: float
    claimed: Claim | None = None
