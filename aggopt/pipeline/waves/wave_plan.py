"""Choose the records of a later wave to hold back, and the groups of the others.

Nothing here is trusted: `aggopt.release.audit.changes` counts the effect.
"""

from dataclasses import replace
from typing import cast

import numpy as np
import numpy.typing as npt

from aggopt.core.deadline import Deadline
from aggopt.core.record_weights import compute_plain_group_means
from aggopt.core.types import Bool, Labels
from aggopt.job.earlier_section import EarlierGroups
from aggopt.models import wave_groups
from aggopt.partition.shared.scaling import scale_records
from aggopt.pipeline.waves.wave import View, Wave, find_first_groups, join_groups
from aggopt.release.audit.changes import NOT_THERE
from aggopt.solvers import Certificate, Status, choose
from aggopt.solvers.options import EXACTLY
from aggopt.solvers.run_solver import MISSED, run_with_hard_limit

MODEL = wave_groups.MODEL
TIME_LIMIT = 60.0  # seconds, where the job names none
LARGEST = 1_000_000  # variables that a solver is asked for


def choose_kept_records(wave: Wave, changes: str, cells: Labels | None = None) -> Bool:
    """Return which records of a wave (n,) can be published, "hold back" or "merge".

    No other groups can repair a group that fewer than k left, or that fewer than k
    remain in.  Nor can they mend fewer than k new records or changed values in a cell.
    With "hold back" groups get no other members at all.  Records are counted, or the
    units of the wave: in each view, of each earlier release.

    Parameters
    ----------
    cells : (n,)
        The part of the table, a stratum or a pattern of missing values, that contains
        the groups of each record; -1 of a record that is left out.
    """
    plan = _HoldingBack(wave, cells)
    if changes == "hold back":
        plan.kept &= wave.is_kept_group
        plan.hold_back(wave.parts)
    else:
        plan.hold_back(plan.cells)
    return plan.kept


class _HoldingBack:
    """The records of a wave (n,) that are `kept`, while others are held back."""

    def __init__(self, wave: Wave, cells: Labels | None) -> None:
        n = len(wave.row)
        self.wave, self.views = wave, wave.views
        self.ids = -1 - np.arange(n) if wave.units is None else wave.units[-n:]
        self.cells = np.zeros(n, np.intp) if cells is None else cells
        self.kept: Bool = self.cells >= 0
        self.parts = join_groups([wave.parts, self.cells])
        self.firsts = [find_first_groups(v.first, wave.row) for v in self.views]
        self.changes = sum(
            release.changed.sum(axis=1, dtype=np.int64) for release in wave.releases
        )

    def hold_back(self, places: Labels) -> None:
        """Hold records back until all counts are none or at least k.

        New and changed records count at the `places` (n,) that parts can share.
        """
        before, within = -1, join_groups([places, self.cells])
        while before != (count := int(self.kept.sum())):
            before = count
            for view, first in zip(self.views, self.firsts, strict=True):
                self._hold_back_few(within, view.there & (first == NOT_THERE))
                for changed in view.changed.T:
                    self._hold_back_few(places, changed)
            for view, first in zip(self.views, self.firsts, strict=True):
                self._complete(view, first)

    def _hold_back_few(self, places: Labels, rows: Bool) -> None:
        """Hold back these rows where fewer than k are at a place."""
        self.kept &= ~self._are_few(places, rows, self.wave.k)

    def _are_few(self, labels: Labels, rows: Bool, k: int) -> Bool:
        """Return which rows share a label with fewer than k kept ones, or units."""
        few = np.zeros(len(rows), bool)
        at = np.flatnonzero(rows & self.kept)
        if at.size:
            few[at] = _count_distinct(labels[at], self.ids[at]) < k
        return few

    def _complete(self, view: View, first: Labels) -> None:
        """Hold back members of groups until none or k left, and none or k remain.

        Those of one cell stay together.
        """
        both = view.there & (first != NOT_THERE)
        self.kept &= ~self._are_few(join_groups([first, self.parts]), both, view.k)
        stay = np.flatnonzero(self.kept & both)
        left = view.first != NOT_THERE
        ids = np.arange(len(left)) if view.units is None else view.units.copy()
        present_rows = np.flatnonzero(self.kept & (self.wave.row != NOT_THERE))
        ids[self.wave.row[present_rows]] = self.ids[present_rows]
        left[self.wave.row[stay]] = False
        went = np.flatnonzero(left)
        few = went[_count_distinct(view.first[went], ids[went]) < view.k]
        members = _group_rows(first[stay], stay)
        for group, people in _group_rows(view.first[few], few).items():
            here, gone = members.get(group, stay[:0]), ids[people]
            candidates = self.ids[here[np.argsort(self.changes[here], kind="stable")]]
            others = list(
                dict.fromkeys(candidates[~np.isin(candidates, gone)].tolist())
            )
            more = others[: view.k - len(np.unique(gone))]
            self.kept[here[np.isin(self.ids[here], more)]] = False


def _count_distinct(labels: Labels, ids: Labels) -> Labels:
    """Return the number of different ids with the label of each entry (n,)."""
    if not labels.size:
        return labels
    groups = np.unique(labels, return_inverse=True)[1]
    pairs = np.unique(np.stack([groups, ids]), axis=1)[0]
    return np.asarray(np.bincount(pairs)[groups])


