"""Prices of groups: a linear program over unions, to which those that pay are added."""

from dataclasses import dataclass, field, replace

import numpy as np

from aggopt.core.deadline import Deadline
from aggopt.core.highs_program import HighsProgram, HighsSolution
from aggopt.core.validation import Floats, Labels
from aggopt.partition._shared.restricted_master import RestrictedMaster, require_highs
from aggopt.repair._unions import Unions
from aggopt.solvers import Status
from aggopt.solvers._apart import unanswered
from aggopt.solvers._pool import NoAnswer

ENTERING = 600  # unions that a round adds to the linear program, at most


@dataclass(frozen=True, eq=False)
class Priced:
    """What the linear program says.

    Attributes
    ----------
    prices : (m,)
        Of the groups.
    reduced : (q,)
        Cost of every union less the prices of its groups.
    shares : (q,)
        How much of every union the program takes, 0 to 1.
    bound
        What the prices prove: no choice of these unions costs less.
    missed
        How HiGHS ended where it did not answer: UNANSWERED or FAILED.
    """

    prices: Floats = field(repr=False)
    reduced: Floats = field(repr=False)
    shares: Floats = field(repr=False)
    bound: float
    missed: Status | None = None


def priced(unions: Unions, known: int, clock: Deadline, seconds: float) -> Priced:
    """Return what the linear program says, solved by adding unions that pay.

    The last `known` unions are in from the start.  Stopped after so many seconds; the
    bound holds then, too.
    """
    with _UnionMaster(unions.m) as master:
        return _priced(master, unions, known, clock, clock.spent + seconds)


def _priced(
    master: "_UnionMaster", unions: Unions, known: int, clock: Deadline, until: float
) -> Priced:
    q, m = len(unions.costs), unions.m
    within, enter, zero = np.zeros(q, bool), np.arange(q - known, q), np.zeros(m)
    best = Priced(zero, unions.reduced(zero), np.zeros(q), 0.0)
    while enter.size and clock.spent < until:
        within[enter] = True
        try:
            solved = master.solve(unions, enter, until - clock.spent)
        except NoAnswer as none:
            return replace(best, missed=unanswered(none))
        if solved.duals is None:
            break
        prices, reduced = solved.duals, unions.reduced(solved.duals)
        # a choice has m unions at most: each gains no more than the least
        proven = float(prices.sum() + m * min(0.0, reduced.min()))
        if proven > best.bound or not best.bound:
            shares = np.zeros(q)
            shares[np.concatenate(master.entered)] = solved.columns
            best = Priced(prices, reduced, shares, max(proven, 0.0))
        paying = np.flatnonzero((reduced < -1e-9) & ~within)
        enter = paying[np.argsort(reduced[paying], kind="stable")[:ENTERING]]
    return best


class _UnionMaster(RestrictedMaster):
    """The restricted master over unions: a row a group, a column a union."""

    def __init__(self, m: int) -> None:
        require_highs("Unions")
        super().__init__(m)
        self.entered: list[Labels] = []

    def solve(self, unions: Unions, enter: Labels, seconds: float) -> HighsSolution:
        """Return the optimum once these unions are in; the duals are of the groups.

        Without duals where so many seconds do not do for any.
        """
        starts, index = unions.rows(enter)
        self.add_columns(unions.costs[enter], starts[:-1], index, np.ones(len(index)))
        self.entered.append(enter)
        return self.ask(seconds, HighsProgram.solve, seconds)
