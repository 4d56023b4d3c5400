"""Partition in blocks of records, then local search across the borders of blocks."""

import warnings
from functools import cache, partial
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from pydantic import Field, StrictInt

from aggopt.core.deadline import Deadline, Progress, require_time_limit, throttle
from aggopt.core.deferred_signals import finish_despite_interrupt
from aggopt.core.parallel import ThreadPool
from aggopt.core.validation import (
    Floats,
    Labels,
    check_group_size,
    find_caller_stacklevel,
    is_whole_number,
    renumber_groups,
    require_seed,
)
from aggopt.errors import JobError, require_known
from aggopt.partition._blocked_search import (
    ANNEALED,
    EFFORTS,
    find_first_records,
    improve_groups,
)
from aggopt.partition._local_search.setup import read_initial_labels
from aggopt.partition._mdav import split_large
from aggopt.partition.registry import (
    FromGroups,
    InnerMethod,
    Partitioner,
    PartitionFunction,
    list_inner_methods,
    resolve_function,
)
from aggopt.partition.shared.evidence import certify_squares
from aggopt.partition.shared.result import INTERRUPTED, Partition
from aggopt.partition.shared.scaling import scale_to_unit, scale_with_weights
from aggopt.partition.shared.settings import SEARCH_EXEMPTIONS, Timed
from aggopt.partition.spatial_order import sort_in_space, split_in_parts
from aggopt.solvers import Status

BLOCK = 1000  # records of a block, unless 20 k are more
GROUPS = 20  # groups of a block, at least


def choose_block_size(block_size: object, k: int) -> int:
    """Return the maximum number of records in a block, by default chosen from k."""
    if block_size is None:
        return max(BLOCK, GROUPS * k)
    if not is_whole_number(block_size) or block_size < 2 * k:
        raise JobError(
            f"block_size = {block_size}, and k = {k}.",
            fix=f"pass a whole number of at least 2 k = {2 * k}, a thousand or more "
            "if there are that many records, or leave it out.",
        )
    return int(block_size)


def require_region_size(size: object) -> None:
    """Raise a JobError unless `size` is a valid number of records in a region."""
    if size is not None and not (is_whole_number(size) and size >= 1):
        raise JobError(
            f"region_size = {size}.", fix="pass a whole number from 1 up, or None."
        )


def partition_in_blocks(
    rows: Floats,
    k: int,
    inner: str | PartitionFunction,
    size: int,
    threads: ThreadPool,
    progress: Progress,
) -> Labels:
    """Partition blocks of near records; return the first record of each one's group.

    The rows (n, d) are in spatial order, and each block of `size` or fewer is
    partitioned by the method `inner`.
    """
    divide = resolve_function(inner, "inner method", list_inner_methods())

    def block(part: slice) -> Labels:
        return np.asarray(
            part.start
            + find_first_records(np.asarray(divide(rows[part], k, scale="none")))
        )

    return np.concatenate(threads.map(block, split_in_parts(len(rows), size), progress))


LEAF = 64  # records of a part without an internal order
START = 0.1  # share of the work before the search, roughly


class _BlockedOptions(NamedTuple):
    inner: str | PartitionFunction
    block_size: int | None
    effort: str
    time_limit: float | None
    seed: int
    jobs: int | None
    scale: str
    weights: npt.ArrayLike | None = None
    initial_labels: npt.ArrayLike | None = None
    region_size: int | None = None


class _SearchResult(NamedTuple):
    records: Floats
    exponent: int
    k: int
    labels: Labels
    status: Status


