"""Records partitioned in blocks, then searched across the borders of the blocks."""

import warnings
from functools import cache, partial
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from pydantic import Field, StrictInt

from aggopt.core.deadline import Deadline, require_time_limit
from aggopt.core.interrupt import in_any_case
from aggopt.core.progress import Progress, rarely
from aggopt.core.renamed import renamed
from aggopt.core.stacklevel import outside
from aggopt.core.threads import ThreadPool
from aggopt.core.validation import Floats, Labels, group_size, numbered, require_seed
from aggopt.errors import JobError, require_known
from aggopt.partition._blocked.improve import ANNEALED, EFFORTS, improve
from aggopt.partition._blocked.initial import (
    block_size_of,
    in_blocks,
    require_region_size,
)
from aggopt.partition._blocked.regions import firsts
from aggopt.partition._local_search.initial import given_groups
from aggopt.partition._neighbours.spatial_order import in_space
from aggopt.partition._registry import (
    Divide,
    FromGroups,
    InnerMethod,
    Partitioner,
    divide_of,
    inner_methods,
)
from aggopt.partition._shared.evidence import squares
from aggopt.partition._shared.result import INTERRUPTED, Partition
from aggopt.partition._shared.scaling import weighed, within_one
from aggopt.partition._shared.settings import OF_A_SEARCH, Timed
from aggopt.partition._shared.split_large import split_large
from aggopt.solvers import Status

LEAF = 64  # records that are in no order of their own
START = 0.1  # share of the work, about, that comes before the search


class _BlockedOptions(NamedTuple):
    inner: str | Divide
    block_size: int | None
    effort: str
    time_limit: float | None
    seed: int
    jobs: int | None
    scale: str
    weights: npt.ArrayLike | None = None
    initial_labels: npt.ArrayLike | None = None
    region_size: int | None = None


class _Found(NamedTuple):
    records: Floats
    exponent: int
    k: int
    labels: Labels
    status: Status


@renamed(seconds="time_limit")
def blocked(
    X: npt.ArrayLike,
    k: int,
    *,
    inner: str | Divide = "mdav",
    block_size: int | None = None,
    initial_labels: npt.ArrayLike | None = None,
    region_size: int | None = None,
    effort: str = "default",
    time_limit: float | None = None,
    seed: int = 0,
    jobs: int | None = None,
    scale: str = "z",
    weights: npt.ArrayLike | None = None,
    progress: Progress | None = None,
) -> Partition:
    """Return groups of k similar records, for millions of records.

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
    inner : "mdav", "cbfs", "projection" or "vmdav", or callable
        What partitions a block; or a function f(X, k) of yours does.
    block_size : int, optional
        Most records of a block, 2k or more: 1000 when omitted, or 20 k where that is
        more.  Larger ones begin better and take longer; the search evens that out.
    initial_labels : (n,) ints, optional
        The partition that the search sets out from, in place of that of blocks: labels
        0..m-1 of groups of k or more.  Those of 2k or more are split.
    region_size : int, optional
        Records that a thread searches together, at least: 32768 when omitted.  Larger
        regions have fewer borders: they lose less and take longer.
    effort : "fast", "default" or "best"
        Without `time_limit`: 1, 2 or 30 passes over all records, with 8, 10 or 12
        neighbours of each.  For k >= 8 annealing does most of it, by 100, 1000 or 3000
        random changes per record; 0, 0 or 10 passes follow.
    time_limit : float, optional
        Seconds after which the best so far is returned; the search goes on until then.
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
    weights : (n,), optional
        Sampling weights, as in `local_search`: the search goes by them, the blocks that
        it sets out from do not.
    progress : callable, optional
        Progress callback: called with the share that is done, from 0.0 to 1.0, a few
        dozen times at most.  What it raises stops the work.

    Returns
    -------
    Partition
        Group of each record, numbered 0..m-1 in the order of the groups' first
        records.  Each group has k to 2k - 1 records.  The status of the certificate is
        LOCAL after all passes, LIMIT where time ended them, INTERRUPTED after Ctrl-C,
        OPTIMAL where the objective is as low as the bound.

    Raises
    ------
    InfeasibleInputError
        k exceeds n.
    JobError
        k is below 1 or not a whole number, block_size is below 2k; region_size,
        time_limit, seed or jobs is no such number; time_limit beside an effort,
        initial_labels beside inner or block_size; labels that are none, or of groups
        below k; an unknown inner method, effort or scale (UnknownNameError).
    TableError
        X is not a matrix of finite numbers; weights are not one number above 0 for
        each record, or span more than six orders of magnitude.

    Warns
    -----
    UserWarning
        Ctrl-C ended the search: what is returned is the best so far.  While there are
        no groups yet, KeyboardInterrupt is raised.

    Notes
    -----
    Neighbours are those found by six trees of random splits, within parts of 512
    records; a search needs no exact ones.  Where two records or more are equal on
    average, neighbours are those of the places that records share.  Time grows nearly
    as n, memory as n d.

    The search is done in regions of 32768 records or more, cut anew for each pass and
    each 64 random changes per record; those near a border have a second turn in a pass.

    Examples
    --------
    >>> blocked([[0.0], [12.0], [2.0], [11.0], [3.0], [10.0]], k=3).labels
    array([0, 1, 0, 1, 0, 1])
    """
    options = inner, block_size, effort, time_limit, seed, jobs, scale, weights
    how = _BlockedOptions(*options, initial_labels, region_size)
    clock = Deadline(None)
    found = _partitioned(X, k, how, progress)
    if found.status is Status.INTERRUPTED:
        warnings.warn(INTERRUPTED, stacklevel=outside())
    evidence = squares(
        found.records,
        found.labels,
        found.k,
        by="blocks and local search",
        seconds=clock.spent,
        status=found.status,
        exponent=found.exponent,
        jobs=jobs,
        weights=weights,
    )
    return Partition(found.labels, evidence)


