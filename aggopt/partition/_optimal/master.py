"""The linear program over the groups so far, kept in HiGHS between rounds."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from aggopt.core.validation import Floats, Labels
from aggopt.errors import SolverError
from aggopt.partition._optimal.columns import Groups
from aggopt.partition._optimal.pricing import Cut, Duals, Pair
from aggopt.partition._optimal.subset_row_cuts import halves
from aggopt.solvers import SOLVERS

EXACT = 1e-9  # tolerance of reduced costs


def require_highs() -> None:
    """Refuse to begin without HiGHS."""
    if SOLVERS["cvxpy:highs"].lacks:
        raise SolverError(
            "Groups are priced by HiGHS, which is not installed.",
            fix=f"run {SOLVERS['cvxpy:highs'].install}.",
        )


@dataclass(frozen=True, eq=False)
class Solved:
    """Objective, share of each group (q,), and duals, of the linear program."""

    value: float
    share: Floats
    duals: Duals

    @property
    def whole(self) -> bool:
        """Whether every group is chosen or not."""
        return bool((np.abs(self.share - np.rint(self.share)) < 1e-6).all())


class Master:
    """Rows for records and cuts, columns for groups; see `aggopt.models.set_partition`.

    The first n columns are records by themselves, which only branches may choose, at
    a price that no group has: they leave the program something to say where the groups
    that a branch allows do not hold every record yet.
    """

    def __init__(self, n: int) -> None:
        import highspy

        self.n = n
        self.cuts: list[Cut] = []
        self.groups = Groups(np.empty((0, 0), np.int32), np.empty(0, np.intp))
        self.together: tuple[Pair, ...] = ()
        self.apart: tuple[Pair, ...] = ()
        self.highs: Any = highspy.Highs()
        self.highs.silent()
        self.highs.setOptionValue("threads", 1)
        self.highs.setOptionValue("dual_feasibility_tolerance", EXACT)
        none = np.empty(0, np.int32)
        for _ in range(n):
            self.highs.addRow(1.0, 1.0, 0, none, none.astype(float))
        every, zeros = np.arange(n, dtype=np.int32), np.zeros(n)
        self.highs.addCols(n, zeros, zeros, zeros, n, every, every, np.ones(n))

    def add(self, groups: Groups, costs: Floats) -> None:
        """Take in groups (q, 2k - 1), and what they cost."""
        count = len(groups.sizes)
        if not count:
            return
        rows = [groups.members[groups.members >= 0]]
        column = [np.repeat(np.arange(count), groups.sizes)]
        entries = [np.ones(len(rows[0]))]
        if self.cuts:
            half = halves(groups, self.cuts, self.n).tocoo()
            rows.append(half.row + self.n)
            column.append(half.col)
            entries.append(half.data)
        of = np.concatenate(column)
        order = np.argsort(of, kind="stable")
        starts = np.searchsorted(of[order], np.arange(count)).astype(np.int32)
        self.highs.addCols(
            count,
            costs,
            np.zeros(count),
            np.full(count, np.inf),
            len(order),
            starts,
            np.concatenate(rows)[order].astype(np.int32),
            np.concatenate(entries)[order],
        )
        before = self.groups
        if not len(before.sizes):
            self.groups = groups
            return
        self.groups = Groups(
            np.concatenate([before.members, groups.members]),
            np.concatenate([before.sizes, groups.sizes]),
        )

    def add_cuts(self, cuts: list[Cut]) -> None:
        """Take in cuts, which hold for every partition."""
        half = halves(self.groups, cuts, self.n).tocsr()
        for row, cut in enumerate(cuts):
            part = slice(half.indptr[row], half.indptr[row + 1])
            index = (self.n + half.indices[part]).astype(np.int32)
            self.highs.addRow(
                -np.inf, len(cut) // 2, len(index), index, half.data[part]
            )
        self.cuts.extend(cuts)

    def solve(self, seconds: float = np.inf) -> Solved | None:
        """Return the optimum; None if time is up before."""
        self._limit(seconds)
        self.highs.run()
        if not self._ended("kOptimal", "kTimeLimit"):
            self.highs.clearSolver()  # a warm start may end nowhere: from the beginning
            self.highs.run()
        if not self._ended("kOptimal"):
            return None
        found = self.highs.getSolution()
        dual = np.array(found.row_dual)
        duals = Duals(
            dual[: self.n],
            tuple(self.cuts),
            np.minimum(dual[self.n :], 0.0),
            self.together,
            self.apart,
        )
        value = float(self.highs.getInfo().objective_function_value)
        return Solved(value, np.array(found.col_value)[self.n :], duals)

    def branch(
        self, together: Sequence[Pair], apart: Sequence[Pair], alone: float
    ) -> None:
        """Allow only groups that hold both or none of a pair, or not both of another.

        A record by itself costs `alone`.
        """
        members, n = self.groups.members, self.n
        barred = np.zeros(len(members), bool)
        for i, j in together:
            barred |= (members == i).any(axis=1) ^ (members == j).any(axis=1)
        for i, j in apart:
            barred |= (members == i).any(axis=1) & (members == j).any(axis=1)
        self.together, self.apart = tuple(together), tuple(apart)
        branched = bool(together or apart)
        most = np.where(np.append(np.full(n, not branched), barred), 0.0, np.inf)
        every = np.arange(len(most), dtype=np.int32)
        self.highs.changeColsBounds(len(most), every, np.zeros(len(most)), most)
        self.highs.changeColsCost(n, every[:n], np.full(n, alone))

    def guess(self, iterations: int) -> float:
        """Return the objective after so many iterations: no more than it will be."""
        self.highs.setOptionValue("simplex_iteration_limit", iterations)
        self.highs.run()
        self.highs.setOptionValue("simplex_iteration_limit", 2**31 - 1)
        return float(self.highs.getInfo().objective_function_value)

    def _limit(self, seconds: float) -> None:
        spent = self.highs.getRunTime()
        limit = spent + max(seconds, 0.0) if np.isfinite(seconds) else 1e30
        self.highs.setOptionValue("time_limit", limit)

    def _ended(self, *ways: str) -> bool:
        return self.highs.getModelStatus().name in ways

    def reduced(
        self, duals: Duals, costs: Floats, which: Labels | None = None
    ) -> Floats:
        """Return the reduced costs of the groups, (q,)."""
        groups = self.groups if which is None else self.groups.at(which)
        u = np.append(duals.u, 0.0)
        reduced = costs - u[groups.members].sum(axis=1)
        if len(duals.cuts):
            reduced -= halves(groups, list(duals.cuts), self.n).T @ duals.s
        return np.asarray(reduced)
