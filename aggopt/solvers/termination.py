"""Result of a solve as its language reports it, and the status and bound that hold."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite

import numpy as np

from aggopt.core.validation import Floats, is_number
from aggopt.solvers._linear_bound import LinearProgram, narrow_box
from aggopt.solvers.certificate import Status, is_gap_closed
from aggopt.solvers.solver import Solver

LEAST = 1e-6  # a thousand times the number that HiGHS and SCIP take for 0
MOST = 1e6  # its inverse; a variable within it moves a row by LEAST by 1
ROUNDED = 1e-13  # a smaller term of a row is lost in its other terms' rounding
SAFE = 1e-7  # of the largest term: a hundred times the tolerance of reduced costs
PRICE = 1e-9  # tolerance of a reduced cost, for each unit of its variable


@dataclass(frozen=True)
class ProgramScale:
    """Size of the terms of a program whose numbers are moderate.

    Attributes
    ----------
    largest
        Largest value that a term of the objective can have.
    lost
        Most that its tiny terms and the tolerances of reduced costs can add.
    constant
        Constant of the objective.
    """

    largest: float
    lost: float
    constant: float

    def allowance(self, bound: float) -> float:
        """Return the amount to take off a bound for the tolerances of its solver."""
        size = max(1.0, abs(bound - self.constant), self.largest, abs(bound))
        return SAFE * size + self.lost


@dataclass(frozen=True, eq=False)
class Terms:
    """Coefficients (p,), and the largest size (p,) of the factor of each of them."""

    factor: Floats = field(repr=False)
    reach: Floats = field(repr=False)


def scale(
    rows: Terms,
    sides: Floats,
    costs: Terms,
    box: tuple[Floats, Floats],
    constant: float,
) -> ProgramScale | None:
    """Return the scale of a program; None if one of its numbers is not moderate.

    `costs` leaves out squares that only add to the objective.  `sides` of rows leaves
    out the infinite ones.
    """
    left, right = box
    ends = np.abs(np.append(left, right))
    a = np.abs(rows.factor)
    moved = np.abs(rows.factor) * rows.reach
    a = a[(a > 0) & ~(moved <= ROUNDED)]
    c = np.abs(costs.factor)
    sizes = np.concatenate([ends, a, c, np.abs(sides)])
    if (a < LEAST).any() or not (sizes <= MOST).all():
        return None
    terms = np.where(c > 0, c * costs.reach, 0.0)
    lost = terms[c < LEAST].sum() + PRICE * np.abs(right - left).sum()
    return ProgramScale(float(terms.max(initial=0.0)), float(lost), constant)


def scale_of(program: LinearProgram) -> ProgramScale | None:
    """Return the scale of a linear program, or of one with squares as costs."""
    for _ in range(3):  # a row narrows what another needs
        program = narrow_box(program)
    box = program.left, program.right
    reach = np.maximum(*np.abs(box))
    table = program.rows.tocoo()
    sides = np.append(program.low, program.high)
    if not (program.curve <= MOST).all():
        return None
    return scale(
        Terms(table.data, reach[table.col]),
        sides[np.isfinite(sides)],
        Terms(program.cost, reach),
        box,
        program.constant,
    )


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


def read_iterations(iterations: object) -> int | None:
    """Return a solver's number of iterations as an integer; None for 0 and for words.

    >>> read_iterations(7), read_iterations(0), read_iterations("Not available")
    (7, None, None)
    """
    if not is_number(iterations) or not iterations > 0:  # type: ignore[operator]
        return None
    return int(float(iterations))  # type: ignore[arg-type]


def judge_termination(
    ended: Ended, solver: Solver, *, careful: bool
) -> tuple[Status, float | None]:
    """Return the status and the bound that hold.

    `careful`: no option was given that may make the solver's report false.  The bound
    is proven or None.  The status is OPTIMAL only if the bound shows it.
    """
    trusted = careful and solver.is_global and ended.scale is not None
    bound = _is_safe(ended, trusted=trusted)
    status = ended.status if solver.is_global else _lower_local_status(ended.status)
    if status is Status.LOCAL and ended.missed > FEASIBLE:
        return Status.FAILED, None  # some solvers report success when they stall
    if status is Status.INFEASIBLE:
        return (status if trusted else Status.FAILED), None
    if bound is not None and _is_disproved(ended, bound):
        return Status.UNPROVEN, None
    if status is Status.OPTIMAL:
        status = _check_optimal_claim(
            ended, bound, careful=careful and (trusted or not _is_reported(ended))
        )
    return status, bound if status.usable else None


def _lower_local_status(status: Status) -> Status:
    """Return the weaker status of a local solver, which proves nothing."""
    weaker = {Status.OPTIMAL: Status.LOCAL, Status.INFEASIBLE: Status.FAILED}
    return weaker.get(status, status)


def _is_safe(ended: Ended, *, trusted: bool) -> float | None:
    bound = ended.bound
    away = 1.0 if ended.maximised else -1.0
    if bound is None or not isfinite(bound) or abs(bound) >= ENDLESS:
        return None
    if not ended.proven:
        if not trusted or ended.scale is None:
            return None
        bound += away * ended.scale.allowance(bound)
    beyond = ended.is_one_sided and bound * away > 0
    return 0.0 if beyond else bound


def _is_reported(ended: Ended) -> bool:
    """Whether the bound is only reported by the solver, not proven here."""
    return ended.bound is not None and not ended.proven


def _is_disproved(ended: Ended, bound: float) -> bool:
    """Whether the point that came back is one, and beyond the bound."""
    if ended.proven or ended.objective is None or ended.missed > EXACT:
        return False
    better = bound - ended.objective
    return ended.status.usable and (-better if ended.maximised else better) > 0


def _check_optimal_claim(ended: Ended, bound: float | None, *, careful: bool) -> Status:
    """Return the status that holds for a solve that its solver calls optimal."""
    if ended.missed > FEASIBLE or ended.objective is None:
        return Status.UNPROVEN
    if bound is None:
        return Status.LOCAL if careful else Status.UNPROVEN
    return Status.OPTIMAL if is_gap_closed(ended.objective, bound) else Status.UNPROVEN
