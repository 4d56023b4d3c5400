"""Which records of a later wave are held back, and where the others go.

Nothing here is trusted: `aggopt.release.audit.changes` counts what comes of it.
"""

from dataclasses import replace
from typing import cast

import numpy as np
import numpy.typing as npt

from aggopt.core.deadline import Deadline
from aggopt.core.group_sums import plain_group_means
from aggopt.core.types import Bool, Labels
from aggopt.job.earlier_section import EarlierGroups
from aggopt.models import wave_groups
from aggopt.partition._optimal.restricted_ip import EXACTLY
from aggopt.partition.shared.scaling import scale_records
from aggopt.pipeline.waves.wave import Wave
from aggopt.release.audit.changes import NOT_THERE
from aggopt.solvers import Certificate, Status, choose
from aggopt.solvers.run_solver import MISSED, hard_limited

MODEL = wave_groups.MODEL
TIME_LIMIT = 60.0  # seconds, where the job names none
LARGEST = 1_000_000  # variables that a solver is asked for


def choose_kept_records(wave: Wave, changes: str, cells: Labels | None = None) -> Bool:
    """Return which records of a wave (n,) can be published, "hold back" or "merge".

    Other groups cannot mend a group from which fewer than k went, or in which fewer
    than k stay.  Nor can they mend fewer than k new records or changed values in a
    cell.  With "hold back" groups get no other members at all.  What is counted are
    records, or the units of the wave.

    Parameters
    ----------
    cells : (n,)
        The part of the table, a stratum or a pattern of missing values, within which
        the groups of each record lie; -1 of a record that is left out.
    """
    plan = _HoldingBack(wave, cells)
    if changes == "hold back":
        plan.hold_back_in_groups()
    else:
        plan.hold_back_in_cells()
    return plan.kept


class _HoldingBack:
    """The records of a wave (n,) that are `kept`, while others are held back."""

    def __init__(self, wave: Wave, cells: Labels | None) -> None:
        m, n = len(wave.first), len(wave.row)
        ids = np.arange(m + n) if wave.units is None else wave.units
        self.wave, self.ids = wave, ids[m:]
        self.cells = np.zeros(n, np.intp) if cells is None else cells
        self.kept: Bool = self.cells >= 0
        self.is_new: Bool = wave.earlier == NOT_THERE
        self.rows_by_group = _rows_by(wave.earlier)
        gone = wave.gone[wave.first[wave.gone] != NOT_THERE]
        gone_by_group = _rows_by(wave.first[gone])
        self.ids_gone = {g: ids[gone[rows]] for g, rows in gone_by_group.items()}

    def hold_back_in_groups(self) -> None:
        """Hold back new records, and few changes in each group."""
        self.kept[self.is_new] = False
        for group, rows in self.rows_by_group.items():
            while True:
                few = self._few_changes(rows[self.kept[rows]])
                self._hold_back(rows, few)
                self._complete(group)
                if not few.any():
                    break

    def hold_back_in_cells(self) -> None:
        """Hold back few new records and few changes of a cell as a whole."""
        for group in self.rows_by_group:
            self._complete(group)
        is_stable = False
        while not is_stable:
            is_stable = True
            for cell in np.unique(self.cells[self.kept]):
                here = np.flatnonzero(self.kept & (self.cells == cell))
                new, few = here[self.is_new[here]], self._few_changes(here)
                is_stable &= not (_few(len(new), self.wave.k) or few.any())
                if _few(len(new), self.wave.k):
                    self.kept[new] = False
                changed = here[self.wave.changed[here][:, few].any(axis=1)]
                self._hold_back(here, few)
                for group in np.unique(self.wave.earlier[changed]):
                    if group != NOT_THERE:
                        self._complete(int(group))

    def _few_changes(self, rows: Labels) -> Bool:
        """Return whether fewer than k of these rows changed each attribute, (f,)."""
        columns = self.wave.changed[rows].T
        counts = [self._count(rows[column]) for column in columns]
        return _few(counts, self.wave.k)

    def _count(self, rows: Labels) -> int:
        """Return how many records these rows are, or units."""
        if self.wave.units is None:
            return len(rows)
        return len(np.unique(self.ids[rows]))

    def _hold_back(self, rows: Labels, few: Bool) -> None:
        """Hold back those of these rows that changed one of a `few` attributes."""
        self.kept[rows[self.wave.changed[rows][:, few].any(axis=1)]] = False

    def _complete(self, group: int) -> None:
        """Hold back so many members of a group that none or k went, and none or k stay.

        Those of one cell stay together.
        """
        rows, k = self.rows_by_group[group], self.wave.k
        before = -1
        while before != (kept := int(self.kept[rows].sum())):
            before = kept
            for cell in np.unique(self.cells[rows]):
                part = rows[self.kept[rows] & (self.cells[rows] == cell)]
                if self._count(part) < k:
                    self.kept[part] = False
            held = self.ids[rows[~self.kept[rows]]]
            went = np.union1d(self.ids_gone.get(group, held[:0]), held)
            if _few(len(went), k):
                here = rows[self.kept[rows]]
                changes = self.wave.changed[here].sum(axis=1)
                ids = self.ids[here[np.argsort(changes, kind="stable")]]
                others = list(dict.fromkeys(ids[~np.isin(ids, went)].tolist()))
                more = others[: k - len(went)]
                self.kept[here[np.isin(self.ids[here], more)]] = False


