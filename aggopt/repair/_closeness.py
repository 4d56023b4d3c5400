"""Partitions repaired: made t-close, at the least loss that is found."""

from collections.abc import Callable
from typing import Any

import numpy.typing as npt

from aggopt.core.deadline import LONGEST, Deadline
from aggopt.core.progress import Progress
from aggopt.core.renamed import renamed
from aggopt.core.types import Labels
from aggopt.core.validation import groups, is_whole, require_seed
from aggopt.errors import JobError, require_known
from aggopt.partition._shared.result import Partition
from aggopt.repair._bound import least_loss
from aggopt.repair._close import How, Solve, chosen_solver, compile_for, methods
from aggopt.repair._problem import Problem, problem_of, rows
from aggopt.repair._repaired import Found, not_worse, repaired
from aggopt.solvers import Solver
from aggopt.solvers._options import check_time_limit, require_limited

PROPOSALS = 10_000  # of annealing, for each record


@renamed(seconds="time_limit")
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
    progress: Progress | None = None,
) -> Partition:
    """Return t-close groups of k records or more, that lose little, with a certificate.

    Parameters
    ----------
    X : (n, d)
        Quasi-identifiers in their own units: numbers, none missing.
    confidential : (n,)
        The confidential attribute: numbers, none missing, in the order in which they
        are close.  One that is constant is close in any groups, and a UserWarning says
        that this protects nothing.
    labels : (n,)
        Groups to set out from, 0..m-1.  They need not hold k or t.
    k : int
        Records per group, at least; 1 <= k <= n.
    t : float
        Largest ordered EMD between a group and the table, 0 < t < 1, read as the
        decimal it is written as.
    method : "merge-ilp", "swap" or "sweep"
        "merge-ilp" unites the groups given, by an integer program over t-close unions
        (`aggopt.models.closeness_merge`); at least as good as `merge_until_close`.
        "swap" swaps and moves records while that loses less, from the groups given,
        which are merged first where they are not t-close.
        "sweep", the strongest, makes groups of several sizes from strata of the
        confidential values, swaps and moves, and anneals the best.
    solver
        A name of `aggopt.solvers.SOLVERS` that takes MILP, or a function of yours.
        "merge-ilp" needs one, and takes the first that is installed.  After "swap" and
        "sweep", if one is named, an integer program exchanges records between many
        groups at once, from groups that differ in one record or two, until that brings
        nothing; of `time_limit`, the search then has three fifths.
    time_limit
        Seconds after which the best so far is returned, with status LIMIT.  If omitted,
        600 for what an integer program does, which might never end: "merge-ilp", and
        the others with a solver; "swap" and "sweep" without one end by themselves.
        Compilation, in the first call, is before.  Beside it, and not cut short: groups
        that are not t-close are merged until they are, which is needed for an answer,
        and grows as m^2 d; the neighbours of a search that has begun are looked up; and
        the bound takes about a second more, 13 at most.
        The end of an integer program is enforced, at most three seconds late.
    seed : int
        Of the order of swaps, and of annealing: without a time limit the same seed
        gives the same groups.  "merge-ilp" draws nothing.
    bins : "distinct" or "rank"
        "distinct" values certify t; "rank" counts as experiments in print do.
    proposals : int, optional
        Random swaps and moves that "sweep" and "swap" try while annealing: 10 000 per
        record in "sweep" and none in "swap" when omitted.
    progress : callable, optional
        Progress callback: called with the share that is done, from 0.0 to 1.0.

    Returns
    -------
    Partition
        Never worse than labels that hold k and t; where none better is found, they
        are returned, with status KEPT.  Of its certificate: objective, the sum of
        squares within groups, on z-scores, over all records and attributes, which is
        the sum of the certificates of `aggregate.mean`; bound, no t-close partition
        into groups of k or more loses less, the higher of what
        `aggopt.models.closeness_bound` and `aggopt.partition.loss_bound` prove;
        violation, by how much the largest EMD exceeds t, decided exactly: 0.0.

        `merging`, of "merge-ilp": the certificate of the program that chose the unions.
        Its bound is about less: no partition into t-close unions of the groups given,
        of `widest` of them at most, loses less.  Swapping records may.  OPTIMAL: no
        such partition is better; LOCAL: none over the unions that were taken in.  Where
        not all of two groups could be looked at (m > 1999, or time was up): no bound,
        and LOCAL at best, over unions of groups near each other.

    Raises
    ------
    TableError, JobError, InfeasibleInputError
        X, the confidential attribute, labels, k, t or an option cannot be used.  No t
        is infeasible: one group of all records has EMD 0.
    SolverError
        The solver is missing.

    Notes
    -----
    EMDs are compared with t in whole numbers.  "swap" and "sweep" are the search of
    `aggopt.partition.local_search`; a record may change with the groups of the 40
    records nearest to it.  "merge-ilp" looks
    at all unions of up to 5 groups for m = 36, 3 for m = 200, 2 for m = 2000; and, for
    more than 229, at those of up to 3 that are near each other, to half a million.
    HiGHS prices unions and chooses some of them, part by part; the solver named then
    has the last word over all that a better choice may hold.

    Examples
    --------
    >>> X, wage = [[0.0], [1.0], [2.0], [3.0]], [10, 40, 30, 20]
    >>> closeness(X, wage, [0, 0, 1, 1], k=2, t=0.2, method="swap").labels
    array([0, 0, 1, 1])
    """
    _require_of_method(method, seed, proposals)
    named = None if solver is None else chosen_solver(solver)
    if named is not None:
        require_limited(named, time_limit)
    problem = problem_of(X, confidential, k, t, bins)
    how = How(named, _proposals(proposals, method, len(problem.Z)), seed)
    given = groups(rows(labels), len(problem.Z))
    check_time_limit(time_limit)
    limit = _limit(time_limit, method, named)
    if limit is not None:
        compile_for(method, named.language if named else None)
    clock = Deadline(limit, progress)
    made = _made(method, problem, given, how, clock)
    found = not_worse(problem, given, made)
    bound = least_loss(problem, clock.left)
    clock.report(1.0)
    return repaired(problem, found, bound, clock)


def _made(
    method: str, problem: Problem, given: Labels, how: How, clock: Deadline
) -> Found:
    solve: Solve = methods()[method].solve  # type: ignore[assignment]
    return solve(problem, given, how, clock)


def _limit(seconds: float | None, method: str, named: Solver | None) -> float | None:
    """Return the time there is: without an integer program the search ends itself."""
    endless = method == "merge-ilp" or named is not None
    return LONGEST if seconds is None and endless else seconds


def _proposals(asked: int | None, method: str, n: int) -> int:
    if asked is None:
        return PROPOSALS * n if method == "sweep" else 0
    if not is_whole(asked) or asked < 0:
        raise JobError(f"proposals = {asked}.", fix="pass a whole number, 0 for none.")
    return int(asked)


def _require_of_method(method: str, seed: int, proposals: int | None) -> None:
    require_known("method of repair", method, tuple(methods()))
    require_seed(seed)
    if method == "merge-ilp" and (seed or proposals is not None):
        raise JobError(
            'The method "merge-ilp" draws nothing at random.',
            fix='leave seed and proposals out, or take method = "sweep".',
        )
