"""The steps of a table of people in the groups of an earlier release of them.

Records are held back before groups are made, and parts are placed while they are made.
The changes that a wave shows are counted twice: of its groups, and of its written
values.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import numpy as np

from aggopt.core.validation import Labels
from aggopt.data.context.strata import RecordStrata, select_records
from aggopt.data.context.units import RecordUnits
from aggopt.data.table import Table
from aggopt.errors import PrivacyError
from aggopt.job import Job
from aggopt.job.earlier_section import EarlierGroups
from aggopt.partition.shared.result import Block
from aggopt.pipeline.prepare.prepared_table import (
    PreparedTable,
    find_missing,
    join_patterns,
    join_patterns_within_strata,
    prepare_table,
)
from aggopt.pipeline.waves.earlier_groups import read_wave
from aggopt.pipeline.waves.wave import LaterWave, Wave
from aggopt.pipeline.waves.wave_plan import choose_kept_records, place_records
from aggopt.release.audit.changes import NOT_THERE, Changes

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
    """Return the records that are not held back, and the wave that they are.

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
    """Return the records that are not held back, and the wave that they are.

    None in place of the records if these are too few, or if their counts do not hold.
    """
    part, wave_left = table, wave
    is_kept = np.ones(len(wave.row), bool)
    while not (
        stay := choose_kept_records(wave_left, changes, _find_cells(part, job))
    ).all():
        is_kept[np.flatnonzero(is_kept)[~stay]] = False
        is_known = is_kept & (wave.row != NOT_THERE)
        if is_kept.sum() < max(wave.k, job.privacy.k) or not is_known.any():
            return None, LaterWave(wave, is_kept)
        part, wave_left = select_records(part, stay, job), wave_left.of_rows(stay)
    second = (
        wave_left.parts
        if changes == "hold back"
        else np.zeros(len(wave_left.row), np.intp)
    )
    later = LaterWave(wave_left, None if is_kept.all() else is_kept)
    return (part if wave_left.changes(second).holds else None), later


def suggest_wave_remedy(table: Table, job: Job, wave: Wave) -> str:
    """Return which other jobs hold for a wave that is refused; each was tried."""
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
    """Return the cells of a table whose groups are made within parts of it."""
    if not job.within and job.missing.policy != "patterns":
        return None
    return _find_prepared_cells(prepare_table(table, job), job)


def _find_prepared_cells(prepared: PreparedTable, job: Job) -> Labels | None:
    """Return the cell of each record, (n,): its stratum and its pattern.

    -1 of records in small strata, if these are dropped; None if all are in one.
    """
    strata = prepared.strata
    cells = None if strata is None else strata.labels
    if prepared.apart and prepared.holes is not None:
        absent = find_missing(prepared.holes)
        arguments = prepared.holes, absent, job.privacy.k, range(absent.shape[1])
        patterns = (
            join_patterns(*arguments)
            if strata is None
            else join_patterns_within_strata(*arguments, strata)
        )
        cells = patterns.labels
    if strata is not None and strata.kept is not None and cells is not None:
        left, cells = cells, np.full(len(strata.kept), NOT_THERE)
        cells[strata.kept] = left
    units = prepared.units
    if cells is None or units is None or units.records is None:
        return cells
    return cells[units.of]


def place_new_records(
    job: Job, wave: LaterWave, prepared: PreparedTable
) -> tuple[Job, LaterWave]:
    """Return the job with the places of new records and of groups with few changes."""
    partition = job.partition
    if not isinstance(partition, EarlierGroups) or partition.changes != "merge":
        return job, wave
    units = prepared.units
    unit_of_record = None if units is None or units.records is None else units.of
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
    """Return the changes that groups show together with the earlier releases."""
    labels = blocks[0].labels
    if units is not None and units.records is not None:
        labels = labels[units.of]
    return wave.counted(labels, strata).changes
