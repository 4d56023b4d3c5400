"""Optimal groups of one attribute's values."""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from aggopt.core.deadline import Deadline
from aggopt.core.memory import require_memory
from aggopt.core.section import SolverSection
from aggopt.core.standardise import Scale
from aggopt.core.types import AnyInt
from aggopt.core.validation import Floats, Labels, check_group_size, check_vector
from aggopt.errors import SolverError
from aggopt.models import univariate as model
from aggopt.partition.registry import AttributeUse, Bound, Partitioner
from aggopt.partition.shared.evidence import Budget, Evidence
from aggopt.partition.shared.neighbour_bound import prove_loss
from aggopt.partition.shared.result import Partition
from aggopt.partition.shared.settings import Grouping
from aggopt.solvers import Certificate, Solver, Status, choose_solver
from aggopt.solvers.certificate import Answer, is_gap_closed
from aggopt.solvers.run_solver import run_solver

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
) -> Partition:
    """Return the groups of k or more values of one attribute with the least cost.

    The partition is optimal: no other partition of any kind costs less.  The model is
    that of `aggopt.models.univariate`: a shortest path through the sorted values.

    Parameters
    ----------
    x : (n,)
        One attribute, in any order and unit: numbers, none missing.
    k : int
        Smallest group size, 1 <= k <= n.  With n < 2k all values are one group.
    cost : "sse", "sae" or "maxdist"
        Cost of a group: the sum of squares about its mean, the sum of distances from
        its median, or its largest value less its smallest.
    centroids : "any" or "integer"
        "integer": the published value is the whole number nearest to the mean, and
        squares count from it.  Rounding the means of the groups for "any" loses more.
        Only for the cost "sse".
    solver
        A name of `aggopt.solvers.SOLVERS` that accepts the model: "dynamic" (the
        default, for millions of values), "shortest_path", or one for linear programs,
        "cvxpy:highs" and others, for thousands.
    time_limit, options
        For a solver of linear programs: seconds, and options under its own names.

    Returns
    -------
    Partition
        Group of each value, numbered 0..m-1 from the least values up.  Each group has k
        to 2k - 1 values.  The certificate is in standardised units: squared standard
        deviations for the cost "sse", standard deviations for the others.  A partition
        that its solver did not prove optimal has the status LIMIT; its bound is proven
        by the solver's multipliers, whatever the solver reports.

    Raises
    ------
    InfeasibleInputError
        k exceeds n, or the memory is insufficient; the message contains the required
        amount.
    JobError
        k is below 1 or not a whole number; an unknown cost, kind of centroids or solver
        (UnknownNameError), or an incompatible one.
    TableError
        x is not a vector of finite numbers.
    SolverError
        The solver is missing, or returned no partition.

    Notes
    -----
    Costs are computed relative to a value of the group, to avoid cancellation; costs
    that are equal up to rounding may be treated as equal.  Among equal values, the
    first one in x belongs to the group with the smaller number.

    Time grows as n for usual k, and as n log k for large; memory as n.

    Disclosure: the groups keep the order of the values, and nearly the values
    themselves.  An intruder with a person's value of this attribute finds the group by
    the nearest published value; if several attributes are treated one by one, the
    combination usually singles the person out.  `aggopt.measure.assess` shows it:
    distance linkage (DLD) and interval disclosure (SDID) are high.

    Source: Hansen and Mukherjee, IEEE TKDE 15(4), 2003.

    Examples
    --------
    >>> groups = univariate([0, 100, 1, 101, 2, 102], k=3)
    >>> groups.labels, groups.certificate.status.value, groups.certificate.gap
    (array([0, 1, 0, 1, 0, 1]), 'optimal', 0.0)
    """
    clock = Deadline(None)
    solved = _solve_model(
        x, k, _UnivariateOptions(cost, centroids, solver, time_limit, options)
    )
    labels = solved.labels
    spent = clock.spent
    return Partition(labels, _make_evidence(solved, spent))


class _UnivariateOptions(NamedTuple):
    cost: str
    centroids: str
    solver: str | None
    time_limit: float | None
    options: Mapping[str, Any] | None


class _Solved(NamedTuple):
    data: model.Data
    order: AnyInt
    answer: Answer
    solver: Solver

    @property
    def labels(self) -> Labels:
        """Group of each value (n,), in the values' original order."""
        from aggopt.partition import _radix_sort_kernels as radix_sort

        labels = self.answer.reading
        back = np.empty(len(labels), dtype=np.intp)
        radix_sort.restore_order(labels, self.order, back)
        return back