def _partitioned(
    X: npt.ArrayLike, k: int, how: _BlockedOptions, progress: Progress | None
) -> _Found:
    own, known = weighed(X, how.scale, how.weights)
    records, exponent = within_one(own)
    k = group_size(k, len(records))
    size = block_size_of(how.block_size, k)
    _require(how)
    given, report = _given(how, len(records), k), rarely(progress)
    if how.time_limit is not None:
        _compile(how.inner)
    with ThreadPool(how.jobs, how.time_limit) as threads:
        rows, who = in_space(records, LEAF, threads)
        start_progress = partial(_between, report, 0.0, START)
        if given is None:
            first = in_blocks(rows, k, how.inner, size, threads, start_progress)
        else:
            first = firsts(split_large(rows, numbered(given[who]), k))
        search_progress = partial(_between, report, START, 1.0)
        weights = None if known.of is None else known.of[who]
        asked = how.effort, how.seed, threads, search_progress, weights
        status = improve(rows, first, k, *asked, how.region_size)
    labels, stopped = in_any_case(lambda: _as_before(first, who))
    if stopped or status is Status.INTERRUPTED:
        return _Found(records, exponent, k, labels, Status.INTERRUPTED)
    report(1.0)
    return _Found(records, exponent, k, labels, status)


def _given(how: _BlockedOptions, n: int, k: int) -> Labels | None:
    """Return the labels (n,) that the search is to set out from, if any are given."""
    if how.initial_labels is None:
        return None
    if how.inner != "mdav" or how.block_size is not None:
        raise JobError(
            "initial_labels beside inner or block_size, which say how they are made.",
            fix="leave one of the two out.",
        )
    return given_groups(how.initial_labels, n, k, None)


@cache
def _compile(inner: str | Divide) -> None:
    """Compile what is needed, or load it: no one's time is to pay for it."""
    if callable(inner):  # of the user's: it may take its time for nothing
        return
    divide = divide_of(inner, "inner method", inner_methods())
    many = np.repeat(np.arange(5000.0)[:, None], 2, axis=1)
    divide(many, 2, scale="none")  # through a tree, where there is one
    for k in (2, ANNEALED):
        how = _BlockedOptions(inner, None, "fast", None, 0, 1, "none")
        _partitioned(many[: 2 * LEAF], k, how, None)


def _as_before(first: Labels, who: Labels) -> Labels:
    named = np.empty_like(first)
    named[who] = first
    return numbered(named)


def _between(report: Progress, begin: float, end: float, share: float) -> None:
    report(begin + (end - begin) * min(share, 1.0))


def _require(how: _BlockedOptions) -> None:
    divide_of(how.inner, "inner method", inner_methods())
    require_known("effort", how.effort, EFFORTS)
    require_region_size(how.region_size)
    require_seed(how.seed)
    require_time_limit(how.time_limit)
    if how.time_limit is not None and how.effort != "default":
        raise JobError(
            f"effort = {how.effort!r} beside time_limit, which says when the "
            "search ends.",
            fix="leave one of the two out.",
        )


class Blocked(FromGroups, Timed):
    """Settings of `aggopt.partition.blocked`."""

    method: Literal["blocked"]
    inner: InnerMethod = "mdav"
    block_size: StrictInt | None = Field(default=None, ge=1)
    seed: StrictInt = Field(default=0, ge=0)

    def require(self, k: int) -> None:
        """Refuse an effort beside a time limit, and blocks too small for groups."""
        super().require(k)
        if self.block_size is not None and self.block_size < 2 * k:
            raise JobError(
                f"[partition] block_size = {self.block_size}, and k = {k}.",
                fix=f"write a whole number of at least 2 k = {2 * k}, a thousand or "
                "more if there are that many records, or leave it out.",
            )


PARTITIONER = Partitioner(
    name="blocked",
    when="local search in blocks of records, for millions of them",
    rank=30,
    function=blocked,
    settings=Blocked,
    excused=OF_A_SEARCH,
    searches=True,
    weighs=True,
)
