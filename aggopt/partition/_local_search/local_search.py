"""Local search: partitions improved change by change, for any given time."""

import warnings
from importlib import import_module
from math import inf
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from pydantic import Field, StrictInt

from aggopt.core.deadline import Deadline, Progress, require_time_limit, throttle
from aggopt.core.deferred_signals import finish_despite_interrupt
from aggopt.core.record_weights import compute_sse
from aggopt.core.validation import (
    Floats,
    Labels,
    check_group_size,
    find_caller_stacklevel,
    renumber_groups,
    require_seed,
)
from aggopt.errors import JobError, PrivacyError, require_known
from aggopt.partition._local_search.search import COOLED, PERTURBATIONS, Search
from aggopt.partition._local_search.setup import (
    create_weights,
    has_large_groups,
    make_initial_groups,
)
from aggopt.partition._local_search.state import Weights
from aggopt.partition._mdav import split_large
from aggopt.partition.constraints import NEAR as NEAR_KEPT
from aggopt.partition.constraints import (
    ConstraintArguments,
    Constraints,
    Promise,
    read_constraints,
    require_dominance,
    with_dominance,
)
from aggopt.partition.neighbours import find_neighbours
from aggopt.partition.registry import (
    FromGroups,
    InitialMethod,
    Partitioner,
    PartitionFunction,
)
from aggopt.partition.shared.evidence import certify_squares
from aggopt.partition.shared.result import INTERRUPTED, Partition
from aggopt.partition.shared.scaling import scale_to_unit, scale_with_weights
from aggopt.partition.shared.settings import SEARCH_EXEMPTIONS, Timed
from aggopt.solvers import Status


