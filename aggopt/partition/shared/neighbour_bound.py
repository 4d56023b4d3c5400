"""Lower bounds on the loss of every partition into groups of at least k records."""

import warnings
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from aggopt.core.deadline import Progress, quote_limit, throttle
from aggopt.core.parallel import ignore_progress
from aggopt.core.record_weights import compute_sse
from aggopt.core.validation import (
    Floats,
    Labels,
    check_group_size,
    find_caller_stacklevel,
    is_number,
)
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
    from aggopt.privacy.requirement import Requirement

ROUNDING = 1e-12  # share of the loss of one group that rounding may have added
BUDGETS = ("quick", "none")
QUICK = 3.0  # seconds of "quick", at most
QUICK_LEAST = 0.01  # and at least
QUICK_PAIR = 1e-4  # seconds of "quick" for each record and each other in its group


def read_budget(bound: str | float, n: int, k: int, share: float = 1.0) -> float:
    """Return the seconds that a bound may take: of a usual processor, not of a clock.

    `share` is the share of a table's budget that the bound of n records, a part of it,
    may take.

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
        quick = min(share * QUICK, max(share * QUICK_LEAST, QUICK_PAIR * n * k))
        return quick if bound == "quick" else 0.0
    if not is_number(bound) or not 0 <= bound < inf:
        raise JobError(
            f"bound = {quote_limit(bound)}.",
            fix='pass "quick", "none" or a number of seconds, from 0 up.',
        )
    return share * bound


def loss_bound(
    X: npt.ArrayLike,
    k: int,
    *,
    scale: str = "z",
    weights: npt.ArrayLike | None = None,
    confidential: npt.ArrayLike | None = None,
    t: float | Fraction | None = None,
    distance: str = "ordered",
    tree: Mapping[Any, Any] | None = None,
    l: int | None = None,  # noqa: E741
    alpha: float | None = None,
    units: npt.ArrayLike | None = None,
    strata: npt.ArrayLike | None = None,
    dominance: float | None = None,
    bound: str | float = "quick",
    progress: Progress | None = None,
) -> float:
    """Return a lower bound on the loss of any partition into groups of k or more.

    Whatever the method, no partition of the records has a smaller sum of squares within
    groups.  The bound is the largest that the pair program,
    `aggopt.models.pair_bound`, proves within a budget: 90 to 99 % of the least loss for
    some thousand records.  Without a budget it is the neighbour bound, some two thirds.

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
        Confidential attributes, for t, l and alpha, each of which applies to every
        attribute.  The bound is of partitions whose groups satisfy them: it shows how
        much they cost at least.  These and the following arguments take a budget.
    t : float, optional
        Largest EMD between a group and the table, 0 < t < 1.
    distance : "ordered", "equal" or "hierarchical"
        Of t, as in `aggopt.privacy.t_closeness`: ordered numbers, by distinct values;
        names that are equally far apart; or names in a `tree`.
    tree : dict, optional
        The tree of the hierarchical distance: nested, {"lung": ["flu", "asthma"]}, or
        the parent of each value.
    l : int, optional
        Distinct values in a group, at least.
    alpha : float, optional
        Largest share of one value in a group, 0 < alpha <= 1: (alpha, k)-anonymity.
    units : (n,), optional
        Unit of each record, such as a person: a group has records of k units or more.
    strata : (n,), optional
        Stratum of each record: a group has records of one stratum only.
    dominance : float, optional
        Largest share of one record in the weight of its group; it takes weights.
    bound : "quick", "none" or seconds
        The budget.  "none": the neighbour bound; "quick": up to three seconds, fewer
        for small tables; or a number of seconds from 0 up.  Seconds of a usual
        processor are converted into steps: the bound depends on the budget and not on
        the load.  It never falls if the budget rises.  The neighbour bound is computed
        whatever the budget.
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
        k exceeds n, the number of units or the records of a stratum; or no groups
        satisfy l, alpha or dominance.
    JobError
        k is below 1 or not a whole number; t, l, alpha or dominance is no number in its
        range; confidential without t, l and alpha, or one of these without it; distance
        or tree without t; a requirement without a budget; bound is no budget; an
        unknown scale, distance or budget (UnknownNameError).
    TableError
        X is not a matrix of finite numbers; weights are not one number above 0 for
        each record, or span more than six orders of magnitude; confidential, units or
        strata are not one value per record, or values do not fit the distance.

    Warns
    -----
    UserWarning
        The seconds suffice for the neighbour bound only, or memory has no room for more
        pairs of records.

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
    differ much, and for more than 64 records, when each record is compared only with
    its nearest.

    Examples
    --------
    >>> X = [[0.0], [1.0], [3.0], [7.0], [8.0]]
    >>> round(loss_bound(X, k=2, scale="none"), 3)
    5.167
    >>> round(loss_bound(X, k=2, scale="none", bound="none"), 6)
    2.0
    """
    from aggopt.partition.shared import bound_arguments

    records, weighing = scale_with_weights(X, scale, weights)
    n = len(records)
    k = check_group_size(k, n)
    seconds = read_budget(bound, n, k)
    arguments = bound_arguments.BoundArguments(
        confidential, t, distance, tree, l, alpha, units, dominance
    )
    requirements = bound_arguments.read_requirements(arguments, n, k, weights)
    codes = None if strata is None else bound_arguments.read_strata(strata, n, k)
    if (requirements or codes is not None) and not seconds:
        raise JobError(
            "A bound of groups that satisfy requirements takes a budget.",
            fix='pass bound="quick" or a number of seconds above 0.',
        )
    proven = prove_promised_loss(
        records,
        k,
        requirements,
        weights=weighing.values,
        seconds=seconds,
        strata=codes,
        progress=throttle(progress),
    )
    if bound not in BUDGETS:
        warn_of_limit(proven)
    return proven.bound * weighing.unit


class ProvenLoss(NamedTuple):
    """What every partition loses at least.

    Attributes
    ----------
    bound
        The bound, in the unit of the squares of the records.
    interrupted
        Whether Ctrl-C ended the search for it.
    limit
        Text on what kept the bound low, budget or memory; None if nothing did.
    """

    bound: float
    interrupted: bool = False
    limit: str | None = None

    def require_uninterrupted(self) -> float:
        """Return the bound; raise KeyboardInterrupt if Ctrl-C ended its search."""
        if self.interrupted:
            raise KeyboardInterrupt
        return self.bound


def prove_loss(
    records: Floats,
    k: int,
    *,
    jobs: int | None = None,
    weights: npt.ArrayLike | None = None,
    seconds: float | None = None,
    requirements: "Sequence[PairRequirement]" = (),
    loss: float = inf,
    progress: Progress = ignore_progress,
) -> ProvenLoss:
    """Return a lower bound on the loss of groups of k of scaled records (n, d).

    `seconds` is the budget of the pair program, "quick" when omitted; with 0, the bound
    is the neighbour bound.  All groups satisfy the `requirements`, and so have a least
    size.  A bound that reaches the `loss` of known groups ends the search.
    """
    n = len(records)
    weighing = Weighing.read(weights, n)
    seconds = read_budget("quick", n, k) if seconds is None else seconds
    k = max([k, *(requirement.find_least_size(k) for requirement in requirements)])
    if k == 1:
        return ProvenLoss(0.0)
    unit_records, exponent = scale_to_unit(zero_constants(records))
    if n < 2 * k:
        labels = np.zeros(n, np.intp)
        bound = compute_sse(unit_records, labels, weighing.values)
        bound = rescale_squares(bound * (1 - ROUNDING), exponent)
        return ProvenLoss(bound * weighing.unit)
    from aggopt.algorithms.pair_bound import bound_partitions  # imports numba

    proven = bound_partitions(
        unit_records,
        k,
        seconds,
        weights=weighing.values,
        requirements=requirements,
        loss=rescale_squares(loss / weighing.unit, -exponent),
        jobs=jobs,
        progress=progress,
    )
    limit = None
    if proven.is_cut:
        limit = "memory has no room for more pairs of records"
    elif proven.is_short:
        limit = "the budget suffices for the nearest records only"
    bound = rescale_squares(proven.bound, exponent) * weighing.unit
    return ProvenLoss(bound, proven.interrupted, limit)


def warn_of_limit(proven: ProvenLoss) -> None:
    """Warn if a bound is low because budget or memory was short."""
    if proven.limit is not None:
        warnings.warn(
            f"The bound is lower than it could be: {proven.limit}.",
            stacklevel=find_caller_stacklevel(),
        )


FREE = 0.2  # share of the budget for the bound without requirements, at most


def prove_promised_loss(
    records: Floats,
    k: int,
    requirements: "Sequence[Requirement | PairRequirement]",
    *,
    jobs: int | None = None,
    weights: Floats | None = None,
    seconds: float | None = None,
    strata: Labels | None = None,
    loss: float = inf,
    left: float = inf,
    progress: Progress = ignore_progress,
) -> ProvenLoss:
    """Return a lower bound on the loss of groups of k that satisfy all requirements.

    With strata (n,), 0..s-1, each group is within one.  The records (n, d) are scaled
    for distances, and the weights to mean 1.  The bound is the larger one of two: that
    of the pair program, within a budget of seconds, "quick" when omitted; and that of t
    and one ordered attribute, `aggopt.models.closeness_bound`, without weights, for
    which the solver has `left` seconds and GRACE more.
    """
    prove = partial(prove_loss, jobs=jobs, progress=progress)
    if not requirements and strata is None:
        return prove(records, k, weights=weights, seconds=seconds, loss=loss)
    from aggopt.partition.shared.promised_bound import (
        bound_closeness,
        list_pair_requirements,
    )

    n = len(records)
    seconds = read_budget("quick", n, k) if seconds is None else seconds
    rows = list_pair_requirements(requirements)
    strata = np.zeros(n, np.intp) if strata is None else strata
    parts: list[ProvenLoss] = []
    for stratum in range(int(strata.max()) + 1):
        members = np.flatnonzero(strata == stratum)
        budget = seconds * len(members) / n
        part = partial(
            prove,
            records[members],
            k,
            weights=None if weights is None else weights[members],
        )
        free = min(FREE * budget, read_budget("quick", len(members), k))
        best = part(seconds=free if rows else budget)
        if rows and not best.interrupted:
            selected = [requirement.select(members) for requirement in rows]
            promised = part(seconds=budget - free, requirements=selected)
            best = promised._replace(bound=max(best.bound, promised.bound))
        parts.append(best)
    bound = sum(part.bound for part in parts)
    interrupted = any(part.interrupted for part in parts)
    if weights is None and not interrupted and bound < loss:
        bound = max(bound, bound_closeness(records, requirements, left))
    limits = [part.limit for part in parts if part.limit]
    return ProvenLoss(bound, interrupted, limits[0] if limits else None)
