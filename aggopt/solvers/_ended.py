"""What a language says of a solve, and what may be said of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite

from aggopt.core.validation import Floats, is_number
from aggopt.solvers._certificate import Status, closed
from aggopt.solvers._scale import ProgramScale
from aggopt.solvers._solver import Solver

FEASIBLE = 1e-4  # what Ipopt, too, lets a constraint be missed by
EXACT = 1e-9  # up to which a point that misses a constraint is of the program
ENDLESS = 1e20  # what solvers say where they know no bound


@dataclass(frozen=True)
class Ended:
    """How a solve ended, in its language's words.

    Attributes
    ----------
    status
        What the solver says.
    objective
        The problem's objective at the point it left; None without one.
    bound
        What it is said, or proven, that no point does better than: below it where the
        objective is minimised, above where it is maximised.
    proven
        Whether that bound was worked out here, from multipliers.
    missed
        Largest violation of a constraint at the point.
    seconds
        Wall time.
    maximised
        Whether the objective is.
    scale
        How large the program's terms are; None where a number of it is not moderate.
    iterations, multipliers
        Those of a `Certificate`.
    is_one_sided
        Whether the terms of the objective show that it is never below 0 where it is
        minimised, nor above 0 where it is maximised.
    """

    status: Status
    objective: float | None = None
    bound: float | None = None
    proven: bool = False
    missed: float = 0.0
    seconds: float = 0.0
    maximised: bool = False
    scale: ProgramScale | None = None
    iterations: int | None = None
    multipliers: Mapping[str, Floats] | None = field(
        default=None, repr=False, compare=False
    )
    is_one_sided: bool = False


def counted(iterations: object) -> int | None:
    """Return a number of iterations as solvers say it; None for none, and for words.

    >>> counted(7), counted(0), counted("Not available")
    (7, None, None)
    """
    if not is_number(iterations) or not iterations > 0:  # type: ignore[operator]
        return None
    return int(float(iterations))  # type: ignore[arg-type]


def judged(
    ended: Ended, solver: Solver, *, careful: bool
) -> tuple[Status, float | None]:
    """Return the status and the bound that hold.

    `careful`: no option was given that may make what the solver says false.  A bound is
    proven or None, and OPTIMAL is what the bound shows to be so.
    """
    trusted = careful and solver.is_global and ended.scale is not None
    bound = _safe(ended, trusted=trusted)
    status = ended.status if solver.is_global else _local(ended.status)
    if status is Status.LOCAL and ended.missed > FEASIBLE:
        return Status.FAILED, None  # some call it success where they stall
    if status is Status.INFEASIBLE:
        return (status if trusted else Status.FAILED), None
    if bound is not None and _disproved(ended, bound):
        return Status.UNPROVEN, None
    if status is Status.OPTIMAL:
        status = _shown(ended, bound, careful=careful and (trusted or not _says(ended)))
    return status, bound if status.usable else None


def _local(status: Status) -> Status:
    """Return what a local solver's word is worth: it proves nothing."""
    weaker = {Status.OPTIMAL: Status.LOCAL, Status.INFEASIBLE: Status.FAILED}
    return weaker.get(status, status)


def _safe(ended: Ended, *, trusted: bool) -> float | None:
    bound, away = ended.bound, 1.0 if ended.maximised else -1.0
    if bound is None or not isfinite(bound) or abs(bound) >= ENDLESS:
        return None
    if not ended.proven:
        if not trusted or ended.scale is None:
            return None
        bound += away * ended.scale.allowance(bound)
    beyond = ended.is_one_sided and bound * away > 0
    return 0.0 if beyond else bound


def _says(ended: Ended) -> bool:
    """Whether there is a bound that is only said, which is not taken then."""
    return ended.bound is not None and not ended.proven


def _disproved(ended: Ended, bound: float) -> bool:
    """Whether the point that came back is one, and beyond the bound."""
    if ended.proven or ended.objective is None or ended.missed > EXACT:
        return False
    better = bound - ended.objective
    return ended.status.usable and (-better if ended.maximised else better) > 0


def _shown(ended: Ended, bound: float | None, *, careful: bool) -> Status:
    """Return how a solve ended that its solver calls optimal."""
    if ended.missed > FEASIBLE or ended.objective is None:
        return Status.UNPROVEN
    if bound is None:
        return Status.LOCAL if careful else Status.UNPROVEN
    return Status.OPTIMAL if closed(ended.objective, bound) else Status.UNPROVEN
