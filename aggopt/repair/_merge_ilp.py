"""Unions of groups that are t-close, chosen by an integer program."""

from typing import NamedTuple

import numpy as np

from aggopt.arrays import Labels
from aggopt.clock import Clock
from aggopt.models import closeness_merge as model
from aggopt.repair._task import Task
from aggopt.repair._unions import Priced, Unions, close_unions, priced
from aggopt.solvers import Certificate, Solver, Status
from aggopt.solvers._answer import Answer
from aggopt.solvers._child import GRACE, answer_apart

ROUNDING = 1e-9
# unions in each integer program, those of least reduced cost; at last all that an
# optimum may hold, if they are no more than MANY
STAGES = (400, 2000, 10_000, None)
MANY = 40_000


class Chosen(NamedTuple):
    """Labels (n,), and the certificate of the program that chose them."""

    labels: Labels
    certificate: Certificate


def chosen_unions(
    task: Task, labels: Labels, start: Labels, solver: Solver, clock: Clock
) -> Chosen:
    """Return t-close unions of the groups of labels (n,), as good as `start` or better.

    By reduced cost: a union that costs more than its groups' prices by all that
    separates the best choice from the bound is in no better choice.  So the program
    over all others is as good as that over all unions.
    """
    unions = close_unions(task, labels, start, clock)
    known = int(start.max()) + 2
    seconds = clock.left / 2 if np.isfinite(clock.left) else np.inf
    prices = priced(unions, known, clock, max(seconds, 0.0))
    clock.tell(0.4)
    best, least = start, task.sse(start)
    complete = least - prices.bound <= ROUNDING * max(1.0, least)
    by_cost, status = np.argsort(prices.reduced, kind="stable"), Status.LIMIT
    for few in STAGES:
        wanted = _wanted(prices, least)
        if complete or clock.left <= 1 or (few is None and len(wanted) > MANY):
            break
        asked = _with_known(wanted if few is None else by_cost[:few], by_cost, known)
        found = _solved(unions, asked, solver, clock, hurry=few == STAGES[0])
        status = found.status
        if found.reading is not None and task.sse(found.reading) < least:
            best, least = found.reading, task.sse(found.reading)
        left_out = np.setdiff1d(_wanted(prices, least), asked)
        complete = status is Status.OPTIMAL and len(left_out) == 0
        clock.tell(0.7)
    return Chosen(best, _certificate(prices, least, complete, status, solver, clock))


def _with_known(chosen: Labels, by_cost: Labels, known: int) -> Labels:
    last = np.arange(len(by_cost) - known, len(by_cost))
    return np.union1d(chosen, last)


def _wanted(prices: Priced, least: float) -> Labels:
    gap = max(0.0, least - prices.bound)
    return np.flatnonzero(prices.reduced <= gap * (1 + ROUNDING) + ROUNDING)


def _solved(
    unions: Unions, asked: Labels, solver: Solver, clock: Clock, *, hurry: bool
) -> Answer:
    """Ask in a process of its own: HiGHS's time limit is soft, and this one is not."""
    limit = None
    if np.isfinite(clock.left):
        limit = clock.left / 4 if hurry else max(clock.left - GRACE, clock.left / 2)
    return answer_apart(model, unions.data(asked), solver, None, limit, None)


def _certificate(
    prices: Priced,
    least: float,
    complete: bool,
    status: Status,
    solver: Solver,
    clock: Clock,
) -> Certificate:
    ended = Status.OPTIMAL if complete else Status.LIMIT
    if not complete and status is Status.OPTIMAL:
        ended = Status.LOCAL
    bound = min(prices.bound, least)
    return Certificate(ended, least, bound, 0.0, solver.name, clock.spent)
