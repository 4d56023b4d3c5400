"""Local search: partitions improved change by change, for as long as one likes."""

import warnings
from collections.abc import Callable
from importlib import import_module
from math import inf
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from aggopt.arrays import Floats, Labels, group_size, groups, numbered, require_seed
from aggopt.clock import Clock, require_progress, require_seconds
from aggopt.errors import JobError, require_known
from aggopt.partition import _pool
from aggopt.partition._interrupt import in_any_case
from aggopt.partition._loss import loss
from aggopt.partition._loss_bound import least_loss, squared_back, within_one
from aggopt.partition._pool import Progress
from aggopt.partition._search.near import EXACT, compile_forest, neighbours
from aggopt.partition._search.search import COOLED, KICKS, Search, compile_all
from aggopt.partition._search.split import split
from aggopt.partition._univariate import Partition
from aggopt.solvers import Certificate, Status

EFFORTS = {"fast": 1, "default": 10, "best": 100}  # kicks for each record
STARTS = ("cbfs", "mdav", "mhm", "projection", "vmdav")
NEAR = 12  # records, the nearest, whose groups a record may change with
ANNEALED = 8  # smallest k for which annealing pays
PROPOSALS = 3000  # of annealing, for each record
SHARE = 0.4  # of the time, that annealing may take


class _How(NamedTuple):
    start: str | npt.ArrayLike
    seconds: float | None
    effort: str
    seed: int
    scale: str


class _Found(NamedTuple):
    records: Floats
    exponent: int
    k: int
    labels: Labels
    status: Status


def local_search(
    X: npt.ArrayLike,
    k: int,
    *,
    start: str | npt.ArrayLike = "mdav",
    seconds: float | None = None,
    effort: str = "default",
    seed: int = 0,
    scale: str = "z",
    progress: Progress | None = None,
) -> Labels:
    """Return labels (n,): groups of k to 2k - 1 records that no simple change improves.

    From the start on, records move to groups near by, change places with records there,
    or push one on to a third group, as long as the sum of squares within groups falls.
    Then one small part after the other is shaken (records exchanged at random, a group
    dissolved, or one made) and improved again.  What came out worse is undone, at
    first not always, then ever more strictly, by how close records are there; for k
    of 8 or more random changes under falling heat come first.

    Parameters
    ----------
    X : (n, d)
        Quasi-identifiers in their own units: numbers, none missing.
    k : int
        Records per group, 1 <= k <= n.  With n < 2k all records are one group.
    start : "mdav", "cbfs", "vmdav", "mhm", "projection", or (n,) ints
        The partition to set out from: a method's, or labels 0..m-1 of groups of k or
        more; groups of 2k or more are split.
    seconds : float, optional
        Time for the search, which goes on until then; the best so far is returned.
        The start and the first call's compilation come before and are not counted.
        With 0, or too little to find neighbours, the start is returned.
    effort : "fast", "default" or "best"
        Without `seconds`: 1, 10 or 100 shakes per record.  A few milliseconds for each
        record with "best", a hundredth of that with "fast".
    seed : int
        Of the shakes.  Without `seconds` the same seed gives the same groups.
    scale : "z" or "none"
        "z" measures distances on z-scores (population standard deviation), where a
        constant attribute weighs nothing.  "none" takes X as it is: for attributes
        that you have weighted yourself.
    progress : callable, optional
        Told the share of the work that is done, from 0.0 to 1.0, a few dozen times
        at most.

    Returns
    -------
    (n,) ints
        Group of each record, numbered 0..m-1 in the order of the groups' first records.
        They never lose more than those of the start; where none are better, they are
        the start's.

    Raises
    ------
    InfeasibleInputError
        k exceeds n.
    JobError
        k is below 1 or not a whole number; an unknown start, effort or scale
        (UnknownNameError); labels to start from that are none, or have a group of
        fewer than k; negative seconds, or seconds beside an effort; a seed below 0.
    TableError
        X is not a matrix of finite numbers.

    Warns
    -----
    UserWarning
        After Ctrl-C, which ends the search: the best groups so far are returned.  While
        there is no start yet, KeyboardInterrupt is raised.

    Notes
    -----
    A change costs time in proportion to d; memory grows as n d.  Nearest neighbours
    are exact for up to 5000 records.  For more they are those that a few trees of
    random splits find, on all cores; the groups do not depend on how many those are.
    The search itself has one thread, so that `blocked` is faster from some ten
    thousand records on.

    Weaknesses: how far the result is from the best of all partitions is not known; for
    a few thousand records `optimal` proves it.  No confidential attribute is looked
    at: see `aggopt.repair.closeness`.

    Source: iterated local search as in Lourenco, Martin and Stuetzle, Handbook of
    Metaheuristics, 2003; changes of one, two or three groups are usual in clustering.

    Examples
    --------
    >>> local_search([[0.0], [12.0], [2.0], [11.0], [3.0], [10.0]], k=3)
    array([0, 1, 0, 1, 0, 1])
    """
    how = _How(start, seconds, effort, seed, scale)
    found = _found(X, k, how, _told(progress))
    if found.status is Status.INTERRUPTED:
        warnings.warn(
            "The search was interrupted; these are its best groups so far.",
            stacklevel=2,
        )
    return found.labels


