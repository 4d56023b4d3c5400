"""Result of a repair: t-close groups with their certificate."""

from typing import NamedTuple

from aggopt.core.deadline import Deadline
from aggopt.core.validation import Labels, renumber_groups
from aggopt.errors import SolverError
from aggopt.partition.shared.result import Partition
from aggopt.repair._bound import raise_bound
from aggopt.repair._problem import Problem
from aggopt.solvers import Certificate, Status


class MethodResult(NamedTuple):
    """Result of a method; `polished` is the solver of the last program."""

    labels: Labels
    status: Status
    merging: Certificate | None = None
    polished: str | None = None


def select_not_worse(
    problem: Problem, initial: Labels, result: MethodResult
) -> MethodResult:
    """Return the given labels if they satisfy k and t, and no better were found."""
    if problem.holds(initial) and problem.sse(initial) <= problem.sse(result.labels):
        return result._replace(labels=initial, status=Status.KEPT)
    if not problem.holds(result.labels):
        raise SolverError(
            "The groups of the search do not satisfy k and t.",
            fix="name another solver or method, and report this.",
        )
    return result


def certify_repair(
    problem: Problem, result: MethodResult, bound: float, clock: Deadline
) -> Partition:
    """Return the result, renumbered and with its certificate."""
    certificate = _make_certificate(problem, result, bound, clock)
    return Partition(
        renumber_groups(result.labels), certificate, merging=result.merging
    )


def _make_certificate(
    problem: Problem, result: MethodResult, bound: float, clock: Deadline
) -> Certificate:
    """Return the certificate of the result, with the bound."""
    by = result.merging.solver if result.merging else "swaps and moves"
    if result.polished:
        by += f", then {result.polished}"
    certificate = Certificate(
        result.status,
        problem.sse(result.labels),
        None,
        problem.violation(result.labels),
        by,
        clock.spent,
    )
    return raise_bound(certificate, [bound], problem.Z.size)
