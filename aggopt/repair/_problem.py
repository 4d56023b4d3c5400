"""Input and result of every method of repair, and lower bounds on the loss."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from aggopt.core.deadline import Deadline
from aggopt.core.record_weights import group_sse, group_sums
from aggopt.core.types import I64
from aggopt.core.validation import (
    Floats,
    Labels,
    check_group_size,
    find_caller_stacklevel,
    renumber_groups,
)
from aggopt.errors import JobError, SolverError, TableError
from aggopt.partition.constraints import (
    NEAR,
    CloseToTable,
    Promise,
    build_closeness,
    combine_constraints,
)
from aggopt.partition.merging import merge_with_nearest
from aggopt.partition.neighbours import find_neighbours
from aggopt.partition.shared.neighbour_bound import prove_promised_loss
from aggopt.partition.shared.result import Partition
from aggopt.partition.shared.scaling import scale_records
from aggopt.privacy.closeness import warn_of_constant
from aggopt.privacy.distance import read_threshold
from aggopt.privacy.models.t_closeness import Closeness
from aggopt.privacy.ordered_attribute import Ordered
from aggopt.solvers import Certificate, Status


@dataclass(frozen=True, eq=False)
class Problem:
    """Records Z (n, d) on z-scores, and the requirements: k, and t of `ordered`."""

    Z: Floats = field(repr=False)
    ordered: Ordered = field(repr=False)
    k: int
    t: float

    @cached_property
    def limits(self) -> I64:
        """Largest EMD numerator of a t-close group, by group size, (n + 1,)."""
        return self.ordered.limits(self.t)

    @cached_property
    def near(self) -> Labels:
        """Near records whose groups each record may join, (n, c)."""
        return find_neighbours(self.Z, NEAR)

    @cached_property
    def promise(self) -> Promise:
        """State of t-closeness for the kernels of local search."""
        return combine_constraints(close=build_closeness(self.ordered, self.limits))

    def holds(self, labels: Labels) -> bool:
        """Whether each group of labels (n,) has k records and is t-close."""
        sizes = np.bincount(labels)
        close = self.ordered.numerators(labels) <= self.limits[sizes]
        return bool(close.all() and sizes.min() >= self.k)

    def sse(self, labels: Labels) -> float:
        """Return the sum of squares within groups of labels (n,)."""
        return group_sse(self.Z, labels)

    def violation(self, labels: Labels) -> float:
        """Return by how much the largest EMD exceeds t; 0.0 if it does not."""
        sizes = np.bincount(labels)
        over = self.ordered.numerators(labels) - self.limits[sizes]
        if (over <= 0).all():
            return 0.0
        return float(self.ordered.emd(labels).max() - self.t)


def read_ordered(
    confidential: npt.ArrayLike, bins: str, *, stacklevel: int = 4
) -> Ordered:
    """Return the confidential attribute in bins; warn if it is constant."""
    ordered = Ordered.read(confidential, bins)
    warn_of_constant([("", ordered)], stacklevel=stacklevel)
    return ordered


def require_rows(labels: npt.ArrayLike) -> npt.NDArray[np.generic]:
    """Return labels as an array; raise if they are ragged or have missing entries."""
    try:
        holes = int(np.ma.getmaskarray(labels).sum()) if np.ma.isMA(labels) else 0
        array = np.asarray(labels)
    except ValueError:  # rows of unequal length
        array = np.empty(0)
        holes = 1
    if holes:
        raise JobError(
            "labels have holes, or rows of unequal length.",
            fix="pass one group number per record, as the functions of "
            "aggopt.partition return.",
        )
    return array


def create_problem(
    X: npt.ArrayLike, confidential: npt.ArrayLike, k: int, t: float, bins: str
) -> Problem:
    """Return the problem of t-closeness for a table; raise on invalid input."""
    Z = np.ascontiguousarray(scale_records(X))
    ordered = read_ordered(confidential, bins, stacklevel=find_caller_stacklevel() + 2)
    if ordered.n != len(Z):
        raise TableError(
            f"There are {ordered.n} confidential values and {len(Z)} records.",
            fix="pass one confidential value per record.",
        )
    k = check_group_size(k, len(Z))
    read_threshold(t)
    return Problem(Z, ordered, k, t)


def make_close(problem: Problem, labels: Labels) -> Labels:
    """Return labels (n,) of t-close unions, of k records or more, of the groups.

    Groups of less than k records are merged with the nearest first, beginning with the
    smallest; then the worst with the nearest, as `merge_until_close` does.
    """
    promise = CloseToTable.to((problem.ordered,), read_threshold(problem.t))
    return merge_with_nearest(problem.Z, _merge_small(problem, labels), promise)


def _merge_small(problem: Problem, labels: Labels) -> Labels:
    """Return labels (n,) with groups of fewer than k merged with their nearest."""
    sizes = np.bincount(labels)
    totals = group_sums(problem.Z, labels)
    name = np.arange(len(sizes))
    left = len(sizes)
    while left > 1 and sizes.min() < problem.k:
        means = totals / sizes[:, None]
        g = int(np.argmin(sizes))
        apart = ((means - means[g]) ** 2).sum(axis=1)
        apart[g] = np.inf
        near = int(np.argmin(apart))
        name[name == g] = near
        totals[near] += totals[g]
        sizes[near] += sizes[g]
        totals[g] = np.inf
        sizes[g] = len(labels) + 1  # neither smallest nor near
        left -= 1
    return np.unique(name[labels], return_inverse=True)[1].astype(np.intp)


MET = 1e-9  # share of the objective that rounding may leave between objective and bound
ROUNDING = 1e-26  # loss for each entry of z-scores that counts as 0


def bound_loss(
    problem: Problem, left: float = np.inf, seconds: float | None = None
) -> float:
    """Return a lower bound on the SSE of t-close groups of k records or more.

    `seconds` is the budget of the pair program, and `left` the time for the bound of t.
    """
    close = Closeness("", problem.ordered, problem.t)
    return prove_promised_loss(
        problem.Z, problem.k, [close], seconds=seconds, left=left
    ).require_uninterrupted()


def raise_bound(
    certificate: Certificate, bounds: Iterable[float | None], entries: int
) -> Certificate:
    """Return the certificate with the highest of its lower bound and `bounds`.

    Its status is OPTIMAL if that bound is met, up to rounding of sums of `entries`
    terms.
    """
    known_bounds = [b for b in (certificate.bound, *bounds) if b is not None]
    if not known_bounds:
        return certificate
    bound = min(max(known_bounds), certificate.objective)
    objective = certificate.objective
    met = objective - bound <= MET * objective + ROUNDING * entries
    status = Status.OPTIMAL if met else certificate.status
    return replace(certificate, bound=bound, status=status)


class MethodResult(NamedTuple):
    """Result of a method; `polished` is the solver of the last program."""

    labels: Labels
    status: Status
    merging: Certificate | None = None
    polished: str | None = None


def select_not_worse(
    problem: Problem, initial: Labels, result: MethodResult
) -> MethodResult:
    """Return the initial labels if they satisfy k and t and lose no more."""
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
    """Return the result as a partition with its certificate."""
    certificate = _make_certificate(problem, result, bound, clock)
    return Partition(
        renumber_groups(result.labels), certificate, merging=result.merging
    )


def _make_certificate(
    problem: Problem, result: MethodResult, bound: float, clock: Deadline
) -> Certificate:
    """Return the certificate of a repair's result, with a lower bound."""
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
