"""Input of every method of repair, and its t-close groups after mere merging."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from aggopt.core.record_weights import group_sse, group_sums
from aggopt.core.types import I64
from aggopt.core.validation import (
    Floats,
    Labels,
    check_group_size,
    find_caller_stacklevel,
)
from aggopt.errors import JobError, TableError
from aggopt.partition.constraints import (
    NEAR,
    CloseToTable,
    Promise,
    build_closeness,
    combine_constraints,
)
from aggopt.partition.merging import merge_with_nearest
from aggopt.partition.neighbours import find_neighbours
from aggopt.partition.shared.scaling import scale_records
from aggopt.privacy.closeness import warn_of_constant
from aggopt.privacy.distance import read_threshold
from aggopt.privacy.ordered_attribute import Ordered


@dataclass(frozen=True, eq=False)
class Problem:
    """Records Z (n, d) on z-scores, and the requirements: k, and t of `ordered`."""

    Z: Floats = field(repr=False)
    ordered: Ordered = field(repr=False)
    k: int
    t: float

    @cached_property
    def limits(self) -> I64:
        """Largest numerator of a group that is t-close, by its size, (n + 1,)."""
        return self.ordered.limits(self.t)

    @cached_property
    def near(self) -> Labels:
        """The records whose groups a record may join, (n, c)."""
        return find_neighbours(self.Z, NEAR)

    @cached_property
    def promise(self) -> Promise:
        """Constraints of a local search, in addition to k."""
        return combine_constraints(close=build_closeness(self.ordered, self.limits))

    def holds(self, labels: Labels) -> bool:
        """Whether each group has k records and is t-close, decided exactly."""
        sizes = np.bincount(labels)
        close = self.ordered.numerators(labels) <= self.limits[sizes]
        return bool(close.all() and sizes.min() >= self.k)

    def sse(self, labels: Labels) -> float:
        """Return the sum of squares within groups, over all attributes."""
        return group_sse(self.Z, labels)

    def violation(self, labels: Labels) -> float:
        """Return the excess of the largest EMD over t, exact; 0.0 if it is within t."""
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
    """Return labels as an array; refuse ragged or incomplete ones."""
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
    """Return the problem of records in their own units; refuse invalid input."""
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
    """Return unions of the groups of labels (n,), each of k records and t-close.

    Groups of less than k records are merged with the nearest first, beginning with the
    smallest; then the worst with the nearest, as `merge_until_close` does.
    """
    promise = CloseToTable.to((problem.ordered,), read_threshold(problem.t))
    return merge_with_nearest(problem.Z, _merge_small(problem, labels), promise)


def _merge_small(problem: Problem, labels: Labels) -> Labels:
    """Return labels (n,) after merging groups of fewer than k with their nearest."""
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
