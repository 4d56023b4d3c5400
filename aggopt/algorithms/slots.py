"""Frequencies of categories: a rounded relaxation, completed by HiGHS.

1. The relaxation's multipliers prove a bound.  The relaxation is rounded.  While the
   result exceeds the slack, relaxations with less slack, which cost more, are rounded.
2. HiGHS improves the result on the few pairs of groups and categories that are nearly
   free.
3. Pairs that cost more than the incumbent by the multipliers are in no better choice.
   HiGHS solves the program of the others.  The bound is the lesser of its bound and the
   incumbent.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any

import numpy as np

from aggopt.core.deadline import LONGEST, Deadline
from aggopt.core.types import Bool, Floats, Labels
from aggopt.errors import JobError
from aggopt.models import frequencies as model
from aggopt.models.shared.category_choice import Choice, read_shares
from aggopt.solvers._cvxpy import NAME as LANGUAGE  # loads it before the clock starts
from aggopt.solvers.certificate import Answer, Status, is_gap_closed
from aggopt.solvers.options import check_time_limit
from aggopt.solvers.solve_problem import Outcome, solve
from aggopt.solvers.solver import Solver

SAFE = 1e-9  # of an objective: more than adding it up rounds


def reduce_slacks(data: model.Data) -> model.Data | None:
    """Return the data with limits rounded to attainable counts; None if none is.

    Weights that are multiples of g add up to multiples of g.  If all sizes are equal,
    the vertices of the relaxation are then whole, as in a transport problem.
    """
    if data.slack is None:
        return data
    low = data.counts - data.slack
    high = data.counts + data.slack
    for r, weights in enumerate(data.weights):
        whole_weights = np.rint(weights).astype(np.int64)
        step = (
            int(np.gcd.reduce(whole_weights)) if (whole_weights == weights).all() else 0
        )
        if step:
            low[r] = step * np.ceil(low[r] / step - SAFE)
            high[r] = step * np.floor(high[r] / step + SAFE)
    if (low > high).any():
        return None
    return replace(data, counts=(low + high) / 2, slack=(high - low) / 2)


def remove_pairs(data: model.Data, barred: Bool) -> model.Data:
    """Return the data without the barred pairs (q,) of group class and category."""
    t, c = data.pairs
    keep = np.full((len(data.classes[0]), data.loss.shape[1]), False)
    keep[t[~barred], c[~barred]] = True
    return replace(data, loss=np.where(keep[data.classes[1]], data.loss, np.inf))


def find_dearer_pairs(data: model.Data, multipliers: Floats, objective: float) -> Bool:
    """Return which pairs (q,) no choice of at most this objective contains."""
    bound, raised = model.compute_dual_bound(data, multipliers)
    return np.asarray(bound + raised > objective + SAFE * max(1.0, objective))


def find_far_pairs(data: model.Data, multipliers: Floats, max_pairs: int) -> Bool:
    """Return which pairs (q,) are not among the `max_pairs` cheapest ones.

    The cheapest pair of each class does not count.
    """
    raised = model.compute_dual_bound(data, multipliers)[1]
    max_pairs += len(data.classes[2])
    if len(raised) <= max_pairs:
        return np.zeros(len(raised), bool)
    return np.asarray(raised > np.partition(raised, max_pairs)[max_pairs])


NONE = 1e-9  # largest share that counts as 0


@dataclass(frozen=True, eq=False)
class Divided:
    """Groups (f,) that shares divide, and their shares of each category (f, C)."""

    groups: Labels = field(repr=False)
    shares: Floats = field(repr=False)


def round_shares(data: Choice, y: Floats) -> Labels | None:
    """Return a category of each group (m,), at no more cost than shares y (q,).

    None if y is too far from shares that add up.
    """
    categories, divided = assign_undivided(data, y)
    if divided.groups.size:
        taken = _match_slots(data, divided)
        if taken is None:
            return None
        categories[divided.groups] = taken
    return categories


def assign_undivided(data: Choice, y: Floats) -> tuple[Labels, Divided]:
    """Return categories (m,), -1 if open, and the groups that shares y (q,) divide.

    A class of symmetric groups fills whole groups first, and divides the rest.
    """
    t, c = data.pairs
    _, class_of, number = data.classes
    undivided = np.floor(y + NONE).astype(np.intp)
    left = number - np.bincount(t, undivided, len(number)).astype(np.intp)
    categories = np.full(len(class_of), -1)
    order = np.argsort(class_of, kind="stable")
    ends = np.cumsum(number)
    starts = np.concatenate(
        [order[end - n : end - r] for end, n, r in zip(ends, number, left, strict=True)]
    )
    categories[starts] = np.repeat(c, undivided)
    open_groups = []
    shares = []
    for k in np.flatnonzero(left):
        class_members = np.flatnonzero(t == k)
        part = np.maximum(y[class_members] - undivided[class_members], 0.0)
        open_groups.append(order[ends[k] - left[k] : ends[k]])
        shares.append(
            _cut_into_units(
                part * (left[k] / part.sum()), c[class_members], data.loss.shape[1]
            )
        )
    if not open_groups:
        return categories, Divided(np.empty(0, np.intp), np.empty((0, 0)))
    return categories, Divided(np.concatenate(open_groups), np.vstack(shares))


def _cut_into_units(part: Floats, categories: Labels, width: int) -> Floats:
    """Return a class's shares by group (groups, width): each group gets one unit."""
    ends = np.cumsum(part)
    units = np.arange(round(ends[-1]))[:, None]
    high = np.minimum(ends, units + 1)
    low = np.maximum(ends - part, units)
    parts = np.zeros((len(units), width))
    parts[:, categories] = np.maximum(high - low, 0.0)
    return parts


