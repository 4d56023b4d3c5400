"""Local search: partitions improved change by change, for as long as one likes."""

import warnings
from typing import NamedTuple

import numpy.typing as npt

from aggopt.core.deadline import Deadline
from aggopt.core.interrupt import in_any_case
from aggopt.core.progress import Progress, rarely
from aggopt.core.validation import Floats, Labels, group_size
from aggopt.partition._constraints.arguments import Asked
from aggopt.partition._constraints.constraints import promised
from aggopt.partition._local_search.effort import Effort, grouped
from aggopt.partition._local_search.initial import first_groups
from aggopt.partition._loss_bound import least_loss
from aggopt.partition._shared.power_of_two import squared_back, within_one
from aggopt.partition._shared.result import Partition
from aggopt.partition._shared.scaling import scaled
from aggopt.partition._shared.sse import loss
from aggopt.solvers import Certificate, Status

Start = str | npt.ArrayLike | None


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
    start: Start = None,
    seconds: float | None = None,
    effort: str = "default",
    seed: int = 0,
    scale: str = "z",
    confidential: npt.ArrayLike | None = None,
    t: float | None = None,
    l: int | None = None,  # noqa: E741
    bins: str = "distinct",
    levels: int | str = 20,
    boundaries: npt.ArrayLike | None = None,
    diversity: str = "distinct",
    progress: Progress | None = None,
) -> Labels:
    """Return labels (n,): groups of k or more records that no simple change improves.

    From the start on, records move to groups near by, change places with records there,
    or push one on to a third group, as long as the sum of squares within groups falls.
    Then one small part after the other is shaken (records exchanged at random, a group
    dissolved, or one made) and improved again.  What came out worse is undone, at
    first not always, then ever more strictly, by how close records are there; for k
    of 8 or more random changes under falling heat come first.  If t or l is promised
    of a confidential attribute, only changes that keep it are made, and heat does
    most of the work.

    Parameters
    ----------
    X : (n, d)
        Quasi-identifiers in their own units: numbers, none missing.
    k : int
        Records per group, 1 <= k <= n.  With n < 2k all records are one group.
    start : "mdav", "cbfs", "vmdav", "mhm", "projection", or (n,) ints, optional
        The partition to set out from: a method's, or labels 0..m-1 of groups of k or
        more; groups of 2k or more are split.  "mdav" if omitted.  Where t or l is
        promised, labels must keep it and none is split, a method's groups are united
        until they keep it, and if omitted they are made for it.
    seconds : float, optional
        Time for the search, which goes on until then; the best so far is returned.
        The start and the first call's compilation come before and are not counted.
        With 0, or too little to find neighbours, the start is returned.
    effort : "fast", "default" or "best"
        Without `seconds`: 1, 10 or 100 shakes per record.  A few milliseconds for each
        record with "best", a hundredth of that with "fast".  Where t or l is promised,
        a tenth of the shakes, but 1000 at least, after 300, 3000 or 30 000 random
        changes per record.
    seed : int
        Of the shakes.  Without `seconds` the same seed gives the same groups.
    scale : "z" or "none"
        "z" measures distances on z-scores (population standard deviation), where a
        constant attribute weighs nothing.  "none" takes X as it is: for attributes
        that you have weighted yourself.
    confidential : (n,), optional
        The confidential attribute, whose values in each group t or l restricts.
    t, bins
        Largest ordered EMD between a group and the table, as in `closeness_first`.
    l, levels, boundaries, diversity
        Diversity of each group, at least, as in `diverse_vmdav`.
    progress : callable, optional
        Told the share of the work that is done, from 0.0 to 1.0, a few dozen times
        at most.

    Returns
    -------
    (n,) ints
        Group of each record, numbered 0..m-1 in the order of the groups' first records.
        They never lose more than those of the start; where none are better, they are
        the start's.  Of 2k - 1 records at most, unless t or l is promised, which they
        keep: checked in whole numbers.

    Raises
    ------
    InfeasibleInputError
        k exceeds n; all records together are less diverse than l.
    JobError
        k is below 1 or not a whole number; an unknown start, effort or scale
        (UnknownNameError); labels to start from that are none, or have a group of
        fewer than k or break the promise; negative seconds, or seconds beside an
        effort; a seed below 0; t or l without a confidential attribute, or what says
        how they are counted without them; and as `closeness_first`, `diverse_vmdav`.
    TableError
        X is not a matrix of finite numbers; not one confidential value per record.

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
    The search itself has one thread: `blocked` is faster from some ten thousand on.
    A group whose entropy is within 1e-9 of log l, and not log l by equal
    shares, is not entered though it may keep l.

    Weaknesses: how far the result is from the best of all partitions is not known; for
    a few thousand records `optimal` proves it.  Under t the number of groups hardly
    changes: `aggopt.repair.closeness` tries several.

    Source: iterated local search as in Lourenco, Martin and Stuetzle, Handbook of
    Metaheuristics, 2003; changes of one, two or three groups are usual in clustering.

    Examples
    --------
    >>> local_search([[0.0], [12.0], [2.0], [11.0], [3.0], [10.0]], k=3)
    array([0, 1, 0, 1, 0, 1])
    """
    how = Effort(seconds, effort, seed)
    asked = Asked(confidential, t, l, bins, levels, boundaries, diversity)
    clock = Deadline(None, rarely(progress))
    found = _found(scaled(X, scale), k, start, how, asked, clock)
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
    start: Start = None,
    seconds: float | None = None,
    effort: str = "default",
    seed: int = 0,
    scale: str = "z",
    confidential: npt.ArrayLike | None = None,
    t: float | None = None,
    l: int | None = None,  # noqa: E741
    bins: str = "distinct",
    levels: int | str = 20,
    boundaries: npt.ArrayLike | None = None,
    diversity: str = "distinct",
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
    how = Effort(seconds, effort, seed)
    asked = Asked(confidential, t, l, bins, levels, boundaries, diversity)
    clock = Deadline(None, rarely(progress))
    found = _found(scaled(X, scale), k, start, how, asked, clock)
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


def _found(
    X: Floats, k: int, start: Start, how: Effort, asked: Asked, told: Deadline
) -> _Found:
    records, exponent = within_one(X)
    k = group_size(k, len(records))
    how.require()
    promise = promised(asked, len(records))
    first = first_groups(records, k, start, promise)
    labels, status = grouped(records, k, first, how, promise, told)
    told.tell(1.0)
    return _Found(records, exponent, k, labels, status)