def blocked(
    X: npt.ArrayLike,
    k: int,
    *,
    inner: str | PartitionFunction = "mdav",
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
    """Return groups of k similar records, for tables of millions of records.

    The records are halved repeatedly across their principal axis, down to blocks, and
    each block is partitioned independently.  Then a local search (see `local_search`)
    crosses the borders: each record may change with the groups of its neighbours in
    space, even in another block.

    Parameters
    ----------
    X : (n, d)
        Quasi-identifiers in their own units: numbers, none missing.
    k : int
        Records per group, at least; 1 <= k <= n.  With n < 2k all records are one
        group.
    inner : "mdav", "cbfs", "projection" or "vmdav", or callable
        Method that partitions a block; or your own function f(X, k).
    block_size : int, optional
        Most records of a block, 2k or more: 1000 when omitted, or 20 k if that is more.
        Larger blocks begin better and take longer; the search compensates for that.
    initial_labels : (n,) ints, optional
        Initial partition of the search, in place of that of blocks: labels 0..m-1 of
        groups of k or more.  Groups of 2k or more are split.
    region_size : int, optional
        Records that a thread searches together, at least: 32768 when omitted.  Larger
        regions have fewer borders: they lose less and take longer.
    effort : "fast", "default" or "best"
        Without `time_limit`: 1, 2 or 30 passes over all records, with 8, 10 or 12
        neighbours of each.  For k >= 8 annealing does most of it, by 100, 1000 or 3000
        random changes per record; 0, 0 or 10 passes follow.
    time_limit : float, optional
        Seconds after which the best partition so far is returned; the search continues
        until then.  The blocks themselves are always finished.  Compilation, on the
        first call, is not counted.  Without a limit the seed determines the groups.
    seed : int
        Seed of the random choices.
    jobs : int, optional
        Number of threads; all cores when omitted.  The groups do not depend on it.
    scale : "z" or "none"
        "z" measures distances on z-scores (population standard deviation), and a
        constant attribute weighs nothing.  "none" uses X unchanged: for attributes that
        you have weighted yourself.
    weights : (n,), optional
        Sampling weights, as in `local_search`: the search uses them, the initial blocks
        do not.
    progress : callable, optional
        Progress callback: called with the completed share, from 0.0 to 1.0, a few dozen
        times at most.  An error that it raises stops the work.

    Returns
    -------
    Partition
        Group of each record, numbered 0..m-1 in the order of the groups' first records.
        Each group has k to 2k - 1 records.  The status of the certificate is LOCAL
        after all passes, LIMIT if time ended them, INTERRUPTED after Ctrl-C, OPTIMAL if
        the objective is as low as the bound.

    Raises
    ------
    InfeasibleInputError
        k exceeds n.
    JobError
        k is below 1 or not a whole number, block_size is below 2k; an invalid
        region_size, time_limit, seed or jobs; time_limit together with an effort,
        initial_labels together with inner or block_size; invalid labels, or groups
        below k; an unknown inner method, effort or scale (UnknownNameError).
    TableError
        X is not a matrix of finite numbers; weights are not one number above 0 for
        each record, or span more than six orders of magnitude.

    Warns
    -----
    UserWarning
        Ctrl-C ended the search: the result is the best so far.  Before the first groups
        exist, KeyboardInterrupt is raised.

    Notes
    -----
    Six trees of random splits find the neighbours, within parts of 512 records; a
    search does not need exact ones.  If two records or more are equal on average,
    neighbours are searched among distinct records.  Time grows nearly as n, memory as n
    d.

    The search runs in regions of 32768 records or more, with new borders for each pass
    and each 64 random changes per record; records near a border have a second turn in a
    pass.

    Examples
    --------
    >>> blocked([[0.0], [12.0], [2.0], [11.0], [3.0], [10.0]], k=3).labels
    array([0, 1, 0, 1, 0, 1])
    """
    options = _BlockedOptions(
        inner=inner,
        block_size=block_size,
        effort=effort,
        time_limit=time_limit,
        seed=seed,
        jobs=jobs,
        scale=scale,
        weights=weights,
        initial_labels=initial_labels,
        region_size=region_size,
    )
    clock = Deadline(None)
    result = _run_search(X, k, options, progress)
    if result.status is Status.INTERRUPTED:
        warnings.warn(INTERRUPTED, stacklevel=find_caller_stacklevel())
    evidence = certify_squares(
        result.records,
        result.labels,
        result.k,
        by="blocks and local search",
        seconds=clock.spent,
        status=result.status,
        exponent=result.exponent,
        jobs=jobs,
        weights=weights,
    )
    return Partition(result.labels, evidence)


def _run_search(
    X: npt.ArrayLike, k: int, options: _BlockedOptions, progress: Progress | None
) -> _SearchResult:
    """Return the result of local search, from groups of blocks or initial labels."""
    scaled, weighing = scale_with_weights(X, options.scale, options.weights)
    records, exponent = scale_to_unit(scaled)
    k = check_group_size(k, len(records))
    size = choose_block_size(options.block_size, k)
    _require_options(options)
    initial_labels = _read_initial_labels(options, len(records), k)
    report = throttle(progress)
    if options.time_limit is not None:
        _compile_kernels(options.inner)
    with ThreadPool(options.jobs, options.time_limit) as threads:
        rows, order = sort_in_space(records, LEAF, threads)
        start_progress = partial(_report_range, report, 0.0, START)
        if initial_labels is None:
            first_records = partition_in_blocks(
                rows, k, options.inner, size, threads, start_progress
            )
        else:
            first_records = find_first_records(
                split_large(rows, renumber_groups(initial_labels[order]), k)
            )
        search_progress = partial(_report_range, report, START, 1.0)
        weights = None if weighing.values is None else weighing.values[order]
        status = improve_groups(
            rows,
            first_records,
            k,
            options.effort,
            options.seed,
            threads,
            search_progress,
            weights,
            options.region_size,
        )
    labels, stopped = finish_despite_interrupt(
        lambda: _restore_order(first_records, order)
    )
    if stopped or status is Status.INTERRUPTED:
        return _SearchResult(records, exponent, k, labels, Status.INTERRUPTED)
    report(1.0)
    return _SearchResult(records, exponent, k, labels, status)


def _read_initial_labels(options: _BlockedOptions, n: int, k: int) -> Labels | None:
    """Return the initial labels (n,) of the search, or None if the user passed none."""
    if options.initial_labels is None:
        return None
    if options.inner != "mdav" or options.block_size is not None:
        raise JobError(
            "initial_labels replaces the blocks of inner and block_size.",
            fix="leave one of the two out.",
        )
    return read_initial_labels(options.initial_labels, n, k, None)


@cache
def _compile_kernels(inner: str | PartitionFunction) -> None:
    """Compile the kernels of blocks and search, so that no time limit includes it."""
    if callable(inner):  # a user's function may be slow
        return
    partition = resolve_function(inner, "inner method", list_inner_methods())
    rows = np.repeat(np.arange(5000.0)[:, None], 2, axis=1)
    partition(rows, 2, scale="none")  # enough records for a tree
    for k in (2, ANNEALED):
        options = _BlockedOptions(inner, None, "fast", None, 0, 1, "none")
        _run_search(rows[: 2 * LEAF], k, options, None)


def _restore_order(first_records: Labels, order: Labels) -> Labels:
    """Return labels (n,) in the records' original order, numbered without gaps."""
    labels = np.empty_like(first_records)
    labels[order] = first_records
    return renumber_groups(labels)


def _report_range(report: Progress, begin: float, end: float, share: float) -> None:
    """Report progress `share` of a step that takes the range from `begin` to `end`."""
    report(begin + (end - begin) * min(share, 1.0))


def _require_options(options: _BlockedOptions) -> None:
    """Raise a JobError if options of the search are invalid."""
    resolve_function(options.inner, "inner method", list_inner_methods())
    require_known("effort", options.effort, EFFORTS)
    require_region_size(options.region_size)
    require_seed(options.seed)
    require_time_limit(options.time_limit)
    if options.time_limit is not None and options.effort != "default":
        raise JobError(
            f"effort = {options.effort!r} and time_limit are both set, but only one of "
            "them ends the search.",
            fix="leave one of the two out.",
        )


class Blocked(FromGroups, Timed):
    """Settings of `aggopt.partition.blocked`."""

    method: Literal["blocked"]
    inner: InnerMethod = "mdav"
    block_size: StrictInt | None = Field(default=None, ge=1)
    seed: StrictInt = Field(default=0, ge=0)

    def require(self, k: int) -> None:
        """Raise if an effort and a time limit are both set, or blocks are too small."""
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
    excused=SEARCH_EXEMPTIONS,
    searches=True,
    weighs=True,
)
