"""Multipliers of records (prices), raised step by step: their sum bounds the loss.

A price of 0 for each record is feasible.  Each round raises all prices by a step, and
lowers those of each box that breaks its condition (see `aggopt.models.
generalised_loss`): one pass ends feasible.  Steps shrink from round to round, from
twice the mean price on.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import exp, fsum, inf
from typing import Any

import numpy as np

from aggopt.algorithms.boxes.state import PriceState
from aggopt.core.deadline import Deadline, compile_time
from aggopt.core.types import F64, I32, I64
from aggopt.models import generalised_loss as model
from aggopt.solvers.certificate import Answer, Status, is_gap_closed
from aggopt.solvers.options import check_time_limit, require_only_time_limit
from aggopt.solvers.solver import Solver

ROUNDS = 700  # more raise the bound by less than a thousandth, of long lists
SHORT, MOST_ROUNDS = 200_000_000, 7000  # members visited in rounds of short lists
PER_COMBINATION = 20  # rounds, if there are few: more raise the bound of none
MOST_VISITS = 8_000_000_000  # of members of boxes, in all rounds: a minute or two
FIRST_STEP = 2.0  # times the mean price; smaller ones fail where equal records abound
DECAY = 5.3  # the last step is exp(-DECAY) of the first
REACH = 4.0  # steps that a price may rise before boxes with slack are looked at again
SAFE = model.SAFE


@dataclass(frozen=True, eq=False)
class PricedBoxes:
    """Boxes with their losses, and the distinct records in each of them.

    Attributes
    ----------
    starts, members, losses
        As in `aggopt.algorithms.boxes.box_list.BoxList`.
    counts, weights : (c,)
        Number of records of each combination, and the sampling weight of each.
    k
        Least number of records of a group.
    cap
        All boxes below this loss are listed; inf if all are.
    kinds, l : (c,)
        Kind of the records with each combination, and least number of kinds of a group.
    """

    starts: I64 = field(repr=False)
    members: I32 = field(repr=False)
    losses: F64 = field(repr=False)
    counts: I64 = field(repr=False)
    weights: F64 = field(repr=False)
    k: int
    cap: float
    kinds: I64 = field(repr=False)
    l: int = 1  # noqa: E741

    @cached_property
    def ceiling(self) -> F64:
        """Highest price of each distinct record, (c,): no missing box loses less."""
        largest = float(self.losses.max(initial=0.0)) if self.cap == inf else self.cap
        return np.asarray(largest * self.weights)

    @cached_property
    def by_loss(self) -> I64:
        """The numbers of the boxes, those of least loss first, (b,)."""
        return np.argsort(self.losses, kind="stable")

    def make_state(self, prices: F64) -> PriceState:
        """Return the state of kernels that change a copy of these prices."""
        c = len(self.counts)
        return PriceState(
            prices.copy(),
            self.counts,
            self.weights,
            self.k,
            self.kinds,
            self.l,
            chosen=np.zeros(c, np.int64),
            copies=np.zeros(c, np.int64),
            best=np.zeros(int(self.kinds.max()) + 1, np.int64),
            largest=np.zeros(self.k, np.int64),
            excess=np.zeros(self.k),
        )

    def find_cheapest_prices(self) -> F64:
        """Return the least loss of a box for each distinct record: feasible prices.

        They prove the neighbour bound: it also holds if each record may publish a true
        value that fits k records, whatever these publish.
        """
        from aggopt.algorithms.boxes import price_kernels as kernels

        cheapest = self.ceiling / self.weights
        kernels.find_cheapest(self.starts, self.members, self.losses, cheapest)
        return np.asarray(cheapest * self.weights)

    def measure_slack(self, prices: F64) -> F64:
        """Return by how much prices of a group in each box could rise together, (b,).

        inf if the box has no possible group.
        """
        from aggopt.algorithms.boxes import price_kernels as kernels

        slack = np.zeros(len(self.losses))
        kernels.measure_slack(
            self.starts, self.members, self.losses, self.make_state(prices), slack
        )
        return slack

    def lower_prices(self, prices: F64, order: I64) -> F64:
        """Return prices lowered until no group in a box is dearer than its loss."""
        from aggopt.algorithms.boxes import price_kernels as kernels

        state = self.make_state(prices)
        kernels.lower_prices(order, self.starts, self.members, self.losses, state)
        return state.prices

    def make_feasible(self, prices: F64) -> F64:
        """Return feasible prices, none above these, whatever rounding did."""
        capped = np.minimum(prices, self.ceiling)
        lowered = self.lower_prices(capped, self.by_loss)
        worst = -float(self.measure_slack(lowered).min(initial=0.0))
        return np.asarray(lowered - worst / self.k - SAFE * (1 + np.abs(lowered)))

    def compute_bound(self, prices: F64) -> float:
        """Return the bound that feasible prices prove, 0 or more."""
        return max(0.0, fsum(self.counts * prices))


def raise_prices(
    boxes: PricedBoxes,
    *,
    clock: Deadline,
    rounds: int | None = None,
    prices: F64 | None = None,
) -> F64:
    """Return a feasible price of each distinct record (c,), so that their sum is high.

    Boxes with more slack than prices can have risen are left out, until prices have
    risen by REACH steps, or steps are half as long.  Equal lists get equal prices if
    the clock has no limit: long lists have fewer rounds, by the members visited.
    """
    prices = boxes.find_cheapest_prices()
    best, highest = prices, boxes.compute_bound(prices)
    mean = highest / boxes.counts.sum()
    rng = np.random.default_rng(0)
    sizes = np.diff(boxes.starts)
    reference, active, reach = prices, boxes.by_loss, -1.0
    if rounds is None:
        wanted = min(PER_COMBINATION * len(prices), MOST_ROUNDS)
        rounds = max(ROUNDS, min(SHORT // max(1, len(boxes.members)), wanted))
    power = 1.0 if rounds > ROUNDS else 0.5  # few rounds of long steps in long lists
    share, turn, visits = 0.0, 0, 0
    while share < 1.0:
        step = FIRST_STEP * mean * exp(-DECAY * share**power)
        raised = np.minimum(prices + step, boxes.ceiling)
        if reach > 2 * REACH * step or (raised - reference).max(initial=0.0) > reach:
            reference, reach = prices, REACH * step
            slack = boxes.measure_slack(reference)
            active = boxes.by_loss[slack[boxes.by_loss] <= boxes.k * reach + SAFE]
        prices = boxes.lower_prices(raised, _order_boxes(active, turn, rng))
        bound = boxes.compute_bound(prices)
        if bound > highest:
            best, highest = prices, bound
        turn += 1
        visits += int(sizes[active].sum())
        spent = clock.spent / clock.seconds if clock.seconds else 0.0
        share = max(turn / rounds, visits / MOST_VISITS, spent)
        clock.report(share)
    return boxes.make_feasible(best)


def _order_boxes(active: I64, turn: int, rng: np.random.Generator) -> I64:
    """Return the boxes in the order of a round: by loss, at random or backwards."""
    if turn % 3 == 0:
        return active
    return rng.permutation(active) if turn % 3 == 1 else active[::-1].copy()


def run(
    data: model.Data, solver: Solver, native: Mapping[str, Any], start: None
) -> Answer:
    """Return how many records each box publishes, with a lower bound on the loss.

    Boxes are opened by their slack, least first, for the records that are left.

    Raises
    ------
    JobError
        An option that the method does not have.
    """
    require_only_time_limit(solver, native)
    time_limit = native.get("time_limit")
    check_time_limit(time_limit)
    clock = Deadline(time_limit)
    boxes = PricedBoxes(
        np.asarray(data.first, np.int64),
        np.asarray(data.combination, np.int32),
        data.loss,
        np.asarray(data.count, np.int64),
        data.weights,
        data.k,
        data.cap,
        np.asarray(data.kinds, np.int64),
        data.l,
    )
    started = compile_time.now()
    prices = raise_prices(boxes, clock=clock)
    bound = boxes.compute_bound(prices)
    numbers = open_boxes(data, boxes.measure_slack(prices))
    seconds = compile_time.now() - started
    if numbers is None:
        return Answer(None, Status.FAILED, bound, solver.name, seconds)
    cost = model.objective(data, model.point(data, numbers))
    status = Status.OPTIMAL if is_gap_closed(cost, bound) else Status.UNPROVEN
    return Answer(numbers, status, bound, solver.name, seconds)


def open_boxes(data: model.Data, slack: F64) -> F64 | None:
    """Return how many of each distinct record (p,) are published as each box.

    In the order of their slack (b,), least first, a box opens if k records of l kinds
    inside are left, and takes all of them.  The last ones join the cheapest open box
    that contains them.  All are published alike if some have no such box; None if no
    box contains all.
    """
    left = np.array(data.count, np.int64)
    numbers = np.zeros(len(data.box))
    is_open = np.zeros(len(data.loss), bool)
    for b in np.argsort(slack, kind="stable"):
        members = data.get_members(b)
        kinds = data.kinds[members[left[members] > 0]]
        if left[members].sum() >= data.k and len(np.unique(kinds)) >= data.l:
            is_open[b] = True
            numbers[data.first[b] : data.first[b + 1]] = left[members]
            left[members] = 0
    for b in np.argsort(data.loss, kind="stable"):
        if is_open[b]:
            members = data.get_members(b)
            numbers[data.first[b] : data.first[b + 1]] += left[members]
            left[members] = 0
    return model.publish_all_alike(data) if left.any() else numbers