def _match_slots(data: Choice, divided: Divided) -> Labels | None:
    """Return a category (f,) of each divided group, by an assignment to slots."""
    from scipy.optimize import linear_sum_assignment

    cost, category, full = _build_slots(data, divided)
    slots = len(full)
    idle = np.where(full, np.inf, 0.0)  # a slot that no group takes is not full
    square = np.vstack([cost, np.tile(idle, (slots - len(cost), 1))])
    try:
        _, taken = linear_sum_assignment(square)
    except ValueError:  # shares that do not add up
        return None
    return np.asarray(category[taken[: len(cost)]])


def _build_slots(data: Choice, divided: Divided) -> tuple[Floats, Labels, Labels]:
    """Return slots' costs (f, slots), their categories, and whether each is full.

    The third array (slots,) marks the full slots.
    """
    size = data.weights.sum(axis=0)[divided.groups]
    largest_first = np.argsort(-size, kind="stable")
    costs = []
    category = []
    full = []
    for c, column in enumerate(divided.shares.T):
        load = float(column.sum())
        count = int(np.ceil(load - NONE))
        ends = np.cumsum(column[largest_first])
        starts = ends - column[largest_first]
        slot = np.arange(count)[:, None]
        inside = np.minimum(ends, slot + 1) - np.maximum(starts, slot) > NONE
        slot_costs = np.full((count, len(column)), np.inf)
        slot_costs[:, largest_first] = np.where(
            inside, data.loss[divided.groups[largest_first], c], np.inf
        )
        costs.append(slot_costs)
        category += [c] * count
        full += [load >= s + 1 - NONE for s in range(count)]
    return np.vstack(costs).T, np.array(category), np.array(full)


SLACKS = (1.0, 0.75, 0.5, 0.25, 0.0)  # shares of the slack, to leave room for rounding
FEW = (500, 4000, None)  # pairs that HiGHS receives besides the cheapest; then all
PART = 0.25  # share of the remaining time for a part of the pairs
EXACT = 1e-9  # records: more than adding up weights rounds
LEAST = 0.05  # seconds: a solver that has less finds nothing


@dataclass(eq=False)
class Standing:
    """Current state of the solution of a program."""

    data: model.Data
    clock: Deadline
    multipliers: Floats = field(repr=False)
    best: Labels | None = field(default=None, repr=False)
    objective: float = inf
    bound: float = 0.0
    infeasible: bool = False

    def offer(self, categories: Labels | None) -> None:
        """Make categories (m,) the best choice if they are feasible and better."""
        if categories is None:
            return
        at = model.point(self.data, categories)
        objective = model.objective(self.data, at)
        if objective < self.objective and model.MODEL.violation(self.data, at) < EXACT:
            self.best = categories
            self.objective = objective

    @property
    def over(self) -> bool:
        """Whether the search is over: proven, infeasible, or out of time."""
        done = self.best is not None and is_gap_closed(self.objective, self.bound)
        return done or self.infeasible or self.clock.left < LEAST

    def solve_program(self, problem: Any, share: float = 1.0) -> Outcome | None:
        """Return HiGHS's result in a share of the remaining time; None without time."""
        left = self.clock.left  # it may have run out while the problem was built
        if left < LEAST:
            return None
        return solve(problem, "cvxpy:highs", time_limit=share * left)


