"""Lower bounds on the loss of every partition into groups of at least k records."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import fsum, inf
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from aggopt.core.deadline import Progress, quote_limit, throttle
from aggopt.core.memory import require_memory
from aggopt.core.record_weights import compute_sse
from aggopt.core.validation import Floats, Labels, check_group_size, is_number
from aggopt.errors import JobError, require_known
from aggopt.partition.shared.scaling import (
    Weighing,
    rescale_squares,
    scale_to_unit,
    scale_with_weights,
    zero_constants,
)

if TYPE_CHECKING:
    from aggopt.algorithms.pair_bound.requirements import PairRequirement

EXACT = 3000  # records up to which each record is compared with all others
NEAREST = 64  # others that are compared with it beyond that, or 4 k if that is more
CHUNK = 1_000_000  # distances held at a time
ROUNDS = 30  # of Dinkelbach's method, which needs some five
MET = 1e-14  # share of a ratio by which it may still fall


class _Candidates(NamedTuple):
    """Some records: their weights (c,); distances (c, q) and weights of others."""

    own_weights: Floats
    apart: Floats
    weights: Floats


def compute_weighted_bound(records: Floats, k: int, weights: Floats) -> float:
    """Return a lower bound on any partition's loss, for unequal weights (n,).

    The records are (n, d), n of 2k or more, k of 2 or more.
    """
    parts = (
        chunk.own_weights
        * _minimise_ratio(chunk, k, np.partition(weights, k - 2)[: k - 1].sum())
        for chunk in _iterate_candidates(records, k, weights)
    )
    return 0.5 * fsum(np.concatenate([*parts]))


def _iterate_candidates(
    records: Floats, k: int, weights: Floats
) -> Iterator[_Candidates]:
    """Yield chunks of records, with all records as candidates for their groups."""
    if len(records) > EXACT:
        yield from _iterate_nearest(records, k, weights)
        return
    from scipy.spatial.distance import cdist

    n = len(records)
    step = max(1, CHUNK // n)
    for a in range(0, n, step):
        distances = cdist(records[a : a + step], records, "sqeuclidean")
        rows = np.arange(len(distances))
        distances[rows, a + rows] = np.inf
        own_weights = weights[a : a + step]
        yield _Candidates(
            own_weights, distances, np.broadcast_to(weights, distances.shape)
        )


def _iterate_nearest(records: Floats, k: int, weights: Floats) -> Iterator[_Candidates]:
    """Yield chunks of records with near candidates, and a bound for all others.

    The remaining ones are represented by as many others as a group may have: as far
    away as the last of the nearest, with the smallest weights of all records.
    """
    from aggopt.partition.neighbours import iterate_nearest

    count = min(max(NEAREST, 4 * k), len(records) - 1)
    max_others = 2 * k - 2
    lightest_weights = np.sort(weights)[:max_others]
    start = 0
    for neighbour_distances, near in iterate_nearest(records, count + 1):
        rows = np.arange(start, start + len(neighbour_distances))
        distances = neighbour_distances**2
        start = start + len(neighbour_distances)
        last = distances[:, -1:]
        distances[near == rows[:, None]] = np.inf
        other_weights = np.broadcast_to(lightest_weights, (len(rows), max_others))
        yield _Candidates(
            weights[rows],
            np.hstack([distances, np.repeat(last, max_others, axis=1)]),
            np.hstack([weights[near], other_weights]),
        )


def _minimise_ratio(candidates: _Candidates, k: int, lightest: float) -> Floats:
    """Return a lower bound on each record's share of its group's loss, any group.

    Dinkelbach's method: at a ratio t the others with the least w (d - t) are chosen. If
    they add up to own t less some s >= 0, no choice is below t - s / (own + lightest),
    `lightest` being the least weight that k - 1 others have.
    """
    own_weights = candidates.own_weights
    max_others = 2 * k - 2
    nearest = np.argpartition(candidates.apart, k - 2, axis=1)[:, : k - 1]
    ratio = _compute_ratio(candidates, nearest, np.ones(nearest.shape))
    for _ in range(ROUNDS):
        value = candidates.weights * (candidates.apart - ratio[:, None])
        best = np.argpartition(value, max_others - 1, axis=1)[:, :max_others]
        value = np.take_along_axis(value, best, axis=1)
        order = value.argsort(axis=1)
        value = np.take_along_axis(value, order, axis=1)
        best = np.take_along_axis(best, order, axis=1)
        taken = (np.arange(max_others) < k - 1) | (value < 0)
        shortfall = np.minimum(
            np.where(taken, value, 0.0).sum(axis=1) - own_weights * ratio, 0.0
        )
        lower_bound = ratio + shortfall / (own_weights + lightest)
        if (ratio - lower_bound <= MET * ratio).all():
            break
        ratio = np.minimum(
            _compute_ratio(candidates, best, taken.astype(np.float64)), ratio
        )
    return np.asarray(np.maximum(lower_bound, 0.0))


def _compute_ratio(candidates: _Candidates, selected: Labels, taken: Floats) -> Floats:
    """Return each record's share of the loss, for selected other members (c, r)."""
    weights = taken * np.take_along_axis(candidates.weights, selected, axis=1)
    distances = np.take_along_axis(candidates.apart, selected, axis=1)
    return np.asarray(
        (weights * distances).sum(axis=1)
        / (candidates.own_weights + weights.sum(axis=1))
    )


