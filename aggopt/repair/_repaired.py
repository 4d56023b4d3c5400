"""Result of a repair: t-close groups with their certificate."""

from typing import NamedTuple

from aggopt.core.deadline import Deadline
from aggopt.core.validation import Labels, numbered
from aggopt.errors import SolverError
from aggopt.partition._shared.result import Partition
from aggopt.repair._bound import highest
from aggopt.repair._problem import Problem
from aggopt.solvers import Certificate, Status


class Found(NamedTuple):
    """Result of a method; `polished` is the solver of the last program."""

    labels: Labels
    status: Status
    merging: Certificate | None = None
    polished: str | None = None


def not_worse(problem: Problem, given: Labels, found: Found) -> Found:
    """Return the given labels if they satisfy k and t, and no better were found."""
    if problem.holds(given) and problem.sse(given) <= problem.sse(found.labels):
        return found._replace(labels=given, status=Status.KEPT)
    if not problem.holds(found.labels):
        raise SolverError(
            "The groups of the search do not satisfy k and t.",
            fix="name another solver or method, and report this.",
        )
    return found


def repaired(
    problem: Problem, found: Found, bound: float, clock: Deadline
) -> Partition:
    """Return the result, renumbered and with its certificate."""
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
