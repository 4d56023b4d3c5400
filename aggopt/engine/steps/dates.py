"""Pass that finds the first day and the unit of the dates of all records.

Dates, times of day and durations are numbers as in memory: whole multiples of the
coarsest unit that makes all of the table's whole, counted from the first of them.
"""

from dataclasses import replace

import narwhals.stable.v2 as nw
import pyarrow as pa

from aggopt.data.parsing.dates import find_clocks, parse_date_columns
from aggopt.encoding.clock import Clock
from aggopt.encoding.iso_text import parse_text_dates as dated
from aggopt.engine.state.run_state import RunState
from aggopt.engine.steps.count_levels import get_declared_kind, select_attributes
from aggopt.engine.steps.strata import read_published_rows
from aggopt.engine.storage.scratch_files import load_state, save_state
from aggopt.errors import TableError, naming
from aggopt.job import Job


def find_dates(schema: pa.Schema, job: Job) -> tuple[str, ...]:
    """Return the quasi-identifiers that are dates, by their types or the job."""
    return select_attributes(_is_date, schema, job)


def _is_date(kind: pa.DataType, value: str | None) -> bool:
    return value == "date" or (
        value in (None, "numeric") and pa.types.is_temporal(kind)
    )


def count_dates(number: int, config: RunState) -> int:
    """Write the origin and the unit of dates of a piece; return its records.

    Raises
    ------
    TableError, JobError
        They are not dates; the message has the file and the column.
    """
    piece = config.pieces[number]
    rows = piece.read([*config.dates, *config.job.roles.stratum])
    with naming(piece.path.name):
        rows = _convert_dates(rows, config)
    rows, _ = read_published_rows(rows, 0, config)
    for place, name in enumerate(config.dates):
        with naming(piece.path.name):
            column = _find_clock(rows.column(name), name, config.job)
        save_state(config.at(f"dates of {place}", number), column)
    return len(rows)


def _convert_dates(rows: pa.Table, config: RunState) -> pa.Table:
    """Return rows of a piece with dates for text, in the format that the job sets."""
    declared = {
        n: config.job.attributes[n].type
        for n in config.dates
        if get_declared_kind(config.job, n)
    }
    frame = parse_date_columns(nw.from_native(rows, eager_only=True), declared)
    return frame.to_native()


def _find_clock(column: pa.ChunkedArray, name: str, job: Job) -> Clock | None:
    """Return the unit and origin of dates of some records; None if all are missing."""
    present = column.drop_null()
    if not len(present):
        return None
    frame = nw.from_native(pa.table({name: present}), eager_only=True)
    declared = {name: job.attributes[name].type} if get_declared_kind(job, name) else {}
    return find_clocks(frame, [name], declared, ())[name]


def add_clocks(config: RunState) -> RunState:
    """Return the run state with the unit and origin of dates of the whole table.

    Raises
    ------
    TableError
        All of them are missing, or files spell them in several ways.
    """
    clocks = {}
    for place, name in enumerate(config.dates):
        with naming(f"Column {name!r}", name):
            clocks[name] = _join_clocks(place, config)
    return replace(config, clocks=clocks)


def _join_clocks(place: int, config: RunState) -> Clock:
    """Return what counts from the first date of all pieces, in units of all."""
    paths = config.all(f"dates of {place}", len(config.pieces))
    pieces = zip(config.pieces, map(load_state, paths), strict=True)
    known_clocks = [(piece.path.name, clock) for piece, clock in pieces if clock]
    if not known_clocks:
        raise TableError("All values are missing.", fix="leave the column out.")
    first, kind = known_clocks[0][0], known_clocks[0][1].type
    for file, clock in known_clocks:
        if clock.type != kind:
            raise TableError(
                f"{file} spells {clock.type}, and {first} {kind}.",
                fix="spell all alike, as 2020-12-31, or 2020-12-31 23:59:59.",
            )
    clocks = [clock for _, clock in known_clocks]
    # each unit is a multiple of the next: a value whole in the least is in all
    start, unit = min(c.start for c in clocks), min(c.whole for c in clocks)
    return Clock(kind, start, unit, clocks[0].format)


def parse_dates(rows: pa.Table, config: RunState) -> pa.Table:
    """Return rows of a piece with dates in place of the text that spells them."""
    for name, clock in config.clocks.items():
        column, place = rows.column(name), rows.schema.get_field_index(name)
        if column.null_count == len(column):
            rows = rows.set_column(place, name, pa.nulls(len(column), clock.type))
        elif column.type != clock.type:
            text = nw.from_native(column, series_only=True)
            rows = rows.set_column(place, name, dated(text, clock.format).to_arrow())
    return rows
