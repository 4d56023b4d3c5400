"""Repair of partitions: t-close groups at the least loss found."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from aggopt.core.deadline import LONGEST, Deadline, Progress
from aggopt.core.types import Labels
from aggopt.core.validation import check_groups, is_whole_number, require_seed
from aggopt.errors import JobError, require_known
from aggopt.models.closeness_merge import MODEL
from aggopt.partition.block_partition import call_with_progress
from aggopt.partition.shared.neighbour_bound import read_budget
from aggopt.partition.shared.result import Partition
from aggopt.privacy.closeness import suppress_constant_warnings
from aggopt.privacy.models.t_closeness import Closeness
from aggopt.privacy.ordered_attribute import Ordered
from aggopt.repair._problem import (
    MethodResult,
    Problem,
    bound_loss,
    certify_repair,
    create_problem,
    raise_bound,
    require_rows,
    select_not_worse,
)
from aggopt.repair.registry import REPAIRS, Repair, RepairInput
from aggopt.solvers import Solver, Status, choose_solver
from aggopt.solvers.options import check_time_limit, require_limited

SEARCH = 0.6  # share of the time if a program follows
TRIAL = 2.0  # seconds in which four records are repaired, if HiGHS returns


class RepairOptions(NamedTuple):
    """Options of a method."""

    solver: Solver | None
    proposals: int
    seed: int


Solve = Callable[[Problem, Labels, RepairOptions, Deadline], MethodResult]


def list_closeness_methods() -> dict[str, Repair]:
    """Return the methods of repair that `closeness` offers, by name."""
    return {n: method for n, method in REPAIRS.items() if method.solve is not None}


def choose_union_solver(name: object) -> Solver:
    """Return the named solver for programs over unions; raise if it is unsuitable."""
    return choose_solver(name, *MODEL.kinds)


def make_search_clock(options: RepairOptions, clock: Deadline) -> Deadline:
    """Return the deadline of the search, which leaves time for an integer program."""
    if options.solver is None or clock.seconds is None:
        return clock
    return Deadline(SEARCH * clock.left, clock.progress)


def polish_by_program(
    problem: Problem,
    labels: Labels,
    options: RepairOptions,
    searching: Deadline,
    clock: Deadline,
) -> MethodResult:
    """Return the groups of a search, improved by an integer program if requested."""
    if options.solver is None:
        return MethodResult(labels, Status.LIMIT if searching.over else Status.LOCAL)
    from aggopt.repair._merge_ilp import exchange_records

    best, status = exchange_records(
        problem, labels, options.solver, replace(clock, progress=None)
    )
    ended = Status.LIMIT if searching.over else status
    return MethodResult(best, ended, polished=options.solver.name)


@cache
def compile_for(method: str, language: str | None) -> None:
    """Compile a method's kernels on four records, before the time limit starts.

    Modules that solve programs are imported, too, also for the `language` of the named
    solver: every method needs a solver for its bound.
    """
    languages = {"cvxpy", language or "cvxpy"}
    for name in languages:
        import_module(f"aggopt.solvers._{name}")
    ordered = Ordered.of([0, 0, 1, 1])
    problem = Problem(np.array([[0.0], [0.0], [1.0], [1.0]]), ordered, 2, 0.1)
    solve = list_closeness_methods()[method].solve
    if solve is not None:
        solve(
            problem, np.array([0, 0, 1, 1]), RepairOptions(None, 1, 0), Deadline(TRIAL)
        )


PROPOSALS = 10_000  # of annealing, for each record


def closeness(
    X: npt.ArrayLike,
    confidential: npt.ArrayLike,
    labels: npt.ArrayLike,
    k: int,
    t: float,
    *,
    method: str = "merge-ilp",
    solver: str | Solver | Callable[..., Any] | None = None,
    time_limit: float | None = None,
    seed: int = 0,
    bins: str = "distinct",
    proposals: int | None = None,
    bound: str | float = "quick",
    progress: Progress | None = None,
) -> Partition:
    """Return t-close groups of k or more at little loss, and their certificate.

    Parameters
    ----------
    X : (n, d)
        Quasi-identifiers in their own units: numbers, none missing.
    confidential : (n,)
        The confidential attribute: numbers, none missing, ordered by closeness.  A
        constant attribute is close in any groups, and a UserWarning reports that this
        protects nothing.
    labels : (n,)
        Initial groups, 0..m-1.  They need not satisfy k or t.
    k : int
        Records per group, at least; 1 <= k <= n.
    t : float
        Largest ordered EMD between a group and the table, 0 < t < 1, read as the
        decimal it is written as.
    method : "merge-ilp", "swap" or "sweep"
        "merge-ilp" merges the given groups, by an integer program over t-close unions
        (`aggopt.models.closeness_merge`); at least as good as `merge_until_close`.
        "swap" swaps and moves records while that loses less, beginning with the given
        groups, which are merged first if they are not t-close. "sweep", the strongest,
        makes groups of several sizes from strata of the confidential values, swaps and
        moves, and anneals the best.
    solver
        A name of `aggopt.solvers.SOLVERS` for MILP, or your own function.  "merge-ilp"
        needs one, and uses the first installed one by default.  After "swap" and
        "sweep", if a solver is named, an integer program exchanges records between many
        groups at once, from groups that differ in one record or two, until that gains
        nothing; the search then has three fifths of `time_limit`.
    time_limit
        Seconds after which the best groups so far are returned, with status LIMIT.  If
        omitted, 600 for methods with an integer program, which might never end:
        "merge-ilp", and the others with a solver; "swap" and "sweep" without one end on
        their own.  Compilation, in the first call, is not counted.  Three steps are
        never cut short: merging groups until they are t-close, which a result requires,
        and whose time grows as m^2 d; the search for neighbours once it has begun; and
        the bound, which takes about a second more, 13 at most.  The end of an integer
        program is enforced, at most three seconds late.
    seed : int
        Seed of the order of swaps, and of annealing: without a time limit, equal seeds
        give equal groups.  "merge-ilp" uses no random numbers.
    bins : "distinct" or "rank"
        "distinct" values certify t; "rank" counts as published experiments do.
    proposals : int, optional
        Random swaps and moves that "sweep" and "swap" try while annealing: 10 000 per
        record in "sweep" and none in "swap" when omitted.
    bound : "quick", "none" or seconds
        Budget of the bound for any groups of k, as in `aggopt.partition.loss_bound`.
    progress : callable, optional
        Progress callback: called with the completed share, from 0.0 to 1.0.

    Returns
    -------
    Partition
        Never worse than labels that satisfy k and t; if no better groups are found,
        these are returned, with status KEPT.  Certificate: objective, the sum of
        squares within groups, on z-scores, over all records and attributes, which is
        the sum of the certificates of `aggregate.mean`; bound, no t-close partition
        into groups of k or more loses less, the higher of the bounds of
        `aggopt.models.closeness_bound` and `aggopt.partition.loss_bound`; violation,
        the excess of the largest EMD over t, decided exactly: 0.0.  `merging`, for
        "merge-ilp": the certificate of the program that chose the unions.  Its bound is
        weaker: no partition into t-close unions of at most `widest` of the given groups
        loses less, but swapping records may.  OPTIMAL: no partition of that kind is
        better; LOCAL: none over the unions considered.  If not all unions of two groups
        could be considered (m > 1999, or time was up): no bound, and LOCAL at best,
        over unions of near groups.

    Raises
    ------
    TableError, JobError, InfeasibleInputError
        X, the confidential attribute, labels, k, t or an option is invalid.  Every t is
        feasible: one group of all records has EMD 0.
    SolverError
        The solver is missing.

    Notes
    -----
    EMDs are compared with t in whole numbers.  "swap" and "sweep" use the search of
    `aggopt.partition.local_search`; a record may join the groups of the 40 records
    nearest to it.  "merge-ilp" considers all unions of up to 5 groups for m = 36, 3 for
    m = 200, 2 for m = 2000; and, for more than 229, unions of up to 3 near groups, up
    to half a million.  HiGHS prices unions and chooses some of them, part by part; then
    the solver chooses among all unions that a better choice may contain.

    Examples
    --------
    >>> X, wage = [[0.0], [1.0], [2.0], [3.0]], [10, 40, 30, 20]
    >>> closeness(X, wage, [0, 0, 1, 1], k=2, t=0.2, method="swap").labels
    array([0, 0, 1, 1])
    """
    _require_options(method, seed, proposals)
    named_solver = None if solver is None else choose_union_solver(solver)
    if named_solver is not None:
        require_limited(named_solver, time_limit)
    problem = create_problem(X, confidential, k, t, bins)
    seconds = read_budget(bound, len(problem.Z), k)
    options = RepairOptions(
        named_solver, _read_proposals(proposals, method, len(problem.Z)), seed
    )
    initial_labels = check_groups(require_rows(labels), len(problem.Z))
    check_time_limit(time_limit)
    limit = _choose_limit(time_limit, method, named_solver)
    if limit is not None:
        compile_for(method, named_solver.language if named_solver else None)
    clock = Deadline(limit, progress)
    found_groups = _run_method(method, problem, initial_labels, options, clock)
    result = select_not_worse(problem, initial_labels, found_groups)
    proven = bound_loss(problem, clock.left, seconds)
    clock.report(1.0)
    return certify_repair(problem, result, proven, clock)


def _run_method(
    method: str,
    problem: Problem,
    labels: Labels,
    options: RepairOptions,
    clock: Deadline,
) -> MethodResult:
    """Return the result of the named method of repair."""
    solve: Solve = list_closeness_methods()[method].solve  # type: ignore[assignment]
    return solve(problem, labels, options, clock)


def _choose_limit(
    seconds: float | None, method: str, solver: Solver | None
) -> float | None:
    """Return the time limit in seconds, a default one if a program is solved."""
    endless = method == "merge-ilp" or solver is not None
    return LONGEST if seconds is None and endless else seconds


def _read_proposals(proposals: int | None, method: str, n: int) -> int:
    """Return the number of annealing's proposals, by default the method's."""
    if proposals is None:
        return PROPOSALS * n if method == "sweep" else 0
    if not is_whole_number(proposals) or proposals < 0:
        raise JobError(
            f"proposals = {proposals}.", fix="pass a whole number, 0 for none."
        )
    return int(proposals)


def _require_options(method: str, seed: int, proposals: int | None) -> None:
    """Raise if method, seed or proposals are invalid or do not fit together."""
    require_known("method of repair", method, tuple(list_closeness_methods()))
    require_seed(seed)
    if method == "merge-ilp" and (seed or proposals is not None):
        raise JobError(
            'The method "merge-ilp" uses no random numbers.',
            fix='leave seed and proposals out, or set method = "sweep".',
        )


def repair_by_closeness(
    name: str, repair_input: RepairInput, labels: Labels, settings: Any
) -> Partition:
    """Return the partition that `closeness` makes from labels (n,), by a method."""
    if repair_input.weights is not None:
        raise JobError(
            f'Repair "{name}" counts squares without weights, and records have some.',
            fix='write repair = "search" under [privacy], or leave the weights out.',
        )
    (required,) = (
        requirement
        for requirement in repair_input.requirements
        if isinstance(requirement, Closeness)
    )
    with suppress_constant_warnings():
        partition = call_with_progress(
            closeness,
            repair_input.X,
            required.distance.place,
            labels,
            repair_input.k,
            required.t,
            method=name,
            solver=settings.solver,
            time_limit=settings.time_limit,
            bound=read_budget(
                repair_input.budget.bound,
                len(labels),
                repair_input.k,
                repair_input.budget.share,
            ),
            progress=repair_input.progress,
        )
    proof = raise_bound(
        partition.certificate, [repair_input.bound], repair_input.X.size
    )
    return Partition(partition.labels, proof, merging=partition.merging)
