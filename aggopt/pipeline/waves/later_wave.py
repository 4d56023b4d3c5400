"""The steps of a table of people in the groups of an earlier release of them.

Records are held back before groups are made; parts are placed while they are; what is
shown beside the earlier release is counted of the groups, and of what is written.
"""

from collections.abc import Sequence
from dataclasses import replace

from aggopt.core.validation import Labels
from aggopt.data.context.strata import RecordStrata, select_records
from aggopt.data.context.units import RecordUnits
from aggopt.data.table import Table
from aggopt.errors import JobError, PrivacyError
from aggopt.job import Job
from aggopt.job._earlier import EarlierGroups
from aggopt.partition._shared.result import Block
from aggopt.pipeline.partition.partitioned_table import PartitionedTable
from aggopt.pipeline.prepare.prepared_table import PreparedTable
from aggopt.pipeline.waves.earlier_groups import read_wave, require_changes
from aggopt.pipeline.waves.wave import LaterWave
from aggopt.pipeline.waves.wave_plan import choose_kept_records, place_records
from aggopt.release.audit.changes import NOT_THERE, WaveChanges
from aggopt.release.audit.counts import combine_codes, encode_entries


def read_later_wave(table: Table, job: Job) -> tuple[Table, LaterWave | None]:
    """Return the records that are not held back, and the wave that they are.

    None where the job does not say who is who in an earlier release.

    Raises
    ------
    JobError, TableError
        As `wave_of`; or records of such a table are not held back.
    PrivacyError
        Fewer than k could be published, or nobody of the earlier release.
    """
    wave = read_wave(job, table)
    if wave is None or not isinstance(job.partition, EarlierGroups):
        return table, None
    changes = job.partition.changes
    if changes == "refuse":
        return table, LaterWave(wave)
    _require_plain(job)
    kept = choose_kept_records(wave, changes)
    if kept.all():
        return table, LaterWave(wave)
    known = kept & (wave.row != NOT_THERE)
    if kept.sum() < max(wave.k, job.privacy.k) or not known.any():
        raise PrivacyError(
            f"All but {int(kept.sum())} of {len(kept)} records would be held back.",
            fix="publish this wave in groups of its own, and see `aggopt compare` "
            "before; or make the earlier release with larger groups.",
        )
    return select_records(table, kept, job), LaterWave(wave.of_rows(kept), kept)


def _require_plain(job: Job) -> None:
    """Refuse to change what is not of records alone."""
    changes = getattr(job.partition, "changes", None)
    within = job.within and (changes == "merge" or job.strata.small == "drop")
    seen = {
        "units": job.roles.unit,
        "strata": within,
        'policy = "patterns"': changes == "merge" and job.missing.policy == "patterns",
    }
    there = [what for what, asked in seen.items() if asked]
    if there:
        raise JobError(
            f"[partition] changes = {changes!r} does not go with "
            f"{' and '.join(there)}.",
            fix='set changes = "refuse", which counts them, too; or "hold back", which '
            'goes with strata that are not dropped and with policy = "patterns".',
        )


def place_new_records(
    job: Job, wave: LaterWave, given: PreparedTable
) -> tuple[Job, LaterWave]:
    """Return the job with the places of new records and of groups with few changes."""
    how = job.partition
    if not isinstance(how, EarlierGroups) or how.changes != "merge":
        return job, wave
    labels, proof = place_records(wave.wave, given.records, how)
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