def run(
    data: model.Data, solver: Solver, native: Mapping[str, Any], start: None
) -> Answer:
    """Return the answer: the category of each group, by rounding and by HiGHS.

    Raises
    ------
    JobError
        Another option.
    """
    if set(native) - {"time_limit"}:
        raise JobError(
            f"{solver.name} refused one of its options: {sorted(native)}.",
            fix="it takes time_limit, a number above 0.",
        )
    limit = native.get("time_limit", LONGEST)
    check_time_limit(limit)
    clock = Deadline(float(limit))
    nothing = np.zeros_like(data.counts)
    standing = Standing(data, clock, nothing, bound=model.proven(data, nothing))
    tight = reduce_slacks(data)
    standing.infeasible = tight is None
    if tight is not None:
        standing.offer(np.argmin(data.loss, axis=1))
        _solve_and_round_relaxations(standing, tight)
        for pair_limit in FEW:
            _improve_by_program(standing, tight, pair_limit)
    seconds = clock.spent
    bound = min(standing.bound, standing.objective)
    return Answer(standing.best, _find_status(standing), bound, solver.name, seconds)


def _find_status(standing: Standing) -> Status:
    """Return the status of the solution at its current state."""
    if standing.best is None:
        return Status.INFEASIBLE if standing.infeasible else Status.FAILED
    if is_gap_closed(standing.objective, standing.bound):
        return Status.OPTIMAL
    return Status.LIMIT if standing.clock.left < LEAST else Status.UNPROVEN


def _solve_and_round_relaxations(standing: Standing, tight: model.Data) -> None:
    """Solve relaxations, and improve the bound and the best choice by them."""
    for i, relaxed in enumerate(_iter_relaxations(tight)):
        if standing.over or (i > 0 and _is_half_over(standing)):
            return
        problem = model.build(relaxed, LANGUAGE)
        outcome = standing.solve_program(problem)
        if outcome is None:
            return
        if not outcome.status.usable:
            standing.infeasible |= i == 0 and outcome.status is Status.INFEASIBLE
            continue
        if i == 0:
            _raise_bound(standing, tight, model.multipliers(problem, relaxed))
        y = read_shares(problem)
        categories = None if y is None else round_shares(relaxed, y)
        standing.offer(categories)
        if categories is not None and standing.best is categories:
            return


def _is_half_over(standing: Standing) -> bool:
    """Whether less time remains than is spent."""
    return standing.clock.left < standing.clock.spent


def _iter_relaxations(tight: model.Data) -> Iterator[model.Data]:
    """Yield relaxations of the data, with ever smaller slack."""
    if tight.slack is None or not tight.slack.any():
        yield replace(tight, shares="any")
        return
    for part in SLACKS:
        yield replace(tight, shares="any", slack=part * tight.slack)


def _raise_bound(
    standing: Standing, tight: model.Data, multipliers: Floats | None
) -> None:
    """Raise the lower bound to the one that multipliers prove, if there are any."""
    if multipliers is not None:
        standing.multipliers = multipliers
        standing.bound = max(standing.bound, model.proven(tight, multipliers))


def _improve_by_program(
    standing: Standing, tight: model.Data, max_pairs: int | None
) -> None:
    """Improve the best choice by HiGHS, on the `max_pairs` cheapest pairs or all."""
    if standing.over:
        return
    barred = find_dearer_pairs(tight, standing.multipliers, standing.objective)
    cheapest = (
        barred
        if max_pairs is None
        else find_far_pairs(tight, standing.multipliers, max_pairs)
    )
    is_exhaustive = not (cheapest & ~barred).any()
    barred = barred | cheapest
    smaller = remove_pairs(tight, barred)
    problem = model.build(smaller, LANGUAGE)
    outcome = standing.solve_program(problem, 1 if is_exhaustive else PART)
    if outcome is None:
        return
    if outcome.status.usable:
        standing.offer(model.categories(problem, smaller))
    if is_exhaustive:
        _raise_bound_by_program(standing, outcome)


def _raise_bound_by_program(standing: Standing, outcome: Outcome) -> None:
    """Raise the lower bound to the one that HiGHS proves."""
    if outcome.status is Status.INFEASIBLE and standing.best is None:
        standing.infeasible = True
    if outcome.bound is not None:
        bound = min(
            model.round_bound_up(standing.data, outcome.bound), standing.objective
        )
        standing.bound = max(standing.bound, bound)
