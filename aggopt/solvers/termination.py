"""Result of a solve as its language reports it, and the status and bound that hold."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite

from aggopt.core.validation import Floats, is_number
from aggopt.solvers._scale import ProgramScale
from aggopt.solvers.certificate import Status, closed
from aggopt.solvers.solver import Solver

FEASIBLE = 1e-4  # violation of a constraint that Ipopt, too, accepts
EXACT = 1e-9  # largest violation of a constraint by a point of the program
ENDLESS = 1e20  # the bound that solvers report when they know none


@dataclass(frozen=True)
class Ended:
    """Result of a solve, in its language's words.

    Attributes
    ----------
    status
        The status that the solver reports.
    objective
        The problem's objective at the solver's point; None without a point.
    bound
        Reported or proven bound: no point does better.  It is a lower bound if the
        objective is minimised, an upper bound if it is maximised.
    proven
        Whether aggopt computed that bound from multipliers.
    missed
        Largest violation of a constraint at the point.
    seconds
        Wall time.
    maximised
        Whether the objective is maximised.
    scale
        Size of the program's terms; None if one of its numbers is not moderate.
    iterations, multipliers
        As in a `Certificate`.
    is_one_sided
        Whether the terms of the objective show its sign: never below 0 if it is
        minimised, never above 0 if it is maximised.
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
    """Return a solver's number of iterations as an integer; None for 0 and for words.

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

    `careful`: no option was given that may make the solver's report false.  The bound
    is proven or None.  The status is OPTIMAL only if the bound shows it.
    """
    trusted = careful and solver.is_global and ended.scale is not None
    bound = _safe(ended, trusted=trusted)
    status = ended.status if solver.is_global else _local(ended.status)
    if status is Status.LOCAL and ended.missed > FEASIBLE:
        return Status.FAILED, None  # some solvers report success when they stall
    if status is Status.INFEASIBLE:
        return (status if trusted else Status.FAILED), None
    if bound is not None and _disproved(ended, bound):
        return Status.UNPROVEN, None
    if status is Status.OPTIMAL:
        status = _shown(ended, bound, careful=careful and (trusted or not _says(ended)))
    return status, bound if status.usable else None


def _local(status: Status) -> Status:
    """Return the weaker status of a local solver, which proves nothing."""
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
    """Whether the bound is only reported by the solver, not proven here."""
    return ended.bound is not None and not ended.proven


def _disproved(ended: Ended, bound: float) -> bool:
    """Whether the point that came back is one, and beyond the bound."""
    if ended.proven or ended.objective is None or ended.missed > EXACT:
        return False
    better = bound - ended.objective
    return ended.status.usable and (-better if ended.maximised else better) > 0


def _shown(ended: Ended, bound: float | None, *, careful: bool) -> Status:
    """Return the status that holds for a solve that its solver calls optimal."""
    if ended.missed > FEASIBLE or ended.objective is None:
        return Status.UNPROVEN
    if bound is None:
        return Status.LOCAL if careful else Status.UNPROVEN
    return Status.OPTIMAL if closed(ended.objective, bound) else Status.UNPROVEN
