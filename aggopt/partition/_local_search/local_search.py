"""Local search: partitions improved change by change, for as long as one likes."""

import warnings
from typing import Literal

import numpy.typing as npt
from pydantic import Field, StrictInt

from aggopt.core.deadline import Deadline
from aggopt.core.progress import Progress, rarely
from aggopt.core.renamed import renamed
from aggopt.core.stacklevel import outside
from aggopt.core.validation import Floats, Labels, group_size
from aggopt.partition._constraints.arguments import Asked
from aggopt.partition._constraints.constraints import promised
from aggopt.partition._local_search.effort import Effort, grouped
from aggopt.partition._local_search.initial import Initial, first_groups
from aggopt.partition._registry import (
    Divide,
    FromGroups,
    InitialMethod,
    Partitioner,
)
from aggopt.partition._shared.evidence import squares
from aggopt.partition._shared.power_of_two import within_one
from aggopt.partition._shared.result import INTERRUPTED, Partition
from aggopt.partition._shared.scaling import scaled
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
    progress : callable, optional
        Progress callback: called with the share that is done, from 0.0 to 1.0, a few
        dozen times at most.

    Returns
    -------
    Partition
        Group of each record, numbered 0..m-1 in the order of the groups' first records.
        They never lose more than those of the start; where none are better, they are
        the start's.  Of 2k - 1 records at most, unless t or l is promised, which they
        keep: checked in whole numbers.  The status of the certificate is OPTIMAL where
        the objective is as low as the bound; KEPT where nothing better than the start
        was found; LIMIT where time ended the search, INTERRUPTED where Ctrl-C did;
        LOCAL else.

    Raises
    ------
    InfeasibleInputError
        k exceeds n; all records together are less diverse than l.
    JobError
        k is below 1 or not a whole number; an unknown initial method, effort or scale
        (UnknownNameError); initial_labels that are none, or have a group of
        fewer than k or break the promise, or stand beside an initial method; a
        negative time_limit, or one beside an effort; a seed below 0; t or l without a
        confidential attribute, or what says how they are counted without them; and as
        `closeness_first`, `diverse_vmdav`.
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
    >>> local_search([[0.0], [12.0], [2.0], [11.0], [3.0], [10.0]], k=3).labels
    array([0, 1, 0, 1, 0, 1])
    """
    how = Effort(time_limit, effort, seed)
    asked = Asked(confidential, t, l, bins, levels, boundaries, diversity)
    clock = Deadline(None, rarely(progress))
    records, exponent = within_one(scaled(X, scale))
    k = group_size(k, len(records))
    labels, status = _searched(records, k, (initial, initial_labels), how, asked, clock)
    if status is Status.INTERRUPTED:
        warnings.warn(INTERRUPTED, stacklevel=outside())
    evidence = squares(
        records,
        labels,
        k,
        by="local search",
        seconds=clock.spent,
        status=status,
        exponent=exponent,
    )
    return Partition(labels, evidence)


def _searched(
    records: Floats,
    k: int,
    start: Initial,
    how: Effort,
    asked: Asked,
    reporting: Deadline,
) -> tuple[Labels, Status]:
    how.require()
    promise = promised(asked, len(records))
    first = first_groups(records, k, *start, promise)
    labels, status = grouped(records, k, first, how, promise, reporting)
    reporting.report(1.0)
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
)
