"""Optimal groups of one attribute's values."""

import time
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from aggopt.core.memory import require_memory
from aggopt.core.standardise import Scale
from aggopt.core.types import AnyInt
from aggopt.core.validation import Floats, Labels, group_size, vector
from aggopt.errors import SolverError
from aggopt.models import univariate as model
from aggopt.partition._shared.result import Partition
from aggopt.solvers import Certificate, Solver, Status, choose
from aggopt.solvers._answer import Answer
from aggopt.solvers._ask import answer
from aggopt.solvers._certificate import closed

BYTES = 48  # for each value, at the peak of sorting


def univariate(
    x: npt.ArrayLike,
    k: int,
    *,
    cost: str = "sse",
    centroids: str = "any",
    solver: str | None = None,
    time_limit: float | None = None,
    options: Mapping[str, Any] | None = None,
) -> Labels:
    """Return labels (n,): the groups of at least k values that cost least of all.

    The partition is optimal: no other, of any kind, costs less.  The model is stated
    in `aggopt.models.univariate`: a shortest path through the sorted values.

    Parameters
    ----------
    x : (n,)
        One attribute, in any order and unit: numbers, none missing.
    k : int
        Smallest group size, 1 <= k <= n.  With n < 2k all values are one group.
    cost : "sse", "sae" or "maxdist"
        What a group costs: the sum of squares about its mean, the sum of distances
        from its median, or its largest value less its smallest.
    centroids : "any" or "integer"
        "integer": the published value is to be the whole number nearest to the mean,
        and squares count from there.  Rounding the means of the groups that are best
        without it loses more.  For the cost "sse".
    solver
        A name of `aggopt.solvers.SOLVERS` that takes the model: "dynamic" (the
        default, for millions of values), "shortest_path", or one that takes
        linear programs, "cvxpy:highs" and others, for thousands.
    time_limit, options
        Of a solver of linear programs: seconds, and options under its own names.

    Returns
    -------
    (n,) ints
        Group of each value, numbered 0..m-1 from the least values up.  Each group
        has k to 2k - 1 values.

    Raises
    ------
    InfeasibleInputError
        k exceeds n, or the memory that is left would not do; the message says how
        much is needed.
    JobError
        k is below 1 or not a whole number; an unknown cost, kind of centroids or
        solver (UnknownNameError), or one that does not fit.
    TableError
        x is not a vector of finite numbers.
    SolverError
        The solver is missing, or did not prove its answer.

    Notes
    -----
    Costs are computed relative to a value of the group, to avoid cancellation;
    costs that are equal up to rounding may be taken for equal.  Of equal values the one
    that comes first in x goes into the group with the smaller number.

    Time grows as n for usual k, and as n log k for large; memory as n.

    Disclosure: the groups keep the order of the values, and nearly the values
    themselves.  Who knows a person's value of this attribute finds the group by
    looking for the nearest published value; where several attributes are treated one
    by one, the combination usually singles the person out.  `aggopt.measure.assess`
    shows it: distance linkage (DLD) and interval disclosure (SDID) are high.

    Source: Hansen and Mukherjee, IEEE TKDE 15(4), 2003.

    Examples
    --------
    >>> univariate([0, 100, 1, 101, 2, 102], k=3)
    array([0, 1, 0, 1, 0, 1])
    """
    how = _How(cost, centroids, solver, time_limit, options)
    started = time.perf_counter()
    solved = _solved(x, k, how)
    status = solved.found.status
    if solved.by.language is not None:
        status = _certificate(solved, started).status
    if status is not Status.OPTIMAL:
        raise SolverError(
            f"{solved.by.name} proved no partition optimal: it ended {status}.",
            fix="give it more time, leave out options that let it stop early, name "
            "another solver, or call univariate_certified, which says how far it is.",
        )
    return solved.labels


def univariate_certified(
    x: npt.ArrayLike,
    k: int,
    *,
    cost: str = "sse",
    centroids: str = "any",
    solver: str | None = None,
    time_limit: float | None = None,
    options: Mapping[str, Any] | None = None,
) -> Partition:
    """Return what `univariate` returns, with its certificate.

    Arguments and errors are those of `univariate`, but a partition that is not proven
    optimal is returned, too: its status is LIMIT, and the bound is what the multipliers
    prove that the solver found, whatever it says of itself.  The certificate is in
    standardised units: squared standard deviations for the cost "sse", standard
    deviations for the others.

    Examples
    --------
    >>> result = univariate_certified([0, 100, 1, 101, 2, 102], k=3)
    >>> result.certificate.status.value, result.certificate.gap
    ('optimal', 0.0)
    """
    how = _How(cost, centroids, solver, time_limit, options)
    started = time.perf_counter()
    solved = _solved(x, k, how)
    return Partition(solved.labels, _certificate(solved, started))


class _How(NamedTuple):
    cost: str
    centroids: str
    solver: str | None
    time_limit: float | None
    options: Mapping[str, Any] | None


class _Solved(NamedTuple):
    data: model.Data
    order: AnyInt
    found: Answer
    by: Solver

    @property
    def labels(self) -> Labels:
        from aggopt.partition._univariate import radix_sort

        labels = self.found.reading
        back = np.empty(len(labels), dtype=np.intp)
        radix_sort.undo(labels, self.order, back)
        return back


def _solved(x: npt.ArrayLike, k: int, how: _How) -> _Solved:
    values = vector(x)
    k = group_size(k, len(values))
    model.require_cost(how.cost, how.centroids)
    chosen = choose(how.solver, *model.MODEL.kinds)
    ordered, order = _sorted(values)
    data = model.Data(ordered, k, how.cost, how.centroids)
    found = answer(
        model.MODEL, data, chosen, None, time_limit=how.time_limit, options=how.options
    )
    if not found.status.usable or found.reading is None:
        raise SolverError(
            f"{chosen.name} proved no partition optimal, and found none: it ended "
            f"{found.status}.",
            fix="give it more time, or name another solver.",
        )
    return _Solved(data, order, found, chosen)


def _sorted(values: Floats) -> tuple[Floats, AnyInt]:
    from aggopt.partition._univariate import (
        radix_sort,  # imports numba: not before it is needed
    )

    require_memory(BYTES * len(values), f"sorting {len(values)} values")
    return radix_sort.by_value(values)


def _certificate(solved: _Solved, started: float) -> Certificate:
    data, found = solved.data, solved.found
    at = model.point(data, found.reading)
    objective = model.objective(data, at)
    spread = float(Scale.of(data.x[:, None]).spread[0])
    unit = data.unit / spread if spread else 1.0
    unit **= 2 if data.cost == "sse" else 1
    status, bound = _proof(solved, objective, unit)
    return Certificate(
        status,
        objective * unit,
        None if bound is None else bound * unit,
        model.violation(data, at),
        solved.by.name,
        time.perf_counter() - started,
    )


def _proof(
    solved: _Solved, objective: float, unit: float
) -> tuple[Status, float | None]:
    """Return how it ended, and the bound, in units of the model."""
    if solved.by.language is None:
        return solved.found.status, objective  # such a method proves a path, no figure
    if solved.found.bound is None:
        return Status.LIMIT, None
    bound = min(solved.found.bound, objective)
    if closed(objective * unit, bound * unit):
        return Status.OPTIMAL, bound
    return Status.LIMIT, bound
