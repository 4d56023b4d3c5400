"""The steps of a table of people in the groups of an earlier release of them.

Records are held back before groups are made; parts are placed while they are; what is
shown beside the earlier release is counted of the groups, and of what is written.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from aggopt.core.validation import Labels
from aggopt.data.context.strata import RecordStrata, select_records
from aggopt.data.context.units import RecordUnits
from aggopt.data.table import Table
from aggopt.errors import PrivacyError
from aggopt.job import Job
from aggopt.job.earlier_section import EarlierGroups
from aggopt.partition.shared.result import Block
from aggopt.pipeline.partition.missing_patterns import (
    find_missing,
    join_patterns,
    join_patterns_within_strata,
)
from aggopt.pipeline.partition.partitioned_table import PartitionedTable
from aggopt.pipeline.prepare.prepared_table import PreparedTable, prepare_table
from aggopt.pipeline.waves.earlier_groups import read_wave, require_changes
from aggopt.pipeline.waves.wave import LaterWave
from aggopt.pipeline.waves.wave_plan import choose_kept_records, place_records
from aggopt.release.audit.changes import NOT_THERE, WaveChanges
from aggopt.release.audit.counts import combine_codes, encode_entries


def read_later_wave(table: Table, job: Job) -> tuple[Table, LaterWave | None]:
    """Return the records that are not held back, and the wave that they are.

    None if the job names no table of an earlier release.

    Raises
    ------
    JobError, TableError
        As `read_wave`; or records of such a table are not held back.
    PrivacyError
        Fewer than k could be published, or nobody of the earlier release.
    """
    wave = read_wave(job, table)
    if wave is None or not isinstance(job.partition, EarlierGroups):
        return table, None
    changes = job.partition.changes
    if changes == "refuse":
        return table, LaterWave(wave)
    part, of = table, wave
    kept = np.ones(len(wave.row), bool)
    while not (stay := choose_kept_records(of, changes, _cells(part, job))).all():
        kept[np.flatnonzero(kept)[~stay]] = False
        known = kept & (wave.row != NOT_THERE)
        if kept.sum() < max(wave.k, job.privacy.k) or not known.any():
            raise PrivacyError(
                f"All but {int(kept.sum())} of {len(kept)} records would be held back.",
                fix="publish this wave in groups of its own, and see `aggopt compare` "
                "before; or make the earlier release with larger groups.",
            )
        part, of = select_records(part, stay, job), of.of_rows(stay)
    second = of.parts if changes == "hold back" else np.zeros(len(of.row), np.intp)
    require_changes(of.changes(second), wave, job)  # whatever becomes of the groups
    return part, LaterWave(of, None if kept.all() else kept)


def _cells(table: Table, job: Job) -> Labels | None:
    """Return the cells of a table whose groups lie within parts of it."""
    if not job.within and job.missing.policy != "patterns":
        return None
    return _cells_of(prepare_table(table, job), job)


def _cells_of(given: PreparedTable, job: Job) -> Labels | None:
    """Return the stratum and the pattern that the groups of a record lie in, (n,).

    -1 of records in small strata, if these are dropped; None if all are in one.
    """
    strata = given.strata
    cells = None if strata is None else strata.labels
    if given.apart and given.holes is not None:
        absent = find_missing(given.holes)
        of = given.holes, absent, job.privacy.k, range(absent.shape[1])
        patterns = (
            join_patterns(*of)
            if strata is None
            else join_patterns_within_strata(*of, strata)
        )
        cells = patterns.labels
    if strata is not None and strata.kept is not None and cells is not None:
        left, cells = cells, np.full(len(strata.kept), NOT_THERE)
        cells[strata.kept] = left
    units = given.units
    if cells is None or units is None or units.records is None:
        return cells
    return cells[units.of]


def place_new_records(
    job: Job, wave: LaterWave, given: PreparedTable
) -> tuple[Job, LaterWave]:
    """Return the job with the places of new records and of groups with few changes."""
    how = job.partition
    if not isinstance(how, EarlierGroups) or how.changes != "merge":
        return job, wave
    units = given.units
    of = None if units is None or units.records is None else units.of
    cells = _cells_of(given, job)
    labels, proof = place_records(wave.wave, given.records, how, cells, of)
    places = job.model_copy(update={"partition": how.of_records(labels)})
    return places, replace(wave, certificate=proof)


def require_wave(
    wave: LaterWave,
    blocks: Sequence[Block],
    job: Job,
    strata: RecordStrata | None,
    units: RecordUnits | None,
) -> None:
    """Refuse groups that show few beside the earlier release; as `require_changes`."""
    labels = blocks[0].labels
    if units is not None and units.records is not None:
        labels = labels[units.of]
    _counted(wave, labels, job, strata)


def count_changes_as_written(
    given: PartitionedTable, released: Table
) -> WaveChanges | None:
    """Return what the values that will be written show; raises as `require_changes`."""
    if given.wave is None:
        return None
    names = given.job.combination
    labels = combine_codes(encode_entries(released.frame[name]) for name in names)
    return _counted(given.wave, labels, given.job, given.strata)


def _counted(
    wave: LaterWave, labels: Labels, job: Job, strata: RecordStrata | None
) -> WaveChanges:
    found = wave.counted(labels, strata)
    require_changes(found.changes, wave.wave, job)
    return found


def note_on_uncounted_changes(job: Job, given: LaterWave | None) -> tuple[str, ...]:
    """Say that changes were not counted, where the job names no earlier table."""
    if given is not None or not isinstance(job.partition, EarlierGroups):
        return ()
    return (
        "Whose values changed since the earlier release was not counted: who has both "
        "files computes a single change in a group. Name the earlier table, earlier = "
        '"FILE" under [partition].',
    )
