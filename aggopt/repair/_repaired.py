"""Groups that were made t-close, and what is proven of them."""

from dataclasses import dataclass, field
from typing import NamedTuple

from aggopt.core.deadline import Deadline
from aggopt.core.equal import Fieldwise
from aggopt.core.html import table, titled
from aggopt.core.validation import Labels, numbered
from aggopt.errors import SolverError
from aggopt.repair._bound import highest
from aggopt.repair._problem import Problem
from aggopt.solvers import Certificate, Status
from aggopt.solvers._certificate import HEADER, rows


@dataclass(frozen=True, eq=False)
class Repaired(Fieldwise):
    """Groups that are t-close, and what is proven of them.

    Attributes
    ----------
    labels : (n,)
        Group of each record, 0..m-1.
    certificate
        objective: the sum of squares within groups, on z-scores, over all records and
        attributes; the sum of the certificates of `aggregate.mean`.  bound: no
        t-close partition into groups of k or more loses less; the higher of what
        `aggopt.models.closeness_bound` and `aggopt.partition.loss_bound` prove.
        violation: by how much the largest EMD exceeds t, decided exactly: 0.0.
    merging
        Of "merge-ilp": the certificate of the program that chose the unions.  Its
        bound is about less: no partition into t-close unions of the groups given, of
        `widest` of them at most, loses less.  Swapping records may.  OPTIMAL: no such
        partition is better; LOCAL: none over the unions that were taken in.  Where not
        all of two groups could be looked at (m > 1999, or time was up): no bound, and
        LOCAL at best, over unions of groups near each other.
    """

    labels: Labels = field(repr=False)
    certificate: Certificate
    merging: Certificate | None = None

    def _repr_html_(self) -> str:
        """Return sizes and certificates for a notebook."""
        named = {"groups": self.certificate}
        if self.merging is not None:
            named["merging"] = self.merging
        size = f"Repaired: {len(self.labels)} records, {self.labels.max() + 1} groups"
        return titled(size, table(HEADER, rows(named)))


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


def repaired(problem: Problem, found: Found, bound: float, clock: Deadline) -> Repaired:
    """Return what was found, numbered anew and with its certificate."""
    certificate = _certified(problem, found, bound, clock)
    return Repaired(numbered(found.labels), certificate, found.merging)


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
