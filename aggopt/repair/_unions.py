"""Unions of groups: all that are t-close, and a linear program that prices them."""

from dataclasses import dataclass, field
from functools import cached_property
from math import comb
from typing import Any

import numpy as np

from aggopt.arrays import Floats, Labels
from aggopt.clock import Clock
from aggopt.errors import SolverError
from aggopt.models import closeness_merge as model
from aggopt.repair._task import Task
from aggopt.solvers import SOLVERS

MOST = 2_000_000  # unions that are looked at
ENTERING = 600  # unions that a round adds to the linear program, at most


@dataclass(frozen=True, eq=False)
class Unions:
    """Proposed unions of the groups of `labels` (n,), as `closeness_merge` has them."""

    task: Task
    labels: Labels = field(repr=False)
    column: Labels = field(repr=False)
    group: Labels = field(repr=False)

    def data(self, chosen: Labels | None = None) -> model.Data:
        """Return the model's data, of these unions only."""
        column, group = self.column, self.group
        if chosen is not None:
            kept = np.zeros(column[-1] + 1, bool)
            kept[chosen] = True
            new = np.cumsum(kept) - 1
            rows = kept[column]
            column, group = new[column[rows]], group[rows]
        task = self.task
        return model.Data(
            task.Z, self.labels, task.ordered, task.t, task.k, column, group
        )

    @cached_property
    def costs(self) -> Floats:
        """Sum of squares of each union, (q,)."""
        return self.data().costs

    @cached_property
    def first(self) -> Labels:
        """Where each union starts, and where the last ends, (q + 1,)."""
        starts = np.flatnonzero(np.diff(self.column, prepend=-1))
        return np.append(starts, len(self.column))

    def reduced(self, prices: Floats) -> Floats:
        """Return cost less the prices (m,) of the groups, (q,)."""
        paid = np.add.reduceat(prices[self.group], self.first[:-1])
        return np.asarray(self.costs - paid)


def widest(m: int) -> int:
    """Return how many of m groups a union may hold, for `MOST` of them to be all."""
    total, count = 0, 0
    while count < m and total + comb(m, count + 1) <= MOST:
        count += 1
        total += comb(m, count)
    return max(1, count)


def close_unions(task: Task, labels: Labels, known: Labels, clock: Clock) -> Unions:
    """Return all t-close unions of up to `widest` groups, and those of `known` (n,).

    Those of known, which are t-close, come last, and with them the union of all.
    When time is up, wider ones are left out.
    """
    from aggopt.repair import _unions_kernels as kernels

    m = int(labels.max()) + 1
    off, sizes = model.deviations(task.ordered, labels), np.bincount(labels)
    found: list[Labels] = []
    for count in range(1, widest(m) + 1):
        if clock.over:
            break
        room = comb(m, count)
        found.append(kernels.close_unions(off, sizes, task.limits, task.k, count, room))
    last = [np.unique(labels[known == u]) for u in range(known.max() + 1)]
    last.append(np.arange(m))
    group = np.concatenate([*(f.ravel() for f in found), *last])
    of_known = np.array([len(u) for u in last])
    lengths = np.concatenate([*(np.full(*f.shape) for f in found), of_known])
    column = np.repeat(np.arange(len(lengths)), lengths)
    return Unions(task, labels, column, group)


@dataclass(frozen=True)
class Priced:
    """Reduced cost of every union (q,), and the bound that the prices prove."""

    reduced: Floats = field(repr=False)
    bound: float


def priced(unions: Unions, known: int, clock: Clock, seconds: float) -> Priced:
    """Return what the linear program says, solved by adding unions that pay.

    The last `known` unions are in from the start.  Stopped after so many seconds; the
    bound holds then, too.
    """
    q, m = len(unions.costs), int(unions.labels.max()) + 1
    master, within = _Master(m), np.zeros(q, bool)
    enter = np.arange(q - known, q)
    best = Priced(unions.reduced(np.zeros(m)), 0.0)
    until = clock.spent + seconds
    while enter.size and clock.spent < until:
        within[enter] = True
        reduced = unions.reduced(prices := master.prices(unions, enter))
        # a choice has m unions at most: each gains no more than the least
        proven = float(prices.sum() + m * min(0.0, reduced.min()))
        if proven > best.bound or not best.bound:
            best = Priced(reduced, max(proven, 0.0))
        paying = np.flatnonzero((reduced < -1e-9) & ~within)
        enter = paying[np.argsort(reduced[paying], kind="stable")[:ENTERING]]
    return best


class _Master:
    """The linear program over the unions so far, kept in HiGHS between rounds."""

    def __init__(self, m: int) -> None:
        if SOLVERS["cvxpy:highs"].lacks:
            raise SolverError(
                "Unions are priced by HiGHS, which is not installed.",
                fix=f"run {SOLVERS['cvxpy:highs'].install}.",
            )
        import highspy

        self.highs: Any = highspy.Highs()
        self.highs.silent()
        self.highs.setOptionValue("threads", 1)
        for _ in range(m):
            self.highs.addRow(1.0, 1.0, 0, [], [])

    def prices(self, unions: Unions, enter: Labels) -> Floats:
        """Return the dual of each group (m,), once these unions are in."""
        parts = [unions.group[unions.first[q] : unions.first[q + 1]] for q in enter]
        lengths = np.array([len(part) for part in parts])
        starts = (np.cumsum(lengths) - lengths).astype(np.int32)
        index = np.concatenate(parts).astype(np.int32)
        count, ones = len(enter), np.ones(len(index))
        endless = np.full(count, np.inf)
        self.highs.addCols(
            count,
            unions.costs[enter],
            np.zeros(count),
            endless,
            len(index),
            starts,
            index,
            ones,
        )
        self.highs.run()
        return np.array(self.highs.getSolution().row_dual)
