"""Partitions that are provably near-optimal, with their certificates."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from math import inf
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field, StrictInt

from aggopt.core.deadline import (
    LONGEST,
    Deadline,
    Progress,
    progress_part,
    require_time_limit,
    throttle,
)
from aggopt.core.memory import require_memory
from aggopt.core.record_weights import compute_sse
from aggopt.core.section import SolverName
from aggopt.core.validation import (
    Floats,
    Labels,
    check_group_size,
    is_number,
    require_seed,
)
from aggopt.errors import JobError
from aggopt.models.set_partition import MODEL
from aggopt.partition._optimal.incumbent import (
    PROVEN,
    SMALL,
    Incumbent,
    ScaledIncumbent,
)
from aggopt.partition.registry import Bound, Partitioner
from aggopt.partition.shared.evidence import make_certificate
from aggopt.partition.shared.neighbour_bound import read_budget
from aggopt.partition.shared.restricted_master import require_highs
from aggopt.partition.shared.result import Partition
from aggopt.partition.shared.scaling import (
    Weighing,
    rescale_squares,
    scale_to_unit,
    scale_with_weights,
)
from aggopt.partition.shared.settings import Grouping, Seconds
from aggopt.solvers import Solver, Status, choose_solver
from aggopt.solvers.options import require_limited
from aggopt.solvers.process_pool import NoAnswer
from aggopt.solvers.separate_process import find_status_without_answer

LARGE = 10_000  # records above which no linear program is solved
NEIGHBOURS = 20
PERTURBATIONS = 10  # per record, in larger tables without a time limit
BYTES = 40  # for each pair of records
WEIGHED = 16  # more for each pair, if records have weights
PREPARED = 3e-7  # seconds for each pair of records, below which pricing does not begin
FEW_SECONDS, MANY_SECONDS = 0.05, 0.2  # of the time, for the pair program: by k
TIMES = 20  # as long as its quick budget, at most
PART = 0.05  # of the progress


def optimal(
    X: npt.ArrayLike,
    k: int,
    *,
    solver: str | Solver | Callable[..., Any] | None = None,
    time_limit: float | None = None,
    gap_tol: float = PROVEN,
    seed: int = 0,
    scale: str = "z",
    weights: npt.ArrayLike | None = None,
    progress: Progress | None = None,
) -> Partition:
    """Return groups of least or nearly least loss, and a lower bound on any loss.

    The model is `aggopt.models.set_partition`: set partitioning, solved by column
    generation.  Local search gives a partition, and pairs of records a bound; a linear
    program prices groups, until no group of k to 2k - 1 records pays, which proves a
    larger bound; cuts raise it; integer programs choose among the remaining groups.

    Parameters
    ----------
    X : (n, d)
        Quasi-identifiers in their own units: numbers, none missing.
    k : int
        Records per group, at least; 1 <= k <= n.
    solver
        Solver of the integer programs: a name of `aggopt.solvers.SOLVERS` for MILP, or
        your own function; the first installed one when omitted.  HiGHS solves the
        linear programs.  Up to 17 records need no solver: without a name, all groups
        are enumerated.
    time_limit
        Seconds after which the best partition so far is returned, with status LIMIT; at
        once if 0: MDAV's groups, and their neighbour bound.  600 when omitted: if k is
        10 or more, or large relative to the number of records, the search might never
        end.  inf is refused; set the longest time that you would wait.  A thousand
        records deserve whole minutes.  Compilation, on the first call, is not counted.
    gap_tol
        Stop when (objective - bound) / objective is at most this, from 0 to below 1.
    seed : int
        Seed of the local searches.  Equal seeds give equal groups if no time limit
        intervened: for tables of up to 200 records that are solved long before it.
    scale : "z" or "none"
        As in `mdav`: z-scores, or X unchanged.
    weights : (n,), optional
        Sampling weights, above 0, of any scale: groups minimise the weighted sum of
        squares from weighted means, and z-scores use weighted moments.  k counts
        records.
    progress : callable, optional
        Progress callback: called with the share of the work, or of the time, done.

    Returns
    -------
    Partition
        labels (n,), numbered 0..m-1 in the order of the groups' first records, and a
        certificate.  objective: the sum of squares within groups, on z-scores (in units
        of X with scale="none"), over all records and attributes, on the scale of the
        weights, if any.  bound: no partition into groups of k or more loses less.
        Status OPTIMAL only if that is proven, up to 1e-6 of the objective; GAP if
        gap_tol ended the search: objective - bound is at most that share of the
        objective; LIMIT if time or size did, or without a bound if the objective
        overflows; INTERRUPTED after Ctrl-C, with the best so far; UNANSWERED, with the
        best so far, if HiGHS or the solver did not return and was ended 2.5 seconds
        after its limit; FAILED, likewise, if the process of HiGHS ended.

    Raises
    ------
    InfeasibleInputError
        k exceeds n, or the available memory is insufficient.
    JobError
        k, time_limit, gap_tol or seed is invalid; an unknown scale or solver, or a
        solver without integer programs.
    TableError
        X is not a matrix of finite numbers; weights are not one number above 0 for
        each record, or span more than six orders of magnitude.
    SolverError
        The solver is not installed; the message contains the command to install it.

    Notes
    -----
    On 1000 records: proven optimal, or within 0.2 %, for k = 3 to 5, in minutes.  For k
    of 10 and more the bound is that of pairs of records, as in `loss_bound`, 90 to 98 %
    of the loss, as too many groups could pay.  For tables of more than 10 000 records
    the result is that of a local search, which the certificate names, with that bound.

    Time grows steeply with k and with the dimension of the data; memory as n^2.  With
    weights that differ much bounds are weaker, and pricing takes longer.

    Disclosure: least loss is no better protection than any partition with the same k.

    Source: Aloise, Hansen, Rocha and Santi, Journal of Global Optimization, 2014, for
    column generation; the bounds of pricing are this package's.

    Examples
    --------
    >>> result = optimal([[0.0], [12.0], [2.0], [11.0], [3.0], [10.0]], k=3)
    >>> result.labels, result.certificate.status.value
    (array([0, 1, 0, 1, 0, 1]), 'optimal')
    """
    records, weighing = scale_with_weights(X, scale, weights)
    k = check_group_size(k, len(records))
    perturbations = PERTURBATIONS if time_limit is None else inf
    by = choose_solver(solver, *MODEL.kinds)
    require_limited(by, time_limit)
    search_options = _OptimalOptions(
        by, seed, throttle(progress), perturbations, every=solver is None
    )
    require_highs("GroupColumns")
    require_time_limit(time_limit)
    require_seed(seed)
    _require_gap(gap_tol)
    if k == 1 or len(records) < 2 * k:
        return _make_only_partition(records, k, weighing, Deadline(time_limit))
    load_kernels()
    clock = Deadline(LONGEST if time_limit is None else time_limit)
    work = ScaledIncumbent.of(records, k, gap_tol, weighing)
    return work.result(
        _run_search(work, search_options, clock), search_options.solver.name, clock
    )


@cache
def load_kernels() -> None:
    """Import the compiled modules, so that a time limit excludes compilation."""
    for name in (
        "aggopt.partition._optimal.pricing_kernels",
        "aggopt.partition._optimal.schedule",
        "aggopt.algorithms.pair_bound",
        "aggopt.partition._local_search.search_kernels",
    ):
        import_module(name)


def _require_gap(gap: object) -> None:
    """Raise a JobError unless the gap is a number from 0 to below 1."""
    if not is_number(gap) or not 0 <= gap < 1:  # type: ignore[operator]
        raise JobError(
            f"gap_tol = {gap}.", fix="pass a number from 0 to 1, such as 0.01."
        )


@dataclass(frozen=True)
class _OptimalOptions:
    solver: Solver
    seed: int
    report: Progress
    perturbations: float
    every: bool  # whether all partitions may be enumerated, without a solver


def _make_only_partition(
    records: Floats, k: int, weighing: Weighing, clock: Deadline
) -> Partition:
    """Return the only possible partition: one group, or one for each record."""
    n = len(records)
    labels = np.arange(n) if k == 1 else np.zeros(n, np.intp)
    unit_records, exponent = scale_to_unit(records)
    sse = (
        rescale_squares(compute_sse(unit_records, labels, weighing.values), exponent)
        * weighing.unit
    )
    by = "nothing to choose"
    spent = clock.spent
    certificate = make_certificate(True, Status.UNPROVEN, sse, sse, by, spent)
    return Partition(labels, certificate)


def _run_search(
    work: ScaledIncumbent, options: _OptimalOptions, clock: Deadline
) -> Status:
    """Improve and bound the incumbent; return the status that the search ends with."""
    try:
        if not (clock.over or work.best.closed):
            _improve_incumbent(work, options, clock)
        options.report(1.0)
    except KeyboardInterrupt:
        return Status.INTERRUPTED
    except NoAnswer as error:  # of the linear program
        work.best.by += ", then HiGHS"
        return find_status_without_answer(error)
    if work.best.closed and not work.best.proven:
        return Status.GAP
    if work.best.unanswered:
        return Status.UNANSWERED
    return Status.LIMIT if clock.over else Status.UNPROVEN


def _improve_incumbent(
    work: ScaledIncumbent, options: _OptimalOptions, clock: Deadline
) -> None:
    """Improve and bound the incumbent by methods chosen by size and time limit."""
    from aggopt.partition._optimal.schedule import OptimalProblem, run_schedule
    from aggopt.partition._optimal.search_tree_kernels import MOST, estimate_time
    from aggopt.partition.neighbours import find_neighbours

    n = len(work.records)
    pairs = len(work.records) ** 2
    start = work.best.labels
    if options.every and n <= MOST and estimate_time(n) < clock.left:
        _enumerate_all(work.best)
        if work.refine():
            _enumerate_all(work.best)
        return
    near = find_neighbours(work.best.Z, NEIGHBOURS)
    if n > LARGE or clock.left < PREPARED * pairs:
        _bound_by_pairs(work, options, clock)
        _search_locally(work.best, near, options.perturbations, options, clock)
        return
    pair_bytes = BYTES if work.best.weights is None else BYTES + WEIGHED
    require_memory(pair_bytes * pairs, f"pricing groups of {n} records")
    _search_locally(work.best, near, 1, options, clock)
    _bound_by_pairs(work, options, clock)
    while True:
        if work.refine():
            near = find_neighbours(work.best.Z, NEIGHBOURS)
            start = work.best.labels
        work.magnify()
        best = work.best
        if best.closed or clock.over:
            return
        task = OptimalProblem(
            best.Z,
            best.k,
            near,
            start,
            options.solver,
            options.seed,
            best.weights,
            work.prices,
        )
        run_schedule(task, best, clock, options.report)
        if not best.outgrown:
            return
        start = best.labels


def _bound_by_pairs(
    work: ScaledIncumbent, options: _OptimalOptions, clock: Deadline
) -> None:
    """Raise the bound by the pair program, in a share of the time that depends on k."""
    quick = read_budget("quick", len(work.records), work.best.k)
    seconds = MANY_SECONDS * clock.left
    if quick > seconds:
        return
    within = FEW_SECONDS * clock.left if work.best.k <= SMALL else seconds
    work.bound_by_pairs(
        max(quick, min(TIMES * quick, within)),
        Deadline(max(quick, within)),
        progress_part(options.report, 0.0, PART),
    )


def _enumerate_all(best: Incumbent) -> None:
    """Make the best of all partitions the incumbent."""
    from aggopt.partition._optimal.search_tree_kernels import find_best_partition

    best.take(find_best_partition(best.Z, best.k, best.weights))


def _search_locally(
    best: Incumbent,
    near: Labels,
    perturbations: float,
    options: _OptimalOptions,
    clock: Deadline,
) -> None:
    """Improve the incumbent partition by local search."""
    from aggopt.partition._local_search.search import Collection, improve_labels
    from aggopt.partition._local_search.setup import create_weights

    # with a pool, as later searches have one: the kernel is compiled once
    pool = Collection(len(best.Z)) if perturbations < inf else None
    labels = improve_labels(
        best.Z,
        best.labels,
        best.k,
        near,
        perturbations=perturbations,
        seed=options.seed,
        clock=clock,
        pool=pool,
        weights=create_weights(best.weights, len(best.Z), best.k),
    )
    best.offer(np.asarray(labels, np.intp))


class Optimal(Grouping):
    """Settings of `aggopt.partition.optimal`."""

    method: Literal["optimal"]
    solver: SolverName = None
    time_limit: Seconds | None = None
    gap_tol: float = Field(default=PROVEN, ge=0, lt=1, allow_inf_nan=False, strict=True)
    seed: StrictInt = Field(default=0, ge=0)


PARTITIONER = Partitioner(
    name="optimal",
    when="least loss, with proof or a proven gap, up to some thousand records",
    rank=20,
    function=optimal,
    settings=Optimal,
    bound=Bound.OWN,
    model="set_partition",
    weighs=True,
)
