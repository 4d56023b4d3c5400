"""Local search: partitions improved change by change, for as long as one likes."""

import warnings
from functools import partial
from typing import Literal

import numpy.typing as npt
from pydantic import Field, StrictInt

from aggopt.core.deadline import Deadline
from aggopt.core.progress import Progress, rarely
from aggopt.core.renamed import renamed
from aggopt.core.stacklevel import outside
from aggopt.core.validation import Floats, Labels, group_size, is_number
from aggopt.errors import JobError
from aggopt.partition._constraints.constraints import (
    Asked,
    Constraints,
    promised,
    with_dominance,
)
from aggopt.partition._local_search.effort import Effort, grouped
from aggopt.partition._local_search.initial import Initial, first_groups
from aggopt.partition._local_search.setup import weights_of
from aggopt.partition._local_search.state import Weights
from aggopt.partition._registry import (
    Divide,
    FromGroups,
    InitialMethod,
    Partitioner,
)
from aggopt.partition._shared.evidence import squares
from aggopt.partition._shared.result import INTERRUPTED, Partition
from aggopt.partition._shared.scaling import weighed, within_one
from aggopt.partition._shared.settings import OF_A_SEARCH, Timed
from aggopt.solvers import Status


@renamed(seconds="time_limit", start="initial or initial_labels")
def local_search(
    X: npt.ArrayLike,
    k: int,
    *,
    initial: str | Divide | None = None,
    initial_labels: npt.ArrayLike | None = None,
    time_limit: float | None = None,
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
    weights: npt.ArrayLike | None = None,
    dominance: float | None = None,
    progress: Progress | None = None,
) -> Partition:
    """Return groups of k or more records that no simple change improves.

    From the start on, records move to groups near by, change places with records there,
    or push one on to a third group, as long as the sum of squares within groups falls.
    Then one small part after the other is perturbed (records exchanged at random, a
    group dissolved, or one made) and improved again.  What came out worse is undone,
    at first not always, then ever more strictly, by how close records are there; for k
    of 8 or more, random changes at falling temperatures come first (annealing).  If t
    or l is promised of a confidential attribute, only changes that keep it are made,
    and annealing does most of the work.

    Parameters
    ----------
    X : (n, d)
        Quasi-identifiers in their own units: numbers, none missing.
    k : int
        Records per group, 1 <= k <= n.  With n < 2k all records are one group.
    initial : "mdav", "cbfs", "vmdav", "mhm" or "projection", or callable, optional
        The method, or a function f(X, k) of yours, whose partition the search sets out
        from: "mdav" if omitted.  Where t or l is promised, its groups are united until
        they keep it; if omitted, they are made for it.
    initial_labels : (n,) ints, optional
        The partition to set out from, in place of a method's: labels 0..m-1 of groups
        of k or more.  Groups of 2k or more are split; where t or l is promised, labels
        must keep it, and none is split.
    time_limit : float, optional
        Seconds for the search, which goes on until then; the best so far is returned.
        The start and the first call's compilation come before and are not counted.
        With 0, or too little to find neighbours, the start is returned.
    effort : "fast", "default" or "best"
        Without `time_limit`: 1, 10 or 100 perturbations per record.  A few
        milliseconds for each record with "best", a hundredth of that with "fast".
        Where t or l is promised, a tenth of them, but 1000 at least, after 300, 3000
        or 30 000 random changes per record.
    seed : int
        Of the perturbations.  Without `time_limit` the same seed gives the same groups.
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
    weights : (n,), optional
        Sampling weights, above 0, of any scale: what falls is the weighted sum of
        squares from weighted means, and z-scores are by weighted moments.  k, t and l
        count records.
    dominance : float, optional
        Beside weights: no record has more than this share of its group's weight, above
        0 and at most 1.  Groups of the start are united until none has, and may have
        2k records or more.
    progress : callable, optional
        Progress callback: called with the share that is done, from 0.0 to 1.0, a few
        dozen times at most.

    Returns
    -------
    Partition
        Group of each record, numbered 0..m-1 in the order of the groups' first records.
        They never lose more than those of the start; where none are better, they are
        the start's.  Of 2k - 1 records at most, unless t, l or a dominance is promised,
        which they keep: checked in whole numbers, or to 1e-9 of the dominance.  The
        status of the certificate is OPTIMAL where the objective is as low as the bound;
        KEPT where nothing better than the start was found; LIMIT where time ended the
        search, INTERRUPTED where Ctrl-C did; LOCAL else.

    Raises
    ------
    InfeasibleInputError
        k exceeds n; all records together are less diverse than l, or one of them has
        more than the dominance of their weight.
    JobError
        k is below 1 or not a whole number; an unknown initial method, effort or scale
        (UnknownNameError); initial_labels that are none, or have a group of
        fewer than k or break the promise, or stand beside an initial method; a
        negative time_limit, or one beside an effort; a seed below 0; t or l without a
        confidential attribute, or what says how they are counted without them; a
        dominance without weights, or not above 0 and at most 1; and as
        `closeness_first`, `diverse_vmdav`.
    TableError
        X is not a matrix of finite numbers; not one confidential value per record;
        weights are not one number above 0 for each, or span more than six orders of
        magnitude.

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
    >>> local_search([[0.0], [12.0], [2.0], [11.0], [3.0], [10.0]], k=3).labels
    array([0, 1, 0, 1, 0, 1])
    """
    how = Effort(time_limit, effort, seed)
    asked = Asked(confidential, t, l, bins, levels, boundaries, diversity)
    clock = Deadline(None, rarely(progress))
    require_dominance(dominance, weights)
    records, known = weighed(X, scale, weights)
    records, exponent = within_one(records)
    k = group_size(k, len(records))
    own = weights_of(known.of, len(records), k, dominance)
    kept = _constraints(asked, own, len(records)), own
    labels, status = _searched(records, k, (initial, initial_labels), how, kept, clock)
    proven = partial(squares, by="local search", exponent=exponent, weights=weights)
    evidence = proven(records, labels, k, seconds=clock.spent, status=status)
    return Partition(labels, evidence)