def local_search_certified(
    X: npt.ArrayLike,
    k: int,
    *,
    start: str | npt.ArrayLike = "mdav",
    seconds: float | None = None,
    effort: str = "default",
    seed: int = 0,
    scale: str = "z",
    progress: Progress | None = None,
) -> Partition:
    """Return what `local_search` returns, with its certificate.

    Arguments and errors are those of `local_search`; no warning is given.  The
    objective is the sum of squares within groups over all records and attributes, of
    z-scores (of X itself with scale="none").  The bound is that of `loss_bound`; it
    takes time of its own, which `seconds` does not limit, and Ctrl-C then leaves it
    out.  The status is

    - OPTIMAL where the objective is the bound;
    - KEPT where nothing better than the start was found;
    - LIMIT where time ended the search, INTERRUPTED where Ctrl-C did;
    - LOCAL else.

    Examples
    --------
    >>> X, start = [[0.0], [1.0], [2.0], [9.0], [10.0]], [0, 0, 1, 1, 1]
    >>> found = local_search_certified(X, k=2, start=start)
    >>> found.labels, found.certificate.status.value
    (array([0, 0, 0, 1, 1]), 'locally optimal')
    """
    how = _How(start, seconds, effort, seed, scale)
    clock = _told(progress)
    found = _found(X, k, how, clock)
    objective, _ = in_any_case(lambda: loss(found.records, found.labels))
    try:
        bound = min(least_loss(found.records, found.k), objective)
    except KeyboardInterrupt:  # who cannot wait for a proof still has the groups
        bound = None
    tight = bound is not None and objective - bound <= 1e-9 * objective
    certificate = Certificate(
        Status.OPTIMAL if tight else found.status,
        squared_back(objective, found.exponent),
        None if bound is None else squared_back(bound, found.exponent),
        0.0,
        "local search",
        clock.spent,
    )
    return Partition(found.labels, certificate)


def _told(progress: Progress | None) -> Clock:
    require_progress(progress)
    return Clock(None, _pool.rarely(progress))


def _found(X: npt.ArrayLike, k: int, how: _How, told: Clock) -> _Found:
    records, exponent = within_one(_pool.scaled(X, how.scale))
    k = group_size(k, len(records))
    _require(how)
    first = _start(records, k, how.start)
    if k == 1 or len(records) < 2 * k:
        told.tell(1.0)
        alone = np.arange(len(records)) if k == 1 else np.zeros_like(first)
        return _Found(records, exponent, k, alone, Status.LOCAL)
    labels, status = _searched(records, k, first, how, told)
    told.tell(1.0)
    return _Found(records, exponent, k, labels, status)


def _require(how: _How) -> None:
    require_known("effort", how.effort, EFFORTS)
    if isinstance(how.start, str):
        require_known("start", how.start, STARTS)
    require_seed(how.seed)
    require_seconds(how.seconds)
    if how.seconds is not None and how.effort != "default":
        raise JobError(
            f"effort = {how.effort!r} beside seconds, which say when the search ends.",
            fix="leave one of the two out.",
        )


def _start(records: Floats, k: int, start: str | npt.ArrayLike) -> Labels:
    if isinstance(start, str):
        module = import_module(f"aggopt.partition._{start}")
        method: Callable[..., Labels] = getattr(module, start)
        return numbered(method(records, k, scale="none"))
    labels = groups(start, len(records))
    smallest = int(np.bincount(labels).min())
    if smallest < k:
        raise JobError(
            f"The labels to start from have a group of {smallest}; k = {k}.",
            fix=f"pass groups of {k} records or more, or a smaller k.",
        )
    return numbered(labels)


def _searched(
    records: Floats, k: int, first: Labels, how: _How, told: Clock
) -> tuple[Labels, Status]:
    """Return the best labels found, or the first ones, whenever Ctrl-C comes."""
    search, status = None, Status.INTERRUPTED
    try:
        _compile(len(records))
        clock = Clock(how.seconds, told.progress)
        if clock.over:
            return first, Status.LIMIT
        near = neighbours(records, NEAR, clock)
        search = Search(records, split(records, first, k), k, near, how.seed)
        status = _run(search, k, how, clock)
    except KeyboardInterrupt:
        pass
    better, stopped = in_any_case(lambda: _better(records, first, search))
    if stopped:
        status = Status.INTERRUPTED
    if better is not None:
        return better, status
    return first, status if status is not Status.LOCAL else Status.KEPT


def _compile(n: int) -> None:
    compile_all()
    if n > EXACT:
        compile_forest()


def _better(records: Floats, first: Labels, search: Search | None) -> Labels | None:
    """Return the labels of the search if they lose less than the first ones."""
    if search is None:
        return None
    labels = search.labels
    return labels if loss(records, labels) < loss(records, first) else None


def _run(search: Search, k: int, how: _How, clock: Clock) -> Status:
    order = np.arange(len(search.labels))
    kicks = EFFORTS[how.effort] if how.seconds is None else inf
    if k >= ANNEALED:
        share = None if how.seconds is None else clock.left * SHARE
        search.anneal(PROPOSALS, Clock(share))
    search.descend(order, clock)
    search.kick(order, kicks, clock, KICKS if k < ANNEALED else COOLED)
    return Status.LIMIT if clock.over else Status.LOCAL
