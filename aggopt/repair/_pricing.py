"""Prices of groups: a linear program over unions, extended by those that pay."""

from dataclasses import dataclass, field, replace

import numpy as np

from aggopt.core.deadline import Deadline
from aggopt.core.highs_program import HighsProgram, HighsSolution
from aggopt.core.validation import Floats, Labels
from aggopt.partition.shared.restricted_master import RestrictedMaster, require_highs
from aggopt.repair._unions import Unions
from aggopt.solvers import Status
from aggopt.solvers.process_pool import NoAnswer
from aggopt.solvers.separate_process import find_status_without_answer

ENTERING = 600  # unions that a round adds to the linear program, at most


@dataclass(frozen=True, eq=False)
class UnionPrices:
    """Result of the linear program.

    Attributes
    ----------
    prices : (m,)
        Prices of the groups.
    reduced : (q,)
        Cost of every union less the prices of its groups.
    shares : (q,)
        Share of every union in the solution, 0 to 1.
    bound
        Bound that the prices prove: no choice of these unions costs less.
    missed
        Status of HiGHS if it did not answer: UNANSWERED or FAILED.
    """

    prices: Floats = field(repr=False)
    reduced: Floats = field(repr=False)
    shares: Floats = field(repr=False)
    bound: float
    missed: Status | None = None


def price_unions(
    unions: Unions, known_count: int, clock: Deadline, seconds: float
) -> UnionPrices:
    """Return the result of the linear program, solved by adding unions that pay.

    The last `known` unions are in from the start. It stops after `seconds`; the bound
    holds then, too.
    """
    with _UnionMaster(unions.m) as master:
        return _price_unions(master, unions, known_count, clock, clock.spent + seconds)


def _price_unions(
    master: "_UnionMaster",
    unions: Unions,
    known_count: int,
    clock: Deadline,
    until: float,
) -> UnionPrices:
    """Return the best prices so far, adding unions that pay in rounds."""
    q = len(unions.costs)
    m = unions.m
    within = np.zeros(q, bool)
    enter = np.arange(q - known_count, q)
    zero = np.zeros(m)
    best = UnionPrices(zero, unions.compute_reduced_costs(zero), np.zeros(q), 0.0)
    while enter.size and clock.spent < until:
        within[enter] = True
        try:
            solved = master.solve(unions, enter, until - clock.spent)
        except NoAnswer as error:
            return replace(best, missed=find_status_without_answer(error))
        if solved.duals is None:
            break
        prices = solved.duals
        reduced = unions.compute_reduced_costs(solved.duals)
        # a choice has m unions at most: each gains at most the least reduced cost
        proven = float(prices.sum() + m * min(0.0, reduced.min()))
        if proven > best.bound or not best.bound:
            shares = np.zeros(q)
            shares[np.concatenate(master.entered)] = solved.columns
            best = UnionPrices(prices, reduced, shares, max(proven, 0.0))
        paying = np.flatnonzero((reduced < -1e-9) & ~within)
        enter = paying[np.argsort(reduced[paying], kind="stable")[:ENTERING]]
    return best


class _UnionMaster(RestrictedMaster):
    """Restricted master over unions: a row for each group, a column for each union."""

    def __init__(self, m: int) -> None:
        require_highs("Unions")
        super().__init__(m)
        self.entered: list[Labels] = []

    def solve(self, unions: Unions, enter: Labels, seconds: float) -> HighsSolution:
        """Return the optimum after adding these unions; the duals are of the groups.

        The duals are None if `seconds` were too few.
        """
        starts, index = unions.rows(enter)
        self.add_columns(unions.costs[enter], starts[:-1], index, np.ones(len(index)))
        self.entered.append(enter)
        return self.ask(seconds, HighsProgram.solve, seconds)