def local_search(
    X: npt.ArrayLike,
    k: int,
    *,
    initial: str | PartitionFunction | None = None,
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
    """Return groups of k or more records whose loss no simple change lowers.

    First, records move to near groups, swap places with records there, or push one on
    to a third group, as long as the sum of squares within groups falls.  Then one small
    part after the other is perturbed (records exchanged at random, a group dissolved,
    or one made) and improved again.  Worse results are undone, at first not always,
    then ever more strictly, relative to the distances in that part.  For k of 8 or
    more, random changes at falling temperatures precede this (annealing).  If t or l is
    required of a confidential attribute, only changes that keep it are made, and
    annealing does most of the work.

    Parameters
    ----------
    X : (n, d)
        Quasi-identifiers in their own units: numbers, none missing.
    k : int
        Records per group, 1 <= k <= n.  With n < 2k all records are one group.
    initial : "mdav", "cbfs", "vmdav", "mhm" or "projection", or callable, optional
        Method, or your own function f(X, k), that makes the initial partition: "mdav"
        if omitted.  If t or l is required, its groups are merged until they keep it; if
        omitted, a suitable method is chosen.
    initial_labels : (n,) ints, optional
        Initial partition, in place of a method's: labels 0..m-1 of groups of k or more.
        Groups of 2k or more are split; if t or l is required, labels must keep it, and
        groups are not split.
    time_limit : float, optional
        Seconds for the search, which continues until then; the best partition so far is
        returned.  The initial partition and the first call's compilation are not
        counted.  With 0, or too little to find neighbours, the initial partition is
        returned.
    effort : "fast", "default" or "best"
        Without `time_limit`: 1, 10 or 100 perturbations per record.  A few milliseconds
        for each record with "best", a hundredth of that with "fast". If t or l is
        required, a tenth of them, but 1000 at least, after 300, 3000 or 30 000 random
        changes per record.
    seed : int
        Seed of the perturbations.  Without `time_limit`, equal seeds give equal groups.
    scale : "z" or "none"
        "z" measures distances on z-scores (population standard deviation), and a
        constant attribute weighs nothing.  "none" uses X unchanged: for attributes that
        you have weighted yourself.
    confidential : (n,), optional
        The confidential attribute, whose values in each group t or l restricts.
    t, bins
        Largest ordered EMD between a group and the table, as in `closeness_first`.
    l, levels, boundaries, diversity
        Diversity of each group, at least, as in `diverse_vmdav`.
    weights : (n,), optional
        Sampling weights, above 0, of any scale: the search lowers the weighted sum of
        squares from weighted means, and z-scores use weighted moments.  k, t and l
        count records.
    dominance : float, optional
        With weights: largest share of its group's weight that a record may have, above
        0 and at most 1.  Initial groups are merged until they satisfy it, and may have
        2k records or more.
    progress : callable, optional
        Progress callback: called with the completed share, from 0.0 to 1.0, a few dozen
        times at most.

    Returns
    -------
    Partition
        Group of each record, numbered 0..m-1 in the order of the groups' first records.
        They never lose more than the initial groups, which are returned if no better
        ones are found.  They have 2k - 1 records at most, unless t, l or a dominance is
        required, which they keep: checked in whole numbers, or to 1e-9 of the
        dominance.  The status of the certificate is OPTIMAL if the objective is as low
        as the bound; KEPT if no better groups were found; LIMIT if time ended the
        search, INTERRUPTED if Ctrl-C did; LOCAL else.

    Raises
    ------
    InfeasibleInputError
        k exceeds n; all records together are less diverse than l, or one of them has
        more than the dominance of their weight.
    JobError
        k is below 1 or not a whole number; an unknown initial method, effort or scale
        (UnknownNameError); initial_labels that are invalid, or have a group of fewer
        than k, or break t or l, or are passed together with an initial method; a
        negative time_limit, or one together with an effort; a seed below 0; t or l
        without a confidential attribute, or their settings without t or l; a dominance
        without weights, or not above 0 and at most 1; and as `closeness_first`,
        `diverse_vmdav`.
    TableError
        X is not a matrix of finite numbers; the confidential attribute is not one value
        per record; weights are not one number above 0 for each, or span more than six
        orders of magnitude.

    Warns
    -----
    UserWarning
        After Ctrl-C, which ends the search: the best groups so far are returned.
        Before an initial partition exists, KeyboardInterrupt is raised.

    Notes
    -----
    A change costs time in proportion to d; memory grows as n d.  Nearest neighbours are
    exact for up to 5000 records.  For more, a few trees of random splits find near
    ones, on all cores; the groups do not depend on the number of cores.  The search
    itself has one thread: `blocked` is faster from some ten thousand on.  A change is
    refused if it makes a group's entropy fall within 1e-9 of log l without equal
    shares, although the group may keep l.

    Weaknesses: the distance from the best of all partitions is unknown; for a few
    thousand records `optimal` proves it.  Under t the number of groups hardly changes:
    `aggopt.repair.closeness` tries several.

    Source: iterated local search as in Lourenco, Martin and Stuetzle, Handbook of
    Metaheuristics, 2003; changes of one, two or three groups are usual in clustering.

    Examples
    --------
    >>> local_search([[0.0], [12.0], [2.0], [11.0], [3.0], [10.0]], k=3).labels
    array([0, 1, 0, 1, 0, 1])
    """
    search_effort = Effort(time_limit, effort, seed)
    arguments = ConstraintArguments(
        confidential, t, l, bins, levels, boundaries, diversity
    )
    clock = Deadline(None, throttle(progress))
    require_dominance(dominance, weights)
    records, weighing = scale_with_weights(X, scale, weights)
    records, exponent = scale_to_unit(records)
    k = check_group_size(k, len(records))
    search_weights = create_weights(weighing.values, len(records), k, dominance)
    constraints = _build_constraints(arguments, search_weights, len(records))
    search_effort.require()
    first_labels = make_initial_groups(records, k, initial, initial_labels, constraints)
    labels, status = search_groups(
        records, k, first_labels, search_effort, constraints, clock, search_weights
    )
    clock.report(1.0)
    if status is Status.INTERRUPTED:
        warnings.warn(INTERRUPTED, stacklevel=find_caller_stacklevel())
    evidence = certify_squares(
        records,
        labels,
        k,
        by="local search",
        seconds=clock.spent,
        status=status,
        exponent=exponent,
        weights=weights,
        requirements=() if constraints is None else constraints.requirements,
    )
    return Partition(labels, evidence)


def _build_constraints(
    arguments: ConstraintArguments, weights: Weights | None, n: int
) -> Constraints | None:
    """Return constraints on groups (t, l, dominance) other than size k, or None."""
    constraints = read_constraints(arguments, n)
    if weights is None or weights.share == 1:
        return constraints
    return with_dominance(constraints, weights.values, weights.share)


class LocalSearch(FromGroups, Timed):
    """Settings of `aggopt.partition.local_search`.

    Attributes
    ----------
    initial
        Method that makes the initial groups.  A job contains no labels:
        `initial_labels` is available in Python only.
    seed
        Seed of the perturbations.
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
    excused=SEARCH_EXEMPTIONS,
    searches=True,
    weighs=True,
    dominates=True,
)


EFFORTS = {"fast": 1, "default": 10, "best": 100}  # perturbations for each record
NEAR = 12  # nearest records whose groups a record may join
ANNEALED = 8  # smallest k for which annealing pays
PROPOSALS = 3000  # of annealing, for each record
SHARE = 0.4  # of the time, at most, for annealing
# Constraints exclude most changes, and then annealing is the best search:
KEPT_PERTURBATIONS = 0.1  # times as many
LEAST_PERTURBATIONS = 1000  # in total, however few records
KEPT_PROPOSALS = 300  # of annealing, for each record and each perturbation of EFFORTS
KEPT_SHARE = 0.8


class Effort(NamedTuple):
    """Time limit, or else the name of an effort; and the seed of random choices."""

    time_limit: float | None
    effort: str
    seed: int

    def require(self) -> None:
        """Raise a JobError if a value is invalid."""
        require_known("effort", self.effort, EFFORTS)
        require_seed(self.seed)
        require_time_limit(self.time_limit)
        if self.time_limit is not None and self.effort != "default":
            raise JobError(
                f"effort = {self.effort!r} and time_limit are both set, but only one "
                "of them ends the search.",
                fix="leave one of the two out.",
            )

    @property
    def perturbations(self) -> float:
        """Number of perturbations for each record; inf under a time limit."""
        return EFFORTS[self.effort] if self.time_limit is None else inf


def search_groups(
    records: Floats,
    k: int,
    initial_labels: Labels,
    effort: Effort,
    promise: Constraints | None,
    reporting: Deadline,
    weights: Weights | None = None,
) -> tuple[Labels, Status]:
    """Return labels (n,) of groups that satisfy all constraints, and the status.

    They lose no more than the first groups, which satisfy them, too.
    """
    if len(records) < 2 * k:
        return np.zeros_like(initial_labels), Status.LOCAL
    if promise is None:
        if k == 1:
            return np.arange(len(records)), Status.LOCAL
        return run_search(records, k, initial_labels, effort, None, reporting, weights)
    state = promise.search_state
    labels, status = run_search(
        records, k, initial_labels, effort, state, reporting, weights
    )
    if promise.find_broken(labels).any():
        raise PrivacyError(
            f"The groups of the search do not satisfy {promise.name}.",
            fix="choose another method, and report this.",
        )
    return labels, status


def run_search(
    records: Floats,
    k: int,
    initial_labels: Labels,
    effort: Effort,
    promise: Promise | None,
    reporting: Deadline,
    weights: Weights | None = None,
) -> tuple[Labels, Status]:
    """Return the labels (n,) of least loss found, even after Ctrl-C, and the status."""
    is_constrained = promise is not None
    search = None
    status = Status.INTERRUPTED
    try:
        _load_kernels()
        clock = Deadline(effort.time_limit, reporting.progress)
        if clock.over:
            return initial_labels, Status.LIMIT
        near = find_neighbours(records, NEAR_KEPT if is_constrained else NEAR, clock)
        start_labels = initial_labels
        if not has_large_groups(promise, weights):
            start_labels = split_large(records, renumber_groups(initial_labels), k)
        search = Search(records, start_labels, k, near, effort.seed, promise, weights)
        status = (_run_constrained if is_constrained else _run_unconstrained)(
            search, k, effort, clock
        )
    except KeyboardInterrupt:
        pass
    better, stopped = finish_despite_interrupt(
        lambda: _select_better(records, initial_labels, search, weights)
    )
    if stopped:
        status = Status.INTERRUPTED
    if better is not None:
        return better, status
    return initial_labels, status if status is not Status.LOCAL else Status.KEPT


def _load_kernels() -> None:
    """Import the compiled modules, so that the time limit excludes compilation."""
    import_module("aggopt.partition._local_search.search_kernels")


def _select_better(
    records: Floats,
    initial_labels: Labels,
    search: Search | None,
    weights: Weights | None,
) -> Labels | None:
    """Return the search's labels if their loss is lower, else the initial ones."""
    if search is None:
        return None
    labels = search.labels
    own_weights = None if weights is None else weights.values
    is_better = compute_sse(records, labels, own_weights) < compute_sse(
        records, initial_labels, own_weights
    )
    return labels if is_better else None


def _run_unconstrained(
    search: Search, k: int, effort: Effort, clock: Deadline
) -> Status:
    """Run a search with minimum size k only: anneal, descend, perturb."""
    order = np.arange(len(search.labels))
    if k >= ANNEALED:
        share = None if effort.time_limit is None else clock.left * SHARE
        search.anneal(PROPOSALS, Deadline(share))
    search.descend(order, clock)
    search.perturb(
        order, effort.perturbations, clock, PERTURBATIONS if k < ANNEALED else COOLED
    )
    return Status.LIMIT if clock.over else Status.LOCAL


def _run_constrained(search: Search, k: int, effort: Effort, clock: Deadline) -> Status:
    """Run a search under constraints: descend, anneal, descend, perturb."""
    order = np.arange(len(search.labels))
    proposals = (
        KEPT_PROPOSALS * EFFORTS[effort.effort if effort.time_limit is None else "best"]
    )
    share = None if effort.time_limit is None else clock.left * KEPT_SHARE
    search.descend(order, clock)
    search.anneal(proposals, Deadline(share))
    search.descend(order, clock)
    search.perturb(
        order,
        max(
            effort.perturbations * KEPT_PERTURBATIONS, LEAST_PERTURBATIONS / len(order)
        ),
        clock,
    )
    return Status.LIMIT if clock.over else Status.LOCAL