def _group_rows(labels: Labels, rows: Labels) -> dict[int, Labels]:
    """Return the rows of each label."""
    if not labels.size:
        return {}
    order = np.argsort(labels, kind="stable")
    groups, starts = np.unique(labels[order], return_index=True)
    parts = np.split(rows[order], starts[1:])
    return dict(zip(groups.tolist(), parts, strict=True))


def place_records(
    wave: Wave,
    records: npt.ArrayLike,
    earlier: EarlierGroups,
    cells: Labels | None = None,
    unit_of_record: Labels | None = None,
) -> tuple[Labels, Certificate | None]:
    """Return the group of each row of `records`, and how good the places of parts are.

    New records join by k, and groups with few changes others of their cell (n,), at the
    least loss; see `choose_kept_records`.  The certificate is None if nothing was to be
    placed.  `unit_of_record` (n,) is the row of each record of the wave, if rows are
    units.
    """
    unit_of_record = (
        np.arange(len(wave.row)) if unit_of_record is None else unit_of_record
    )
    part, data = _make_data(wave, scale_records(records), cells, unit_of_record)
    if not data.moving.any():
        return part, None
    clock = Deadline(None)
    best = wave_groups.merge_by_turns(data)
    if best is None:  # parts that stay were in the way; if all move, none is
        data = replace(data, moving=np.ones(len(data.s), bool))
        best = cast(Labels, wave_groups.merge_by_turns(data))
    if data.moving.sum() * len(data.s) > LARGEST:
        loss = float((data.s * ((data.c - data.c[best]) ** 2).sum(axis=1)).sum())
        by, spent = "merging by turns", clock.spent
        return best[part], Certificate(Status.HEURISTIC, loss, None, 0.0, by, spent)
    solver = choose(earlier.solver, *MODEL.kinds)
    limit = TIME_LIMIT if earlier.time_limit is None else earlier.time_limit
    exactly = EXACTLY.get(solver.native.lower())
    answer = run_with_hard_limit(MODEL, data, solver, limit, exactly)
    status, bound = answer.status, answer.bound
    if answer.reading is not None and _is_better(data, answer.reading, best):
        best = answer.reading
    elif not status.usable or status is Status.OPTIMAL:
        status = Status.UNPROVEN
    at = wave_groups.point(data, best)
    loss = wave_groups.objective(data, at)
    missed = MODEL.violation(data, at)
    proven = None if bound is None else min(max(bound, 0.0), loss)
    proof = Certificate(status, loss, proven, missed, solver.name, clock.spent)
    return best[part], proof


def _is_better(data: wave_groups.Data, reading: Labels, best: Labels) -> bool:
    """Whether a solver's answer is feasible, and loses no more than the known one."""
    at, other = (wave_groups.point(data, places) for places in (reading, best))
    if MODEL.violation(data, at) > MISSED:
        return False
    return wave_groups.objective(data, at) <= wave_groups.objective(data, other)


def _make_data(
    wave: Wave, Z: npt.NDArray[np.float64], cells: Labels | None, unit_of_record: Labels
) -> tuple[Labels, wave_groups.Data]:
    """Return the part of each row of Z, and the model's data of the parts."""
    n, m = len(unit_of_record), len(Z)
    parts = np.full(m, NOT_THERE)
    is_known = wave.parts != NOT_THERE
    parts[unit_of_record[is_known]] = wave.parts[is_known]
    apart = np.where(parts == NOT_THERE, np.arange(m) + int(parts.max()) + 1, parts)
    within = np.zeros(m, np.intp)
    if cells is not None:
        within[unit_of_record] = cells
    _, rows, part = np.unique(
        np.stack([apart, within]), axis=1, return_index=True, return_inverse=True
    )
    part, cell = part.ravel(), within[rows]
    ids = np.arange(n) if wave.units is None else wave.units[-n:]
    kinds = _find_kinds(wave)
    shape = len(rows), kinds.shape[1]
    counts, is_allowed = np.zeros(shape, np.int64), np.zeros(shape, bool)
    for j, kind in enumerate(kinds.T):
        is_allowed[part[unit_of_record[kind]], j] = True
        counts[:, j] = _count_ids(part[unit_of_record[kind]], ids[kind], cell)
    moving = np.asarray((is_allowed & (counts < wave.k)).any(axis=1))
    centroids = compute_plain_group_means(Z, part)
    sizes = np.bincount(part)
    data = wave_groups.Data(centroids, sizes, counts, wave.k, moving, cell, is_allowed)
    return part, data


def _count_ids(part: Labels, ids: Labels, cell: Labels) -> Labels:
    """Return how many ids count in each part; each counts in one part of a cell (p,).

    This part is one of those with the most ids.  So a sum over parts of a cell is never
    more than their number of different ids.
    """
    pairs = np.unique(np.stack([part, ids]), axis=1)
    size = np.bincount(pairs[0], minlength=len(cell))
    best = np.lexsort((-size[pairs[0]], pairs[1], cell[pairs[0]]))
    part, ids = pairs[:, best]
    first = np.unique(np.stack([cell[part], ids]), axis=1, return_index=True)[1]
    return np.bincount(part[first], minlength=len(cell))


def _find_kinds(wave: Wave) -> Bool:
    """Return the kind of each record, (n, f): new or changed, in each view."""
    kinds = [np.zeros((len(wave.row), 1), bool)]
    for view in wave.views:
        new = find_first_groups(view.first, wave.row) == NOT_THERE
        kinds += [(view.there & new)[:, None], view.changed]
    return np.unique(np.concatenate(kinds, axis=1), axis=1)