MANY = 20_000  # records from which on the compiled tree is faster, on all cores
ROUNDING = 1e-12  # share of the bound that rounding may have added
BUDGETS = ("quick", "none")
QUICK = 3.0  # seconds of "quick", at most
QUICK_LEAST = 0.05  # and at least
QUICK_PAIR = 1e-4  # seconds of "quick" for each record and each other in its group


def read_budget(bound: str | float, n: int, k: int) -> float:
    """Return the seconds that a bound may take: of a usual processor, not of a clock.

    Raises
    ------
    JobError
        The bound is neither a number of seconds, from 0 up and finite, nor one of
        BUDGETS (UnknownNameError).

    Examples
    --------
    >>> read_budget("quick", 1000, 5), read_budget("none", 1000, 5)
    (0.5, 0.0)
    """
    if isinstance(bound, str):
        require_known("bound", bound, BUDGETS)
        quick = min(QUICK, max(QUICK_LEAST, QUICK_PAIR * n * k))
        return quick if bound == "quick" else 0.0
    if not is_number(bound) or not 0 <= bound < inf:
        raise JobError(
            f"bound = {quote_limit(bound)}.",
            fix='pass "quick", "none" or a number of seconds, from 0 up.',
        )
    return float(bound)


def loss_bound(
    X: npt.ArrayLike,
    k: int,
    *,
    scale: str = "z",
    weights: npt.ArrayLike | None = None,
    confidential: npt.ArrayLike | None = None,
    t: float | Fraction | None = None,
    bound: str | float = "none",
    progress: Progress | None = None,
) -> float:
    """Return a lower bound on the loss of any partition into groups of k or more.

    Whatever the method, no partition of the records has a smaller sum of squares within
    groups.  By default the bound is the neighbour bound, some two thirds of the least
    loss.  With a budget it is the largest that the pair program,
    `aggopt.models.pair_bound`, proves: 90 to 99 %.

    Parameters
    ----------
    X : (n, d)
        Quasi-identifiers in their own units: numbers, none missing.
    k : int
        Records per group, at least; 1 <= k <= n.
    scale : "z" or "none"
        "z" measures the loss on z-scores (population standard deviation), and a
        constant attribute weighs nothing; "none" in the units of X.
    weights : (n,), optional
        Sampling weights, above 0: the bound is of sum_i w_i |x_i - c|^2 with weighted
        means c, on the scale of the weights, and z-scores are by weighted moments.
    confidential : (n,) or (n, c), optional
        Confidential numbers: the bound is of partitions into t-close groups, and shows
        how much t costs at least.  It takes a budget, and no weights.
    t : float, optional
        Largest ordered EMD between a group and the table, by distinct values.
    bound : "quick", "none" or seconds
        The budget.  "none": the neighbour bound; "quick": up to three seconds, fewer
        for small tables; or a number of seconds from 0 up.  Seconds of a usual
        processor are converted into steps: the bound depends on the budget and not on
        the load.  It never falls if the budget rises.
    progress : callable, optional
        Progress callback: called with the share of the budget that is spent.

    Returns
    -------
    float
        A bound on the sum of squares within groups, over all records and attributes,
        0.0 or more.  With n < 2k all records form one group, and the bound is its loss.
        After Ctrl-C, the largest bound so far.

    Raises
    ------
    InfeasibleInputError
        k exceeds n.
    JobError
        k is below 1 or not a whole number; t is not strictly between 0 and 1;
        confidential without t or a budget, or with weights; bound is no budget; an
        unknown scale or budget (UnknownNameError).
    MemoryLimitError
        The distinct confidential values do not fit memory.
    TableError
        X is not a matrix of finite numbers; weights are not one number above 0 for
        each record, or span more than six orders of magnitude; confidential is not one
        number per record.

    Notes
    -----
    Proof of the neighbour bound.  Let A_i(q) be the sum of the q smallest squared
    distances of record i from other records.  The sum of squares of a group S of s
    records is

        (1 / 2s) sum_{i in S} sum_{j in S} |x_i - x_j|^2  >=  sum_{i in S} A_i(s-1)/2s,

    as each i has s - 1 others in S.  A_i(s-1) / 2s does not fall with s: the s-th
    smallest distance a is no less than the mean of the s - 1 before it, hence
    a >= A_i(s-1) / (s-1) >= A_i(s-1) / s, and

        A_i(s) / 2(s+1)  =  (A_i(s-1) + a) / 2(s+1)  >=  A_i(s-1) (1 + 1/s) / 2(s+1)
                         =  A_i(s-1) / 2s.

    So each record adds A_i(k-1) / 2k at least, whatever the size of its group, and the
    bound is sum_i A_i(k-1) / 2k.  It holds for groups larger than 2k - 1, too.

    With weights the sum of squares of a group S of weight W is

        sum_{i in S} (w_i / 2) sum_{j in S} w_j |x_i - x_j|^2 / W,

    and each record adds at least the minimum of its term over all choices of k - 1 to
    2k - 2 others: larger groups can be split, which adds nothing.  Dinkelbach's method
    minimises that ratio.  The bound is weaker than without weights if the weights
    differ much, and from 3000 records on, when each record is compared only with its
    nearest.

    Examples
    --------
    >>> X = [[0.0], [1.0], [3.0], [7.0], [8.0]]
    >>> round(loss_bound(X, k=2, scale="none"), 6)
    2.0
    >>> round(loss_bound(X, k=2, scale="none", bound="quick"), 6)
    5.166667
    """
    records, _ = scale_with_weights(X, scale, weights)
    k = check_group_size(k, len(records))
    seconds = read_budget(bound, len(records), k)
    requirements = _read_closeness(confidential, t, len(records))
    if requirements and (weights is not None or not seconds):
        raise JobError(
            "A bound of t-close groups takes a budget, and no weights.",
            fix='pass bound="quick" or a number of seconds above 0, and leave weights '
            "out.",
        )
    return compute_loss_bound(
        records,
        k,
        weights=weights,
        seconds=seconds,
        requirements=requirements,
        progress=throttle(progress),
    )