def _few(counts: npt.ArrayLike, k: int) -> Bool:
    return np.asarray((np.asarray(counts) > 0) & (np.asarray(counts) < k))


def _rows_by(earlier: Labels) -> dict[int, Labels]:
    """Return the records of each earlier group."""
    if not earlier.size:
        return {}
    order = np.argsort(earlier, kind="stable")
    groups, starts = np.unique(earlier[order], return_index=True)
    parts = np.split(order, starts[1:])
    return {
        int(group): part
        for group, part in zip(groups, parts, strict=True)
        if group != NOT_THERE
    }


def place_records(
    wave: Wave, records: npt.ArrayLike, how: EarlierGroups, cells: Labels | None = None
) -> tuple[Labels, Certificate | None]:
    """Return the group of each record (n,), and how good the places of parts are.

    New records join by k, and groups with few changes others of their cell (n,), at the
    least loss; see `choose_kept_records`.  The certificate is None if nothing was to be
    placed.
    """
    part, data = _data(wave, scale_records(records), cells)
    if not data.moving.any():
        return part, None
    clock = Deadline(None)
    best = wave_groups.merged_by_turns(data)
    if best is None:  # parts that stay were in the way; if all move, none is
        data = replace(data, moving=np.ones(len(data.s), bool))
        best = cast(Labels, wave_groups.merged_by_turns(data))
    if data.moving.sum() * len(data.s) > LARGEST:
        loss = float((data.s * ((data.c - data.c[best]) ** 2).sum(axis=1)).sum())
        by, spent = "merging by turns", clock.spent
        return best[part], Certificate(Status.HEURISTIC, loss, None, 0.0, by, spent)
    solver = choose(how.solver, *MODEL.kinds)
    limit = TIME_LIMIT if how.time_limit is None else how.time_limit
    exactly = EXACTLY.get(solver.native.lower())
    found = hard_limited(MODEL, data, solver, limit, exactly)
    status, bound = found.status, found.bound
    if found.reading is not None and _better(data, found.reading, best):
        best = found.reading
    elif not status.usable or status is Status.OPTIMAL:
        status = Status.UNPROVEN
    at = wave_groups.point(data, best)
    loss = wave_groups.objective(data, at)
    missed = MODEL.violation(data, at)
    proven = None if bound is None else min(max(bound, 0.0), loss)
    proof = Certificate(status, loss, proven, missed, solver.name, clock.spent)
    return best[part], proof


def _better(data: wave_groups.Data, reading: Labels, best: Labels) -> bool:
    """Whether what a solver found is feasible, and loses no more than what is known."""
    at, other = (wave_groups.point(data, places) for places in (reading, best))
    if MODEL.violation(data, at) > MISSED:
        return False
    return wave_groups.objective(data, at) <= wave_groups.objective(data, other)


def _data(
    wave: Wave, Z: npt.NDArray[np.float64], cells: Labels | None
) -> tuple[Labels, wave_groups.Data]:
    """Return the part of each record (n,), and the model's data of the parts."""
    earlier = wave.earlier
    new = earlier == NOT_THERE
    apart = np.where(new, np.arange(len(earlier)) + int(wave.first.max()) + 1, earlier)
    within = np.zeros(len(earlier), np.intp) if cells is None else cells
    _, rows, part = np.unique(
        np.stack([apart, within]), axis=1, return_index=True, return_inverse=True
    )
    part = part.ravel()
    sizes = np.bincount(part)
    kinds = np.column_stack([new, wave.changed])
    counts = np.zeros((len(sizes), kinds.shape[1]), np.int64)
    np.add.at(counts, part, kinds)
    moving = np.asarray(_few(counts, wave.k).any(axis=1))
    centroids = plain_group_means(Z, part)
    data = wave_groups.Data(centroids, sizes, counts, wave.k, moving, within[rows])
    return part, data
