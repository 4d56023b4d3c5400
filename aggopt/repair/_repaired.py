"""Groups that were made t-close, and what is proven of them."""

from typing import NamedTuple

from aggopt.core.deadline import Deadline
from aggopt.core.validation import Labels, numbered
from aggopt.errors import SolverError
from aggopt.partition._shared.result import Partition
from aggopt.repair._bound import highest
from aggopt.repair._problem import Problem
from aggopt.solvers import Certificate, Status


class Found(NamedTuple):
    """What a method found; `polished` is the solver that had the last word."""

    labels: Labels
    status: Status
    merging: Certificate | None = None
    polished: str | None = None


def not_worse(problem: Problem, given: Labels, found: Found) -> Found:
    """Return the labels given where they hold, and nothing better was found."""
    if problem.holds(given) and problem.sse(given) <= problem.sse(found.labels):
        return found._replace(labels=given, status=Status.KEPT)
    if not problem.holds(found.labels):
        raise SolverError(
            "The groups that were found do not keep k and t.",
            fix="name another solver or method, and report this.",
        )
    return found


def repaired(
    problem: Problem, found: Found, bound: float, clock: Deadline
) -> Partition:
    """Return what was found, numbered anew and with its certificate."""
    certificate = _certified(problem, found, bound, clock)
    return Partition(numbered(found.labels), certificate, merging=found.merging)


def _certified(
    problem: Problem, found: Found, bound: float, clock: Deadline
) -> Certificate:
    by = found.merging.solver if found.merging else "swaps and moves"
    if found.polished:
        by += f", then {found.polished}"
    certificate = Certificate(
        found.status,
        problem.sse(found.labels),
        None,
        problem.violation(found.labels),
        by,
        clock.spent,
    )
    return highest(certificate, [bound], problem.Z.size)
