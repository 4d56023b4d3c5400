"""Restricted master over groups, with subset-row cuts and branching."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from aggopt.core.highs_program import HighsProgram
from aggopt.core.types import Bool
from aggopt.core.validation import Floats, Labels
from aggopt.partition._optimal.columns import GroupColumns
from aggopt.partition._optimal.pricing import Cut, Duals, Pair, _index_by_record
from aggopt.partition.shared.restricted_master import RestrictedMaster

ROOM = 10_000  # for violated cuts, at first
FEW = 20  # cuts of three from which on cuts of five are not separated


def find_violated_cuts(
    groups: GroupColumns, share: Floats, few: Bool, have: set[Cut], max_cuts: int
) -> list[Cut]:
    """Return up to `most` cuts of 3 and 5 records that this choice violates most.

    `share` (q,) is the chosen share of each group; cuts contain records of `few` (n,).
    """
    from aggopt.partition._optimal import subset_row_kernels as kernels

    fractional = (share > 1e-6) & (share < 1 - 1e-6)
    columns = groups.members[fractional]
    share = share[fractional]
    records = np.unique(columns[columns >= 0])
    records = records[few[records]]
    if not len(records):
        return []
    place = np.full(len(few) + 1, -1, np.int32)  # the last is for -1
    place[records] = np.arange(len(records))
    columns = place[columns]
    pairs = np.empty((len(records), len(records)))
    kernels.fill_pair_shares(columns, share, pairs)
    arguments = columns, share, pairs, *_index_columns(columns, len(records))
    separated = [_separate_cuts(kernels.find_triples, arguments, 3)]
    if len(separated[0][1]) < FEW:
        separated.append(_separate_cuts(kernels.find_quintuples, arguments, 5))
    violations = {}
    for rows, excess in separated:
        for row, violation in zip(records[rows].tolist(), excess.tolist(), strict=True):
            violations[tuple(row)] = violation
    order = sorted(
        (cut for cut in violations if cut not in have),
        key=lambda c: (-violations[c], c),
    )
    return order[:max_cuts]


def _separate_cuts(
    kernel: Any, arguments: tuple[Any, ...], width: int
) -> tuple[Any, Any]:
    """Return all cuts that a kernel finds, and their violations."""
    room = ROOM
    while True:
        rows = np.empty((room, width), np.int32)
        excess = np.empty(room)
        count = kernel(*arguments, rows, excess)
        if count <= room:
            return rows[:count], excess[:count]
        room = count


def count_halves(groups: GroupColumns, cuts: list[Cut], n: int) -> Any:
    """Return half the records of each cut in each group, rounded down (l, q).

    A sparse matrix by columns.
    """
    from scipy.sparse import csc_array

    inside = groups.members >= 0
    record = groups.members[inside]
    column = np.repeat(np.arange(len(groups.sizes)), groups.sizes)
    incidence = csc_array(
        (np.ones(len(record)), (record, column)), (n, len(groups.sizes))
    )
    cut = np.repeat(np.arange(len(cuts)), [len(c) for c in cuts])
    records = np.array([i for c in cuts for i in c], np.intp)
    counts = csc_array((np.ones(len(cut)), (cut, records)), (len(cuts), n)) @ incidence
    counts.data //= 2
    counts.eliminate_zeros()
    return counts


def _index_columns(columns: Any, r: int) -> tuple[Any, Any]:
    q, at = np.nonzero(columns >= 0)
    return _index_by_record(columns[q, at].astype(np.int64), q.astype(np.int64), r)


EXACT = 1e-9  # tolerance of reduced costs


@dataclass(frozen=True, eq=False)
class MasterSolution:
    """Solution of the linear program: objective, shares of groups (q,), and duals."""

    value: float
    share: Floats
    duals: Duals

    @property
    def is_integral(self) -> bool:
        """Whether all shares are integers."""
        return bool((np.abs(self.share - np.rint(self.share)) < 1e-6).all())


class GroupMaster(RestrictedMaster):
    """Rows for records and cuts, columns for groups; see `aggopt.models.set_partition`.

    The first n columns are single records, allowed in branches only and at a cost above
    any group's: they keep the program feasible until the groups that a branch allows
    cover every record.
    """

    def __init__(self, n: int) -> None:
        super().__init__(n)
        self.n = n
        self.cuts: list[Cut] = []
        self.groups = GroupColumns(np.empty((0, 0), np.int32), np.empty(0, np.intp))
        self.together: tuple[Pair, ...] = ()
        self.apart: tuple[Pair, ...] = ()
        self.then(HighsProgram.set_option, "dual_feasibility_tolerance", EXACT)
        records = np.arange(n, dtype=np.int32)
        zeros = np.zeros(n)
        self.then(HighsProgram.add_columns, zeros, zeros, records, records, np.ones(n))

    def add(self, groups: GroupColumns, costs: Floats) -> None:
        """Add groups (q, 2k - 1) with their costs."""
        count = len(groups.sizes)
        if not count:
            return
        rows = [groups.members[groups.members >= 0]]
        column_parts = [np.repeat(np.arange(count), groups.sizes)]
        entries = [np.ones(len(rows[0]))]
        if self.cuts:
            half = count_halves(groups, self.cuts, self.n).tocoo()
            rows.append(half.row + self.n)
            column_parts.append(half.col)
            entries.append(half.data)
        columns = np.concatenate(column_parts)
        order = np.argsort(columns, kind="stable")
        starts = np.searchsorted(columns[order], np.arange(count))
        index = np.concatenate(rows)[order]
        entry = np.concatenate(entries)[order]
        self.add_columns(costs, starts, index, entry)
        before = self.groups
        if not len(before.sizes):
            self.groups = groups
            return
        self.groups = GroupColumns(
            np.concatenate([before.members, groups.members]),
            np.concatenate([before.sizes, groups.sizes]),
        )

    def add_cuts(self, cuts: list[Cut]) -> None:
        """Add cuts, valid for every partition."""
        half = count_halves(self.groups, cuts, self.n).tocsr()
        for row, cut in enumerate(cuts):
            part = slice(half.indptr[row], half.indptr[row + 1])
            index = (self.n + half.indices[part]).astype(np.int32)
            self.then(HighsProgram.add_row, len(cut) // 2, index, half.data[part])
        self.cuts.extend(cuts)

    def solve(self, seconds: float = np.inf) -> MasterSolution | None:
        """Return the optimum; None if the time limit ends the search."""
        solution = self.ask(seconds, HighsProgram.solve, seconds)
        if solution.status not in ("kOptimal", "kTimeLimit"):
            # a warm start may fail: solve from the beginning
            solution = self.ask(seconds, HighsProgram.solve_anew)
        if solution.status != "kOptimal" or solution.duals is None:
            return None
        duals = Duals(
            solution.duals[: self.n],
            tuple(self.cuts),
            np.minimum(solution.duals[self.n :], 0.0),
            self.together,
            self.apart,
        )
        return MasterSolution(solution.objective, solution.columns[self.n :], duals)

    def branch(
        self, together: Sequence[Pair], apart: Sequence[Pair], alone: float
    ) -> None:
        """Allow only groups with both or neither of a pair, or not both of another.

        A single record costs `alone`.
        """
        members = self.groups.members
        n = self.n
        barred = np.zeros(len(members), bool)
        for i, j in together:
            barred |= (members == i).any(axis=1) ^ (members == j).any(axis=1)
        for i, j in apart:
            barred |= (members == i).any(axis=1) & (members == j).any(axis=1)
        self.together = tuple(together)
        self.apart = tuple(apart)
        branched = bool(together or apart)
        upper_bounds = np.where(
            np.append(np.full(n, not branched), barred), 0.0, np.inf
        )
        self.then(HighsProgram.change_bounds, upper_bounds)
        self.then(HighsProgram.change_costs, np.full(n, alone))

    def guess(self, iterations: int, seconds: float = np.inf) -> float:
        """Return the objective after some dual simplex iterations: a lower bound."""
        return self.ask(seconds, HighsProgram.objective_after, iterations)

    def compute_reduced_costs(
        self, duals: Duals, costs: Floats, which: Labels | None = None
    ) -> Floats:
        """Return the reduced costs of the groups, (q,)."""
        groups = self.groups if which is None else self.groups.at(which)
        u = np.append(duals.u, 0.0)
        reduced = costs - u[groups.members].sum(axis=1)
        if len(duals.cuts):
            reduced -= count_halves(groups, list(duals.cuts), self.n).T @ duals.s
        return np.asarray(reduced)
