"""Choice of unions, found and improved part by part, by small integer programs."""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from aggopt.core.deadline import Deadline
from aggopt.core.highs_program import MODULES, HighsChoice
from aggopt.core.validation import Floats, Labels
from aggopt.repair._pricing import UnionPrices
from aggopt.repair._unions import Unions
from aggopt.solvers import Status
from aggopt.solvers.process_pool import NoAnswer
from aggopt.solvers.remote_object import Kept
from aggopt.solvers.separate_process import find_status_without_answer

GROUPS = 100  # in the first part, at most; later ones grow while programs are easy
COLUMNS = 3000  # unions in the program of a part, at most
NODES = 200  # of the search of one program, at most
PATIENCE = 60  # consecutive parts without a gain after which the search ends
LONGEST = 3.0  # seconds of one program, if time is limited


@dataclass(eq=False)
class _Choice:
    """Chosen union of each group, `owner` (m,): -1 for none yet."""

    unions: Unions
    owner: Labels = field(repr=False)
    missing: float  # cost of a group without a union

    @property
    def chosen(self) -> Labels:
        """The chosen unions."""
        return np.unique(self.owner[self.owner >= 0])

    @property
    def cost(self) -> float:
        """Sum of squares, and the cost of missing unions."""
        return self.cost_of(np.arange(len(self.owner)))

    def cost_of(self, part: Labels) -> float:
        """Return the cost of the unions of these groups."""
        owners = self.owner[part]
        unions = np.unique(owners[owners >= 0])
        missed = int((owners < 0).sum())
        return float(self.unions.costs[unions].sum() + self.missing * missed)

    def take(self, part: Labels, columns: Labels) -> None:
        """Assign the groups of a part to these unions."""
        self.owner[part] = -1
        for q in columns:
            self.owner[self.unions.members(q)] = q


class SearchedUnions(NamedTuple):
    """Union of each group (m,), -1 for none; the status of HiGHS without an answer."""

    owner: Labels
    missed: Status | None = None


def search_unions(
    unions: Unions, prices: UnionPrices, missing: float, clock: Deadline, seconds: float
) -> SearchedUnions:
    """Return a choice of unions of low cost.

    The first choice takes the unions of the largest shares in the linear program. Then,
    part by part: some unions of the choice, preferably those of high cost beyond their
    groups' prices, are replaced by the best choice among all unions within their
    groups; a choice costs no less than its groups' prices, so that unions with a
    reduced cost above the part's excess are left out. Random numbers are drawn from a
    fixed seed.
    """
    choice = _Choice(unions, np.full(unions.m, -1, np.intp), missing)
    _round_up(choice, prices)
    try:
        with Kept(HighsChoice, MODULES) as highs:
            _improve_choice(choice, prices, highs, clock, clock.spent + seconds)
    except NoAnswer as error:
        return SearchedUnions(choice.owner, find_status_without_answer(error))
    return SearchedUnions(choice.owner)


def _improve_choice(
    choice: _Choice,
    prices: UnionPrices,
    highs: Kept[HighsChoice],
    clock: Deadline,
    until: float,
) -> None:
    """Improve the choice part by part, until nothing is gained or time is up."""
    rng = np.random.default_rng(0)
    m = choice.unions.m
    size = min(GROUPS, max(6.0, 2 * m / 3))
    idle = 0
    near = _select_near(choice, prices)
    while idle < PATIENCE and clock.spent < until:
        part = _draw_part(choice, prices, int(size), rng)
        before = choice.cost
        left = until - clock.spent
        # the first complete choice is worth more time than a better one
        incomplete = bool((choice.owner < 0).any())
        longest = max(LONGEST, left / 2) if incomplete else min(LONGEST, left)
        longest = max(0.1, longest) if np.isfinite(until) else np.inf
        easy = _choose_part(choice, prices, part, near, highs, longest)
        size = min(size * 1.05, float(m)) if easy else max(20.0, size * 0.8)
        better = choice.cost < before - 1e-9
        idle = 0 if better else idle + 1
        if better:
            near = _select_near(choice, prices)
        elif easy and len(part) == m:
            return  # the part was everything


def _round_up(choice: _Choice, prices: UnionPrices) -> None:
    taken = np.flatnonzero(prices.shares > 1e-6)
    for q in taken[np.argsort(-prices.shares[taken], kind="stable")]:
        groups = choice.unions.members(q)
        if (choice.owner[groups] < 0).all():
            choice.owner[groups] = q


def _select_near(choice: _Choice, prices: UnionPrices) -> Labels:
    """Return the unions that a better choice may contain."""
    excess = choice.cost - float(prices.prices.sum())
    return np.flatnonzero(prices.reduced <= excess + 1e-9)


def _draw_part(
    choice: _Choice, prices: UnionPrices, size: int, rng: np.random.Generator
) -> Labels:
    """Return some `size` groups: those without a union, and all of some unions."""
    chosen = choice.chosen
    excess = np.maximum(prices.reduced[chosen], 0.0)
    weights = excess + excess.sum() / max(1, len(excess)) / 10 + 1e-9
    order = chosen[np.argsort(-np.log(rng.random(len(chosen))) / weights)]
    groups = np.flatnonzero(choice.owner < 0)
    for q in order:
        members = choice.unions.members(q)
        if not len(groups) or len(groups) + len(members) <= size:
            groups = np.concatenate((groups, members))
    return np.sort(groups)


def _choose_part(
    choice: _Choice,
    prices: UnionPrices,
    part: Labels,
    near: Labels,
    highs: Kept[HighsChoice],
    longest: float,
) -> bool:
    """Choose the unions of a part again; return whether that was easy."""
    unions = choice.unions
    allowed = np.zeros(unions.m, bool)
    allowed[part] = True
    starts, index = unions.rows(near)
    inside = near[np.logical_and.reduceat(allowed[index], starts[:-1])]
    excess = choice.cost_of(part) - float(prices.prices[part].sum())
    inside = inside[prices.reduced[inside] <= excess + 1e-9]
    by_cost = inside[np.argsort(prices.reduced[inside], kind="stable")]
    current = np.unique(choice.owner[part])
    columns = np.union1d(by_cost[:COLUMNS], current[current >= 0])
    before = choice.cost_of(part)
    owner = choice.owner.copy()
    y, easy = _solve_part(choice, part, columns, highs, longest)
    choice.take(part, columns[y[: len(columns)] > 0.5])
    if choice.cost_of(part) > before:
        choice.owner[:] = owner
    return easy


def _solve_part(
    choice: _Choice,
    part: Labels,
    columns: Labels,
    highs: Kept[HighsChoice],
    longest: float,
) -> tuple[Floats, bool]:
    """Return the columns that HiGHS chooses, starting from the choice, and if it ended.

    A last column for each group leaves it without a union.
    """
    unions = choice.unions
    starts, index = unions.rows(columns)
    place = np.empty(unions.m, np.intp)
    place[part] = np.arange(len(part))
    lacking = np.arange(len(part))
    is_current = np.isin(columns, choice.owner[part])
    return highs.ask(
        longest,
        HighsChoice.choose,
        _pad_costs(unions.costs[columns], len(part), choice.missing),
        np.concatenate((starts, starts[-1] + 1 + lacking)),
        np.concatenate((place[index], lacking)),
        np.concatenate((is_current, choice.owner[part] < 0)).astype(float),
        len(part),
        NODES,
        longest,
    )


def _pad_costs(costs: Floats, count: int, value: float) -> Floats:
    return np.concatenate((costs, np.full(count, value)))
