"""The steps of a table of people in the groups of an earlier release of them.

Records are held back before groups are made, and parts are placed while they are made.
The changes that a wave shows are counted twice: of its groups, and of its written
values.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import numpy as np
import numpy.typing as npt

from aggopt.core.deadline import Deadline
from aggopt.core.record_weights import compute_plain_group_means
from aggopt.core.types import Bool, Labels
from aggopt.data.context.strata import RecordStrata, select_records
from aggopt.data.context.units import RecordUnits
from aggopt.data.table import Table
from aggopt.errors import PrivacyError
from aggopt.job import Job
from aggopt.job.earlier_section import EarlierGroups
from aggopt.models import wave_groups
from aggopt.partition.shared.result import Block
from aggopt.partition.shared.scaling import scale_records
from aggopt.pipeline.prepare import prepared_table
from aggopt.pipeline.waves.earlier_groups import read_wave
from aggopt.pipeline.waves.wave import (
    LaterWave,
    View,
    Wave,
    find_first_groups,
    join_groups,
)
from aggopt.release.audit.changes import NOT_THERE, Changes
from aggopt.solvers import Certificate, Status, choose_solver
from aggopt.solvers.options import EXACTLY
from aggopt.solvers.run_solver import MISSED, run_with_hard_limit

EFFECTS = {  # of each way to hold records back, on the others
    "merge": "lets new ones join by k and merges groups of few changes",
    "hold back": "merges no groups",
}
NO_REMEDY = (
    "publish a wave of which more persons are in the earlier release; or leave "
    "keep_groups out: then values of fewer than k may be shown, and aggopt compare "
    "counts them."
)


def read_later_wave(table: Table, job: Job) -> tuple[Table, LaterWave | None]:
    """Return the records that can be published, and their wave.

    None if the job names no table of an earlier release.

    Raises
    ------
    JobError, TableError
        As `read_wave`; or records of such a table are not held back.
    PrivacyError
        Fewer than k could be published, or no person of the earlier release.
    """
    wave = read_wave(job, table)
    if wave is None or not isinstance(job.partition, EarlierGroups):
        return table, None
    changes = job.partition.changes
    if changes == "refuse":
        return table, LaterWave(wave)
    part, later = _drop_records(table, job, wave, changes)
    if part is None:
        left = 0 if later.kept is None else int(later.kept.sum())
        raise PrivacyError(
            f"All but {left} of {len(wave.row)} records would be held back.",
            fix=suggest_wave_remedy(table, job, wave),
        )
    return part, later


def _drop_records(
    table: Table, job: Job, wave: Wave, changes: str
) -> tuple[Table | None, LaterWave]:
    """Return the records that can be published, None if too few, and their wave.

    None in place of the records if these are too few, or if their counts do not hold.
    """
    part = table
    wave_left = wave
    is_kept = np.ones(len(wave.row), bool)
    while not (
        stay := choose_kept_records(wave_left, changes, _find_cells(part, job))
    ).all():
        is_kept[np.flatnonzero(is_kept)[~stay]] = False
        is_known = is_kept & (wave.row != NOT_THERE)
        if is_kept.sum() < max(wave.k, job.privacy.k) or not is_known.any():
            return None, LaterWave(wave, is_kept)
        part = select_records(part, stay, job)
        wave_left = wave_left.of_rows(stay)
    second = (
        wave_left.parts
        if changes == "hold back"
        else np.zeros(len(wave_left.row), np.intp)
    )
    later = LaterWave(wave_left, None if is_kept.all() else is_kept)
    return (part if wave_left.changes(second).holds else None), later


def suggest_wave_remedy(table: Table, job: Job, wave: Wave) -> str:
    """Return the text of settings with which a refused wave can be published."""
    earlier = cast(EarlierGroups, job.partition)
    if earlier.person is None:
        return (
            "name the identifier that both tables have, person = "
            '"NAME" under [partition]: aggopt can then hold records back.'
        )
    offers = []
    for changes, effect in EFFECTS.items():
        if changes == earlier.changes:
            continue
        part, later = _drop_records(table, job, wave, changes)
        if part is not None:
            count = 0 if later.kept is None else int((~later.kept).sum())
            offers.append(
                f'set changes = "{changes}" under [partition], which holds back '
                f"{count} "
                f"of {len(wave.row)} records and {effect}"
            )
    if not offers:
        return NO_REMEDY
    return f"{'; or '.join(offers)}."


def _find_cells(table: Table, job: Job) -> Labels | None:
    """Return the stratum and pattern of each record as a number; None if not needed."""
    if not job.within and job.missing.policy != "patterns":
        return None
    return _find_prepared_cells(prepared_table.prepare_table(table, job), job)


def _find_prepared_cells(
    prepared: prepared_table.PreparedTable, job: Job
) -> Labels | None:
    """Return the stratum and pattern of each record, (n,), as one number.

    -1 of records in small strata, if these are dropped; None if all are in one.
    """
    strata = prepared.strata
    cells = None if strata is None else strata.labels
    if prepared.apart and prepared.holes is not None:
        absent = prepared_table.find_missing(prepared.holes)
        arguments = prepared.holes, absent, job.privacy.k, range(absent.shape[1])
        patterns = (
            prepared_table.join_patterns(*arguments)
            if strata is None
            else prepared_table.join_patterns_within_strata(*arguments, strata)
        )
        cells = patterns.labels
    if strata is not None and strata.is_released is not None and cells is not None:
        left = cells
        cells = np.full(len(strata.is_released), NOT_THERE)
        cells[strata.is_released] = left
    units = prepared.units
    if cells is None or units is None or units.records is None:
        return cells
    return cells[units.unit_of_record]


def place_new_records(
    job: Job, wave: LaterWave, prepared: prepared_table.PreparedTable
) -> tuple[Job, LaterWave]:
    """Return the job with new records placed in earlier groups, and the wave."""
    partition = job.partition
    if not isinstance(partition, EarlierGroups) or partition.changes != "merge":
        return job, wave
    units = prepared.units
    unit_of_record = (
        None if units is None or units.records is None else units.unit_of_record
    )
    cells = _find_prepared_cells(prepared, job)
    labels, proof = place_records(
        wave.wave, prepared.records, partition, cells, unit_of_record
    )
    places = job.model_copy(update={"partition": partition.of_records(labels)})
    return places, replace(wave, certificate=proof)


def count_group_changes(
    wave: LaterWave,
    blocks: Sequence[Block],
    strata: RecordStrata | None,
    units: RecordUnits | None,
) -> Changes:
    """Return the counts of changes that groups show with earlier releases."""
    labels = blocks[0].labels
    if units is not None and units.records is not None:
        labels = labels[units.unit_of_record]
    return wave.counted(labels, strata).changes


MODEL = wave_groups.MODEL
TIME_LIMIT = 60.0  # seconds, where the job names none
LARGEST = 1_000_000  # variables that a solver is asked for


def choose_kept_records(wave: Wave, changes: str, cells: Labels | None = None) -> Bool:
    """Return a mask (n,) of the records of a wave that can be published.

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
        """Hold records back until all counts of changes are 0 or at least k.

        New and changed records count at the `places` (n,) that parts can share.
        """
        before = -1
        within = join_groups([places, self.cells])
        while before != (count := int(self.kept.sum())):
            before = count
            for view, first in zip(self.views, self.firsts, strict=True):
                self._hold_back_few(within, view.there & (first == NOT_THERE))
                for changed in view.changed.T:
                    self._hold_back_few(places, changed)
            for view, first in zip(self.views, self.firsts, strict=True):
                self._complete_departures(view, first)

    def _hold_back_few(self, places: Labels, rows: Bool) -> None:
        """Hold back the `rows` that fewer than k share a place with."""
        self.kept &= ~self._are_few(places, rows, self.wave.k)

    def _are_few(self, labels: Labels, rows: Bool, k: int) -> Bool:
        """Return a mask of rows whose label fewer than k kept ones have."""
        few = np.zeros(len(rows), bool)
        at = np.flatnonzero(rows & self.kept)
        if at.size:
            few[at] = _count_distinct(labels[at], self.ids[at]) < k
        return few

    def _complete_departures(self, view: View, first: Labels) -> None:
        """Hold back group members until 0 or k left, and 0 or k remain.

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
            here = members.get(group, stay[:0])
            gone = ids[people]
            candidates = self.ids[here[np.argsort(self.changes[here], kind="stable")]]
            others = list(
                dict.fromkeys(candidates[~np.isin(candidates, gone)].tolist())
            )
            more = others[: view.k - len(np.unique(gone))]
            self.kept[here[np.isin(self.ids[here], more)]] = False


def _count_distinct(labels: Labels, ids: Labels) -> Labels:
    """Return the number of distinct ids that have each entry's label, (n,)."""
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
    """Return the group of each row of `records`, and a certificate of the placement.

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
        by = "merging by turns"
        spent = clock.spent
        return best[part], Certificate(Status.HEURISTIC, loss, None, 0.0, by, spent)
    solver = choose_solver(earlier.solver, *MODEL.kinds)
    limit = TIME_LIMIT if earlier.time_limit is None else earlier.time_limit
    exactly = EXACTLY.get(solver.native.lower())
    answer = run_with_hard_limit(MODEL, data, solver, limit, exactly)
    status = answer.status
    bound = answer.bound
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
    """Whether a solver's placement is feasible with no more loss than the best."""
    at, other = (wave_groups.point(data, places) for places in (reading, best))
    if MODEL.violation(data, at) > MISSED:
        return False
    return wave_groups.objective(data, at) <= wave_groups.objective(data, other)


def _make_data(
    wave: Wave, Z: npt.NDArray[np.float64], cells: Labels | None, unit_of_record: Labels
) -> tuple[Labels, wave_groups.Data]:
    """Return the part (records kept together) of each row of Z, and the data."""
    n = len(unit_of_record)
    m = len(Z)
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
    part = part.ravel()
    cell = within[rows]
    ids = np.arange(n) if wave.units is None else wave.units[-n:]
    kinds = _find_kinds(wave)
    shape = len(rows), kinds.shape[1]
    counts = np.zeros(shape, np.int64)
    is_allowed = np.zeros(shape, bool)
    for j, kind in enumerate(kinds.T):
        is_allowed[part[unit_of_record[kind]], j] = True
        counts[:, j] = _count_ids(part[unit_of_record[kind]], ids[kind], cell)
    moving = np.asarray((is_allowed & (counts < wave.k)).any(axis=1))
    centroids = compute_plain_group_means(Z, part)
    sizes = np.bincount(part)
    data = wave_groups.Data(centroids, sizes, counts, wave.k, moving, cell, is_allowed)
    return part, data


def _count_ids(part: Labels, ids: Labels, cell: Labels) -> Labels:
    """Return the number of distinct ids in each part, each counted once in a cell.

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