CLOSE_BYTES = 128  # for each record and each distinct confidential value


def _read_closeness(
    confidential: npt.ArrayLike | None, t: float | Fraction | None, n: int
) -> "list[PairRequirement]":
    """Return the t-closeness of each confidential attribute; none without any."""
    if confidential is None and t is None:
        return []
    if confidential is None or t is None:
        raise JobError(
            "confidential and t are given one without the other.",
            fix="pass both, or leave both out.",
        )
    from aggopt.algorithms.pair_bound.requirements import OrderedCloseness
    from aggopt.partition.constraints import CloseToTable

    close = CloseToTable.of(confidential, n, t, "distinct")
    values = sum(attribute.m for attribute in close.attributes)
    require_memory(CLOSE_BYTES * n * values, f"a bound by {values} distinct values")
    return [OrderedCloseness(a.place, float(close.t)) for a in close.attributes]


def compute_loss_bound(
    records: Floats,
    k: int,
    *,
    jobs: int | None = None,
    weights: npt.ArrayLike | None = None,
    seconds: float = 0.0,
    requirements: "Sequence[PairRequirement]" = (),
    progress: Progress | None = None,
) -> float:
    """Return the bound for records (n, d) that are already scaled for distances.

    `seconds` is the budget of the pair program; without any, the bound is the neighbour
    bound.  All groups satisfy the `requirements`, and so have a least size.
    """
    weighing = Weighing.read(weights, len(records))
    k = max([k, *(each.find_least_size(k) for each in requirements)])
    if k == 1:
        return 0.0
    unit_records, exponent = scale_to_unit(zero_constants(records))
    if len(records) < 2 * k:
        labels = np.zeros(len(unit_records), np.intp)
        bound = compute_sse(unit_records, labels, weighing.values)
        return rescale_squares(bound * (1 - ROUNDING), exponent) * weighing.unit
    bound = 0.0
    if seconds:
        from aggopt.algorithms.pair_bound import bound_partitions  # imports numba

        bound = bound_partitions(
            unit_records,
            k,
            seconds,
            weights=weighing.values,
            requirements=requirements,
            progress=progress,
        ).bound
    if weighing.values is not None:
        neighbours = compute_weighted_bound(unit_records, k, weighing.values)
        bound = max(bound, neighbours * (1 - ROUNDING))
    elif bound == 0:
        neighbours = _sum_nearest_distances(unit_records, k, jobs) / (2 * k)
        bound = neighbours * (1 - ROUNDING)
    return rescale_squares(bound, exponent) * weighing.unit


def _sum_nearest_distances(records: Floats, k: int, jobs: int | None) -> float:
    """Return the sum of squared distances of records to their k - 1 nearest others."""
    if len(records) < MANY:
        from aggopt.partition.neighbours import find_nearest

        return float((find_nearest(records, k)[0] ** 2).sum())
    from aggopt.core.parallel import ThreadPool
    from aggopt.partition.neighbours import sum_nearest_distances

    with ThreadPool(jobs) as threads:
        return sum_nearest_distances(records, k, threads)
