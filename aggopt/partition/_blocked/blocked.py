"""Records partitioned in blocks, then searched across the borders of the blocks."""

import warnings
from functools import cache, partial
from importlib import import_module
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from aggopt.core.deadline import Deadline, require_seconds
from aggopt.core.interrupt import in_any_case
from aggopt.core.progress import Progress, rarely
from aggopt.core.threads import Crew
from aggopt.core.validation import Floats, Labels, group_size, numbered, require_seed
from aggopt.errors import JobError, require_known
from aggopt.partition._blocked.improve import ANNEALED, EFFORTS, improve
from aggopt.partition._blocked.initial import INNER, block_size_of, in_blocks
from aggopt.partition._loss_bound import least_loss
from aggopt.partition._neighbours.spatial_order import in_space
from aggopt.partition._shared.power_of_two import squared_back, within_one
from aggopt.partition._shared.result import Partition
from aggopt.partition._shared.scaling import scaled
from aggopt.partition._shared.sse import loss
from aggopt.solvers import Certificate, Status

LEAF = 64  # records that are in no order of their own
ROUNDING = 1e-30  # per entry, of a sum of squares of records within [-1, 1]
START = 0.1  # share of the work, about, that comes before the search


class _How(NamedTuple):
    inner: str
    block_size: int | None
    effort: str
    seconds: float | None
    seed: int
    jobs: int | None
    scale: str


class _Found(NamedTuple):
    records: Floats
    exponent: int
    k: int
    labels: Labels
    status: Status


def blocked(
    X: npt.ArrayLike,
    k: int,
    *,
    inner: str = "mdav",
    block_size: int | None = None,
    effort: str = "default",
    seconds: float | None = None,
    seed: int = 0,
    jobs: int | None = None,
    scale: str = "z",
    progress: Progress | None = None,
) -> Labels:
    """Return labels (n,): groups of k similar records, for millions of records.

    The records are halved across their principal axis, again and again, down to
    blocks, and each block is partitioned by itself.  Then a local search (see
    `local_search`) crosses the borders: each record may change with the groups of its
    neighbours in space, be it in another block.

    Parameters
    ----------
    X : (n, d)
        Quasi-identifiers in their own units: numbers, none missing.
    k : int
        Records per group, at least; 1 <= k <= n.  With n < 2k all records are one
        group.
    inner : "mdav", "cbfs", "projection" or "vmdav"
        What partitions a block.
    block_size : int, optional
        Most records of a block, 2k or more: 1000 when omitted, or 20 k where that is
        more.  Larger ones begin better and take longer; the search evens that out.
    effort : "fast", "default" or "best"
        Without `seconds`: 1, 2 or 30 sweeps over all records, with 8, 10 or 12
        neighbours of each.  For k >= 8 annealing does most of it, by 100, 1000 or 3000
        random changes per record; 0, 1 or 10 sweeps follow.
    seconds : float, optional
        Time after which the best so far is returned; the search goes on until then.
        The blocks themselves are always finished.  Compilation, on the first call, is
        not counted.  Without it the seed decides the groups.
    seed : int
        Of the random choices.
    jobs : int, optional
        How many threads may work at once; all cores when omitted.  The groups do not
        depend on it.
    scale : "z" or "none"
        "z" measures distances on z-scores (population standard deviation), where a
        constant attribute weighs nothing.  "none" takes X as it is: for attributes
        that you have weighted yourself.
    progress : callable, optional
        Told the share of the work that is done, from 0.0 to 1.0, a few dozen times
        at most.  What it raises stops the work.

    Returns
    -------
    (n,) ints
        Group of each record, numbered 0..m-1 in the order of the groups' first
        records.  Each group has k to 2k - 1 records.

    Raises
    ------
    InfeasibleInputError
        k exceeds n.
    JobError
        k is below 1 or not a whole number, block_size is below 2k; seconds, seed or
        jobs is no such number; seconds beside an effort; an unknown inner method,
        effort or scale (UnknownNameError).
    TableError
        X is not a matrix of finite numbers.

    Warns
    -----
    UserWarning
        Ctrl-C ended the search: what is returned is the best so far.  While there are
        no groups yet, KeyboardInterrupt is raised.

    Notes
    -----
    Neighbours are those found by six trees of random splits, within parts of 512
    records; a search needs no exact ones.  Time grows nearly as n, memory as n d.

    The search is done in regions of 32768 records or more, cut anew for each sweep;
    records near a border have their turn in a second cut.  Threads share the regions.

    Examples
    --------
    >>> blocked([[0.0], [12.0], [2.0], [11.0], [3.0], [10.0]], k=3)
    array([0, 1, 0, 1, 0, 1])
    """
    how = _How(inner, block_size, effort, seconds, seed, jobs, scale)
    found = _partitioned(X, k, how, progress)
    if found.status is Status.INTERRUPTED:
        warnings.warn(
            "The search was interrupted; these are the best groups so far.",
            stacklevel=2,
        )
    return found.labels