def _solve_model(x: npt.ArrayLike, k: int, options: _UnivariateOptions) -> _Solved:
    """Return the model's solution; raise on invalid input or without a solution."""
    values = check_vector(x)
    k = check_group_size(k, len(values))
    model.require_cost(options.cost, options.centroids)
    chosen = choose_solver(options.solver, *model.MODEL.kinds)
    ordered, order = _sort_values(values)
    data = model.Data(ordered, k, options.cost, options.centroids)
    solution = run_solver(
        model.MODEL,
        data,
        chosen,
        None,
        time_limit=options.time_limit,
        options=options.options,
    )
    if not solution.status.usable or solution.reading is None:
        raise SolverError(
            f"{chosen.name} proved no partition optimal, and found none: it ended "
            f"{solution.status}.",
            fix="give it more time, or name another solver.",
        )
    return _Solved(data, order, solution, chosen)


def _sort_values(values: Floats) -> tuple[Floats, AnyInt]:
    """Return the values sorted, and their original positions."""
    from aggopt.partition import (
        _radix_sort_kernels,  # imports numba: only when needed
    )

    require_memory(BYTES * len(values), f"sorting {len(values)} values")
    return _radix_sort_kernels.sort_values(values)


def _make_evidence(solved: _Solved, spent: float) -> Evidence:
    """Return the evidence for a certificate of the solution, on z-scores."""
    data = solved.data

    def objective() -> float:
        return _evaluate_objective(solved) * _compute_unit(data)

    def proven(value: float, budget: Budget) -> Certificate:
        unit = _compute_unit(data)
        status, bound = _derive_proof(solved, _evaluate_objective(solved))
        return Certificate(
            status,
            value,
            None if bound is None else bound * unit,
            model.MODEL.violation(data, model.point(data, solved.answer.reading)),
            solved.solver.name,
            spent,
            iterations=solved.answer.iterations,
            multipliers=_scale_multipliers(solved.answer.multipliers, unit),
        )

    return Evidence(solved.answer.status, objective, proven)


def _scale_multipliers(
    multipliers: Mapping[str, Floats] | None, unit: float
) -> dict[str, Floats] | None:
    """Return the multipliers times `unit`, or None if there are none."""
    if multipliers is None:
        return None
    return {name: unit * every for name, every in multipliers.items()}


def _evaluate_objective(solved: _Solved) -> float:
    """Return the cost of the solution's groups, in the model's units."""
    return model.objective(solved.data, model.point(solved.data, solved.answer.reading))


def _compute_unit(data: model.Data) -> float:
    """Return the factor from the model's costs to costs of z-scores."""
    spread = float(Scale.of(data.x[:, None]).spread[0])
    unit = data.unit / spread if spread else 1.0
    return float(unit ** (2 if data.cost == "sse" else 1))


def _derive_proof(solved: _Solved, objective: float) -> tuple[Status, float | None]:
    """Return the status and the lower bound on the cost, in the model's units."""
    if solved.solver.language is None:
        return solved.answer.status, objective  # it proves its path
    if solved.answer.bound is None:
        return _weaken_status(solved.answer), _bound_by_neighbours(
            solved.data, objective
        )
    bound = min(max(solved.answer.bound, 0.0), objective)  # no cost is below 0
    if is_gap_closed(objective, bound):
        return Status.OPTIMAL, bound
    return _weaken_status(solved.answer), bound


def _weaken_status(answer: Answer) -> Status:
    """Return LIMIT if the solver hit its time limit, else UNPROVEN."""
    return Status.LIMIT if answer.status is Status.LIMIT else Status.UNPROVEN


def _bound_by_neighbours(data: model.Data, objective: float) -> float | None:
    """Return a lower bound on squared errors, by neighbours; None for other costs."""
    if data.cost != "sse":
        return None
    values = (data.x - data.x[0]) / data.unit
    proven = prove_loss(values[:, None], data.k)
    return min(proven.require_uninterrupted(), objective)


class Costed(SolverSection):
    """Settings of the optimal partition of one attribute."""

    cost: Literal["sse", "sae", "maxdist"] = "sse"
    centroids: Literal["any", "integer"] = "any"


class Univariate(Grouping, Costed):
    """Settings of `aggopt.partition.univariate`, which groups one attribute."""

    method: Literal["univariate"]


PARTITIONER = Partitioner(
    name="univariate",
    when="one attribute: no groups lose less",
    rank=90,
    function=univariate,
    settings=Univariate,
    bound=Bound.OWN,
    takes=AttributeUse.ONE,
    model="univariate",
)
