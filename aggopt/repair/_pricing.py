"""Prices of groups: a linear program over unions, to which those that pay are added."""

from dataclasses import dataclass, field

import numpy as np

from aggopt.core.deadline import Deadline
from aggopt.core.validation import Floats, Labels
from aggopt.partition._shared.restricted_master import RestrictedMaster, require_highs
from aggopt.repair._unions import Unions

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
    """

    prices: Floats = field(repr=False)
    reduced: Floats = field(repr=False)
    shares: Floats = field(repr=False)
    bound: float


def priced(unions: Unions, known: int, clock: Deadline, seconds: float) -> Priced:
    """Return what the linear program says, solved by adding unions that pay.

    The last `known` unions are in from the start.  Stopped after so many seconds; the
    bound holds then, too.
    """
    q, m = len(unions.costs), unions.m
    master, within = _UnionMaster(m), np.zeros(q, bool)
    enter = np.arange(q - known, q)
    zero = np.zeros(m)
    best = Priced(zero, unions.reduced(zero), np.zeros(q), 0.0)
    until = clock.spent + seconds
    while enter.size and clock.spent < until:
        within[enter] = True
        prices = master.prices(unions, enter, until - clock.spent)
        if prices is None:
            break
        reduced = unions.reduced(prices)
        # a choice has m unions at most: each gains no more than the least
        proven = float(prices.sum() + m * min(0.0, reduced.min()))
        if proven > best.bound or not best.bound:
            best = Priced(prices, reduced, master.shares(q), max(proven, 0.0))
        paying = np.flatnonzero((reduced < -1e-9) & ~within)
        enter = paying[np.argsort(reduced[paying], kind="stable")[:ENTERING]]
    return best


class _UnionMaster(RestrictedMaster):
    """The restricted master over unions: a row a group, a column a union."""

    def __init__(self, m: int) -> None:
        require_highs("Unions")
        super().__init__(m)
        self.entered: list[Labels] = []

    def prices(self, unions: Unions, enter: Labels, seconds: float) -> Floats | None:
        """Return the dual of each group (m,), once these unions are in.

        None where so many seconds do not do for any.
        """
        starts, index = unions.rows(enter)
        self.add_columns(unions.costs[enter], starts[:-1], index, np.ones(len(index)))
        self.entered.append(enter)
        self.limit(seconds)
        self.highs.run()
        found = self.highs.getSolution()
        return np.array(found.row_dual) if found.dual_valid else None

    def shares(self, q: int) -> Floats:
        """Return how much of each of q unions the program takes."""
        found = np.zeros(q)
        found[np.concatenate(self.entered)] = self.highs.getSolution().col_value
        return found