def blocked_certified(
    X: npt.ArrayLike,
    k: int,
    *,
    inner: str = "mdav",
    block_size: int | None = None,
    effort: str = "default",
    seconds: float | None = None,
    seed: int = 0,
    jobs: int | None = None,
    scale: str = "z",
    progress: Progress | None = None,
) -> Partition:
    """Return what `blocked` returns, with its certificate, and without its warning.

    Arguments and errors are those of `blocked`.  The certificate is in the units of
    the distances, squared, over all records and attributes: the objective is the sum
    of squares within groups, and the bound is that of `loss_bound`.  It takes time of
    its own, which `seconds` does not limit; Ctrl-C then leaves it out.  The status is
    LOCAL after all sweeps, LIMIT where time ended them, INTERRUPTED after Ctrl-C,
    OPTIMAL where the objective is as low as the bound.

    Examples
    --------
    >>> X = [[0.0], [12.0], [2.0], [11.0], [3.0], [10.0]]
    >>> blocked_certified(X, k=3).certificate.status.value
    'optimal'
    """
    how = _How(inner, block_size, effort, seconds, seed, jobs, scale)
    clock = Deadline(None)
    found = _partitioned(X, k, how, progress)
    return Partition(found.labels, _certificate(found, jobs, clock))


def _partitioned(
    X: npt.ArrayLike, k: int, how: _How, progress: Progress | None
) -> _Found:
    records, exponent = within_one(scaled(X, how.scale))
    k = group_size(k, len(records))
    size = block_size_of(how.block_size, k)
    _require(how)
    told = rarely(progress)
    if how.seconds is not None:
        _compile(how.inner)
    with Crew(how.jobs, how.seconds) as crew:
        rows, who = in_space(records, LEAF, crew)
        start_told = partial(_told_between, told, 0.0, START)
        first = in_blocks(rows, k, how.inner, size, crew, start_told)
        search_told = partial(_told_between, told, START, 1.0)
        status = improve(rows, first, k, how.effort, how.seed, crew, search_told)
    labels, stopped = in_any_case(lambda: _as_before(first, who))
    if stopped or status is Status.INTERRUPTED:
        return _Found(records, exponent, k, labels, Status.INTERRUPTED)
    told(1.0)
    return _Found(records, exponent, k, labels, status)


@cache
def _compile(inner: str) -> None:
    """Compile what is needed, or load it: no one's time is to pay for it."""
    divide = getattr(import_module("aggopt.partition"), inner)
    many = np.repeat(np.arange(5000.0)[:, None], 2, axis=1)
    divide(many, 2, scale="none")  # through a tree, where there is one
    for k in (2, ANNEALED):
        how = _How(inner, None, "fast", None, 0, 1, "none")
        _partitioned(many[: 2 * LEAF], k, how, None)


def _as_before(first: Labels, who: Labels) -> Labels:
    named = np.empty_like(first)
    named[who] = first
    return numbered(named)


def _told_between(told: Progress, begin: float, end: float, share: float) -> None:
    told(begin + (end - begin) * min(share, 1.0))


def _require(how: _How) -> None:
    require_known("inner method", how.inner, INNER)
    require_known("effort", how.effort, EFFORTS)
    require_seed(how.seed)
    require_seconds(how.seconds)
    if how.seconds is not None and how.effort != "default":
        raise JobError(
            f"effort = {how.effort!r} beside seconds, which say when the search ends.",
            fix="leave one of the two out.",
        )


def _certificate(found: _Found, jobs: int | None, clock: Deadline) -> Certificate:
    objective, _ = in_any_case(lambda: loss(found.records, found.labels))
    try:
        bound = min(objective, least_loss(found.records, found.k, jobs=jobs))
    except KeyboardInterrupt:  # who cannot wait for a proof still has the groups
        bound = None
    rounding = 1e-9 * objective + ROUNDING * found.records.size
    tight = bound is not None and objective - bound <= rounding
    return Certificate(
        Status.OPTIMAL if tight else found.status,
        squared_back(objective, found.exponent),
        None if bound is None else squared_back(bound, found.exponent),
        0.0,
        "blocks and local search",
        clock.spent,
    )
