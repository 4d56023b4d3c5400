"""The groups of an earlier release, for the records of a later table."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from aggopt.core.plural import plural
from aggopt.core.regular_files import require_regular
from aggopt.core.types import Labels
from aggopt.data.context.strata import RecordStrata
from aggopt.data.context.units import RecordUnits
from aggopt.data.readers.read import read_as_text
from aggopt.data.table import Table
from aggopt.encoding.iso_text import parse_text_dates
from aggopt.errors import JobError, TableError
from aggopt.job import Job
from aggopt.job.earlier_section import EarlierGroups
from aggopt.pipeline.validate.earlier_groups import (
    LEFT_OUT,
    NEW,
    require_every_release,
    require_groups,
    require_shared_person,
    require_table_of_release,
)
from aggopt.pipeline.waves.wave import (
    EarlierRelease,
    Wave,
    find_changed,
    find_first_groups,
    find_influential,
    find_k,
    find_lacking,
    is_filled,
    read_entries,
    read_statement,
)
from aggopt.release.audit.changes import NOT_THERE


def add_earlier_groups(
    job: Job,
    table: Table,
    strata: RecordStrata | None = None,
    units: RecordUnits | None = None,
) -> Job:
    """Return the job with the earlier group of each record, if it keeps groups.

    Of a table of `units` with that of each unit, which all of its records had.

    Raises
    ------
    JobError
        A repair exchanges records, or the person is not an identifier.
    TableError
        The key, or the earlier table, is none, or not of these records; or records of a
        unit were in several groups.
    """
    partition = job.partition
    if not isinstance(partition, EarlierGroups):
        return job
    of_units = None if units is None or units.records is None else units
    if of_units is not None and of_units.records is not None:
        table = of_units.records
    repair = job.privacy.repair
    if repair is not None and repair.method != "merge":
        raise JobError(
            f"The repair {repair.method!r} takes records out of the groups that "
            "[partition] keep_groups is to keep.",
            fix='set repair = "merge" under [privacy], which keeps them together.',
        )
    path = partition.keys[-1]
    groups = _read_groups(path)
    if partition.person is not None:
        rows, _ = _match_rows_by_person(
            partition.person, partition.tables[-1], groups, job, table
        )
        require_shared_person(partition.tables[-1], partition.person, rows)
        labels = np.where(rows == NEW, NEW, groups[rows])
        if partition.changes != "refuse":
            labels = np.where(labels == LEFT_OUT, NEW, labels)
    else:
        labels = groups
        if strata is not None and strata.is_released is not None:
            labels = (
                labels[strata.is_released]
                if len(labels) == len(strata.is_released)
                else labels
            )
        if len(labels) != len(table.frame):
            raise TableError(
                f"{path.name} is of {plural(len(labels), 'record')}, and the table has "
                f"{len(table.frame)}.",
                fix="bring the same records in the same order; or name the earlier "
                'table and an identifier: earlier = "FILE" and person = "NAME" '
                "under [partition].",
            )
    require_groups(path, labels)
    if of_units is not None:
        labels = _find_unit_groups(path, labels, of_units)
    return job.model_copy(update={"partition": partition.of_records(labels)})


def read_wave(job: Job, table: Table) -> Wave | None:
    """Return the table compared with its earlier releases; None without any.

    None if it names no earlier table.

    Raises
    ------
    JobError
        An earlier release keeps groups of another one, which the job does not name; or
        as `add_earlier_groups`.
    TableError
        As `add_earlier_groups`, of each key and table.
    """
    partition = job.partition
    if not isinstance(partition, EarlierGroups) or partition.earlier is None:
        return None
    statements = [read_statement(key) for key in partition.keys]
    require_every_release(partition.keys, statements)
    index: dict[Any, int] = {}
    files = []
    for key, path, stated in zip(
        partition.keys, partition.tables, statements, strict=True
    ):
        groups = _read_groups(key)
        rows, before = _match_rows(partition, path, groups, job, table)
        people = _list_people(partition, nw.from_native(before))
        at = np.array([index.setdefault(name, len(index)) for name in people])
        files.append(_EarlierFiles(key, path, stated, groups, before, rows, at))
        require_table_of_release(stated, path, key)
    if partition.person is not None:
        require_shared_person(partition.tables[-1], partition.person, files[-1].rows)
    row = np.array(
        [index.get(name, NEW) for name in _list_people(partition, table.frame)]
    )
    releases = tuple(_compare_release(f, job, table, row, len(index)) for f in files)
    return _add_units(Wave(releases, row), files, table)


@dataclass(frozen=True, eq=False)
class _EarlierFiles:
    """The groups (n1,) and the table of an earlier release.

    Attributes
    ----------
    stated
        Content of its manifest; None without one.
    rows : (n,)
        The earlier record of each record; NEW without one.
    at : (n1,)
        The person of each earlier record, 0..m-1.
    """

    key: Path
    path: Path
    stated: Any
    groups: Labels
    table: pa.Table
    rows: Labels
    at: Labels


def _list_people(earlier: EarlierGroups, frame: Any) -> list[Any]:
    """Return the person of each record, (n,): its identifier or its position."""
    if earlier.person is None:
        return list(range(len(frame)))
    return [str(entry) for entry in frame[earlier.person].to_list()]


def _compare_release(
    files: _EarlierFiles, job: Job, table: Table, row: Labels, persons: int
) -> EarlierRelease:
    """Return an earlier release compared with the table of people `row` (n,)."""
    before = files.table
    names = find_influential(files.stated, job, before.column_names)
    for name in table.clocks.keys() & names:
        spelled = nw.from_native(before[name], series_only=True)
        dates = parse_text_dates(spelled, table.clocks[name].format)
        at = before.column_names.index(name)
        before = before.set_column(at, name, dates.to_arrow())
    first = np.full(persons, NOT_THERE)
    first[files.at] = np.where(files.groups == LEFT_OUT, NOT_THERE, files.groups)
    changed = find_changed(before, table.frame, files.rows, names, job.input.decimal)
    changed[find_first_groups(first, row) == NOT_THERE] = False
    masked = [name for name in names if name in job.roles.quasi_identifier]
    filled = (is_filled(files.stated), job.missing.policy == "fill")
    lacking = {}
    for name, (one, is_lacking) in find_lacking(
        before, table.frame, masked, filled
    ).items():
        of_persons = np.zeros(persons, bool)
        of_persons[files.at] = one
        lacking[name] = (of_persons, is_lacking)
    k = find_k(files.stated, files.groups)
    name = files.key.name.removesuffix(".private.csv")
    return EarlierRelease(name, first, changed, names, k, lacking)


def _add_units(wave: Wave, files: Sequence[_EarlierFiles], table: Table) -> Wave:
    """Return the wave with the units of persons and records, if k counts units."""
    names = table.roles.unit
    if not names:
        return wave
    for release_files in files:
        lacking = [
            name for name in names if name not in release_files.table.column_names
        ]
        if lacking:
            raise TableError(
                f"{release_files.path.name} has no column "
                f"{', '.join(map(repr, lacking))}, and "
                "k counts units by it.",
                fix="name the table that the earlier release was made from.",
            )
    frames = [
        *(nw.from_native(release_files.table) for release_files in files),
        table.frame,
    ]
    entries = np.concatenate([read_entries(frame, names) for frame in frames])
    codes = np.asarray(pd.factorize(entries)[0])
    *earlier, later = np.split(codes, np.cumsum([len(frame) for frame in frames])[:-1])
    last = np.full(len(wave.releases[-1].first), NOT_THERE)
    releases = []
    for release, release_files, units in zip(
        wave.releases, files, earlier, strict=True
    ):
        of_persons = np.full(len(last), NOT_THERE)
        of_persons[release_files.at] = last[release_files.at] = units
        releases.append(replace(release, units=of_persons))
    return Wave(tuple(releases), wave.row, np.concatenate([last, later]))


def _find_unit_groups(path: Path, groups: Labels, units: RecordUnits) -> Labels:
    """Return the earlier group of each unit; NEW if it has none."""
    result = np.full(units.count, NEW)
    is_known = groups != NEW
    result[units.unit_of_record[is_known]] = groups[is_known]
    several = len(
        np.unique(
            units.unit_of_record[is_known & (result[units.unit_of_record] != groups)]
        )
    )
    if several:
        raise TableError(
            f"{path.name} has records of {plural(several, 'unit')} of {units.count} in "
            "several groups.",
            fix="name the key of a release of which attributes of units were masked, "
            "too; or leave keep_groups out.",
        )
    return result


def describe_split_groups(job: Job, strata: RecordStrata | None) -> tuple[str, ...]:
    """Return a note on earlier groups in several strata, if any exist."""
    partition = job.partition
    if strata is None or not isinstance(partition, EarlierGroups):
        return ()
    labels = partition.settings["labels"]
    old = labels != NEW
    pairs = np.unique(np.stack([labels[old], strata.labels[old]]), axis=1)[0]
    several = int((np.unique(pairs, return_counts=True)[1] > 1).sum())
    if not several:
        return ()
    have = "has" if several == 1 else "have"
    return (
        f"{plural(several, 'earlier group')} {have} records of several strata, and "
        "each stratum keeps its part: aggopt compare counts what both releases leave.",
    )


def _read_groups(path: Path) -> Labels:
    """Return the group of each record (n,) from a private key, or LEFT_OUT."""
    if path.exists():
        require_regular(path)
    result = _read_groups_or_none(path)
    if result is None:
        raise TableError(
            f"{path} is no private key with one group for each record, or cannot be "
            "read.",
            fix="name the NAME.private.csv of a release whose attributes were grouped "
            "together.",
        )
    return result


def _read_groups_or_none(path: Path) -> Labels | None:
    """Return the groups in a private key; None if the file is not one."""
    try:
        key = pyarrow.csv.read_csv(path)
        stated = key["group"]
        column = (
            "released_record" in key.column_names
            and pyarrow.types.is_integer(stated.type)
            and pc.min(stated.drop_null()).as_py() >= 0
        )
        labels: Labels = stated.fill_null(LEFT_OUT).to_numpy()
    except (OSError, ValueError, TypeError, KeyError, OverflowError):  # of Arrow, too
        return None
    return labels if column else None


def _match_rows(
    earlier_job: EarlierGroups, earlier: Path, groups: Labels, job: Job, table: Table
) -> tuple[Labels, pa.Table]:
    """Return each record's earlier record (n,), NEW if none, and the earlier table.

    Records are matched by the person, or by their order.
    """
    if earlier_job.person is not None:
        return _match_rows_by_person(earlier_job.person, earlier, groups, job, table)
    before = read_as_text(earlier, job.input)
    n = len(table.frame)
    if not len(before) == len(groups) == n:
        raise TableError(
            f"{earlier.name} has {plural(len(before), 'record')}, its key is of "
            f"{len(groups)}, and the table has {n}.",
            fix="bring the same records in the same order; or name an identifier that "
            'both tables have: person = "NAME" under [partition].',
        )
    return np.arange(n), before


def _match_rows_by_person(
    person: str, earlier: Path, groups: Labels, job: Job, table: Table
) -> tuple[Labels, pa.Table]:
    """Return records' earlier records and table, matched by an identifier."""
    if person not in job.roles.identifier:
        raise JobError(
            f"[partition] person names {person!r}, which is no identifier: the release "
            "would publish it, and anybody could link the waves.",
            fix="list it as identifier, which drops it from the release.",
        )
    before = read_as_text(earlier, job.input)
    if person not in before.column_names or len(before) != len(groups):
        raise TableError(
            f"{earlier.name} has {plural(len(before), 'record')} and "
            f"{'a' if person in before.column_names else 'no'} column {person!r}, and "
            f"its key is of {len(groups)}.",
            fix="name the table that the earlier release was made from.",
        )
    old = [str(entry) for entry in before[person].to_pylist()]
    new = [str(entry) for entry in table.frame[person].to_list()]
    twice = len(old) + len(new) - len(set(old)) - len(set(new))
    if twice:
        raise TableError(
            f"{person!r} does not differ in every record: {twice} of {len(old)} and "
            f"{len(new)} stand there again.",
            fix="name an identifier of one record each.",
        )
    row_of_person = {name: i for i, name in enumerate(old)}
    places = np.array([row_of_person.get(entry, NEW) for entry in new])
    return places, before
