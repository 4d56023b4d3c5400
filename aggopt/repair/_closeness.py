"""Partitions repaired: made t-close, at the least loss that is found."""

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from aggopt.arrays import Labels, group_size, groups, is_whole, matrix
from aggopt.clock import Clock
from aggopt.errors import JobError, SolverError, TableError, require_known
from aggopt.models import closeness_merge as merge_model
from aggopt.partition._pool import Progress
from aggopt.privacy._ordered import Ordered, threshold
from aggopt.repair._bound import least_loss
from aggopt.repair._task import Task
from aggopt.scale import Scale
from aggopt.solvers import Certificate, Status, choose
from aggopt.solvers._options import check_time_limit

METHODS = ("merge-ilp", "swap", "sweep")
PROPOSALS = 6000  # of annealing, for each record


@dataclass(frozen=True)
class Repaired:
    """Groups that are t-close, and what is proven of them.

    Attributes
    ----------
    labels : (n,)
        Group of each record, 0..m-1.
    certificate
        objective: the sum of squares within groups, on z-scores, over all records and
        attributes; the sum of the certificates of `aggregate.mean`.  bound: no
        t-close partition of any kind loses less (`aggopt.models.closeness_bound`).
        violation: by how much the largest EMD exceeds t, decided exactly: 0.0.
    merging
        Of "merge-ilp": the certificate of the program that chose the unions.  Its
        bound is about less: no partition into t-close unions of the groups given, of
        `widest` of them at most, loses less.  Swapping records may.  OPTIMAL: no such
        partition is better; LOCAL: none over the unions that were taken in.
    """

    labels: Labels = field(repr=False)
    certificate: Certificate
    merging: Certificate | None = None


class _Found(NamedTuple):
    labels: Labels
    status: Status
    merging: Certificate | None = None


class _How(NamedTuple):
    solver: str | None
    proposals: int
    seed: int


def closeness(
    X: npt.ArrayLike,
    confidential: npt.ArrayLike,
    labels: npt.ArrayLike,
    k: int,
    t: float,
    *,
    method: str = "merge-ilp",
    solver: str | None = None,
    seconds: float | None = None,
    seed: int = 0,
    bins: str = "distinct",
    proposals: int | None = None,
    progress: Progress | None = None,
) -> Repaired:
    """Return t-close groups of k records or more, that lose little, with a certificate.

    Parameters
    ----------
    X : (n, d)
        Quasi-identifiers in their own units: numbers, none missing.
    confidential : (n,)
        The confidential attribute: numbers, in the order in which they are close.
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
        Of "merge-ilp": a name of `aggopt.solvers.SOLVERS` that takes MILP.
    seconds
        Time after which the best so far is returned, with status LIMIT; none by
        default.  The bound takes about a second more, the first call some for
        compilation.  The end of an integer program is enforced.
    seed : int
        Of the order of swaps, and of annealing: without a time limit the same seed
        gives the same groups.  "merge-ilp" draws nothing.
    bins : "distinct" or "rank"
        "distinct" values certify t; "rank" counts as experiments in print do.
    proposals : int, optional
        Random swaps and moves that "sweep" and "swap" try while annealing: 6000 per
        record in "sweep" and none in "swap" when omitted.
    progress : callable, optional
        Told the share of the work that is done, from 0.0 to 1.0.

    Returns
    -------
    Repaired
        Never worse than labels that hold k and t; where none better is found, they
        are returned, with status KEPT.

    Raises
    ------
    TableError, JobError, InfeasibleInputError
        X, the confidential attribute, labels, k, t or an option cannot be used.  No t
        is infeasible: one group of all records has EMD 0.
    SolverError
        The solver is missing.

    Notes
    -----
    EMDs are compared with t in whole numbers.  Up to 3000 records each may change
    with any; in larger tables with those of the 24 nearest groups.  "merge-ilp" looks
    at all unions of up to 5 groups for m = 36, 3 for m = 200, 2 for m = 2000.

    Examples
    --------
    >>> X, wage = [[0.0], [1.0], [2.0], [3.0]], [10, 40, 30, 20]
    >>> closeness(X, wage, [0, 0, 1, 1], k=2, t=0.2, method="swap").labels
    array([0, 0, 1, 1])
    """
    how = _How(solver, _proposals(proposals, method, len(np.asarray(X))), seed)
    task = _task(X, confidential, k, t, bins)
    given = groups(labels, len(task.Z))
    _require_of_method(method, how, proposals)
    check_time_limit(seconds)
    clock = Clock(seconds, progress)
    found = _not_worse(task, given, _SOLVE[method](task, given, how, clock))
    bound = least_loss(task)
    clock.tell(1.0)
    return Repaired(
        _renumbered(found.labels), _certified(task, found, bound, clock), found.merging
    )