def require_dominance(share: object, weights: object) -> None:
    """Refuse a share that no weights are of, or that is none."""
    if share is None:
        return
    if not is_number(share) or not 0 < share <= 1:  # type: ignore[operator]
        raise JobError(
            f"dominance = {share}.",
            fix="pass a share above 0 and at most 1: dominance=0.6.",
        )
    if weights is None:
        raise JobError(
            "dominance is of weights, and records have none.",
            fix="pass weights=, one for each record, or leave dominance out.",
        )


def _constraints(asked: Asked, own: Weights | None, n: int) -> Constraints | None:
    """Return what groups of n records must satisfy beside k, of weights too."""
    found = promised(asked, n)
    if own is None or own.share == 1:
        return found
    return with_dominance(found, own.of, own.share)


def _searched(
    records: Floats,
    k: int,
    start: Initial,
    how: Effort,
    kept: tuple[Constraints | None, Weights | None],
    reporting: Deadline,
) -> tuple[Labels, Status]:
    how.require()
    promise, weights = kept
    first = first_groups(records, k, *start, promise)
    labels, status = grouped(records, k, first, how, promise, reporting, weights)
    reporting.report(1.0)
    if status is Status.INTERRUPTED:
        warnings.warn(INTERRUPTED, stacklevel=outside())
    return labels, status


class LocalSearch(FromGroups, Timed):
    """Settings of `aggopt.partition.local_search`.

    Attributes
    ----------
    initial
        The method that makes the groups which the search sets out from.  A job names
        no labels: `initial_labels` is for Python alone.
    seed
        Of the perturbations.
    """

    method: Literal["local_search"]
    initial: InitialMethod = "mdav"
    seed: StrictInt = Field(default=0, ge=0)


PARTITIONER = Partitioner(
    name="local_search",
    when="least loss of all heuristics, up to some 20 000 records",
    rank=10,
    function=local_search,
    settings=LocalSearch,
    excused=OF_A_SEARCH,
    searches=True,
    weighs=True,
    dominates=True,
)