def _task(
    X: npt.ArrayLike, confidential: npt.ArrayLike, k: int, t: float, bins: str
) -> Task:
    records = matrix(X)
    ordered = Ordered.of(confidential, bins)
    if ordered.n != len(records):
        raise TableError(
            f"There are {ordered.n} confidential values and {len(records)} records.",
            fix="pass one confidential value per record.",
        )
    k = group_size(k, len(records))
    threshold(t)
    scaled = np.ascontiguousarray(Scale.of(records).standardise(records))
    return Task(scaled, ordered, k, t)


def _proposals(asked: int | None, method: str, n: int) -> int:
    if asked is None:
        return PROPOSALS * n if method == "sweep" else 0
    if not is_whole(asked) or asked < 0:
        raise JobError(f"proposals = {asked}.", fix="pass a whole number, 0 for none.")
    return int(asked)


def _require_of_method(method: str, how: _How, proposals: int | None) -> None:
    require_known("method of repair", method, METHODS)
    if not is_whole(how.seed) or how.seed < 0:
        raise JobError(f"seed = {how.seed}.", fix="pass a whole number from 0 up.")
    if method != "merge-ilp" and how.solver is not None:
        raise JobError(
            f"The method {method!r} takes no solver.",
            fix='leave it out, or take method = "merge-ilp".',
        )
    if method == "merge-ilp" and (how.seed or proposals is not None):
        raise JobError(
            'The method "merge-ilp" draws nothing at random.',
            fix='leave seed and proposals out, or take method = "sweep".',
        )


def _by_unions(task: Task, given: Labels, how: _How, clock: Clock) -> _Found:
    solver = choose(how.solver, merge_model.NAME, merge_model.CLASS)
    from aggopt.repair._merge import made_close
    from aggopt.repair._merge_ilp import chosen_unions

    start = made_close(task, given)
    chosen = chosen_unions(task, given, start, solver, clock)
    status = chosen.certificate.status
    # the best of all unions is not the best of all partitions
    ended = Status.LOCAL if status is Status.OPTIMAL else status
    return _Found(chosen.labels, ended, chosen.certificate)


def _by_swaps(task: Task, given: Labels, how: _How, clock: Clock) -> _Found:
    from aggopt.repair._merge import made_close
    from aggopt.repair._swap import Annealing, annealed, improved

    rng = np.random.default_rng(how.seed)
    start = given if task.holds(given) else made_close(task, given)
    best = improved(task, start, rng, clock)
    if how.proposals:
        cooled = annealed(task, best, Annealing(how.proposals), rng, clock)
        cooled = improved(task, cooled, rng, clock)
        best = min(best, cooled, key=task.sse)
    return _Found(best, Status.LIMIT if clock.over else Status.LOCAL)


def _by_sweep(task: Task, given: Labels, how: _How, clock: Clock) -> _Found:
    from aggopt.repair._merge import made_close
    from aggopt.repair._swap import Annealing
    from aggopt.repair._sweep import swept

    rng = np.random.default_rng(how.seed)
    start = given if task.holds(given) else None
    best = swept(task, start, Annealing(how.proposals), rng, clock)
    if best is None:
        best = made_close(task, given)
    return _Found(best, Status.LIMIT if clock.over else Status.LOCAL)


_SOLVE = {"merge-ilp": _by_unions, "swap": _by_swaps, "sweep": _by_sweep}


def _not_worse(task: Task, given: Labels, found: _Found) -> _Found:
    """Return the labels given where they hold, and nothing better was found."""
    if task.holds(given) and task.sse(given) <= task.sse(found.labels):
        return found._replace(labels=given, status=Status.KEPT)
    if not task.holds(found.labels):
        raise SolverError(
            "The groups that were found do not keep k and t.",
            fix="name another solver or method, and report this.",
        )
    return found


def _renumbered(labels: Labels) -> Labels:
    """Return labels 0..m-1 in the order of the groups' first records."""
    _, first, group = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.intp)
    rank[np.argsort(first)] = np.arange(len(first))
    return np.asarray(rank[group])


def _certified(task: Task, found: _Found, bound: float, clock: Clock) -> Certificate:
    objective = task.sse(found.labels)
    by = found.merging.solver if found.merging else "swaps and moves"
    certificate = Certificate(
        found.status,
        objective,
        min(bound, objective),
        task.violation(found.labels),
        by,
        clock.spent,
    )
    if objective - bound <= 1e-9 * max(1.0, objective):
        return replace(certificate, status=Status.OPTIMAL)
    return certificate
