"""Files of a release: the table by its ending, and its owner's manifest and key."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from aggopt.core.text_formats import format_json
from aggopt.core.types import F64, Bool, Floats, Labels
from aggopt.data.formats.registry import WriteOptions, get_suffix, require_format
from aggopt.data.readers.codebook import Codebook
from aggopt.data.readers.read import read_file
from aggopt.errors import TableError
from aggopt.job import Job
from aggopt.partition.shared.result import Block
from aggopt.release.files.type_support import require_supported_table

ROOM = 2**16  # bytes that fit, unless the disk is full
TRUTH = ((0.0, "False"), (1.0, "True"))  # as text spells them elsewhere


def write_table(
    to: Path, table: pa.Table, job: Job, books: Mapping[str, Codebook]
) -> None:
    """Write the columns of a release; `books` are their codebooks.

    Raises
    ------
    TableError
        The file cannot hold them; it does not read back unchanged.
    """
    format = require_format(to, written=True)
    if not format.declares_missing:
        table = replace_missing_codes(table, books)
    if not format.has_booleans:
        table, books = _replace_booleans(table, books)
    masked = job.roles.quasi_identifier
    options = WriteOptions(job.released_input, masked, books)
    if format.is_exact:
        format.write(to, table, options)
        return
    _require_names(table.select(masked), format.name)
    try:
        require_supported_table(table, format)
        format.write(to, table, options)
        _require_same(to, table, job)
    except TableError:
        _require_room(to)
        raise


def _replace_booleans(
    table: pa.Table, books: Mapping[str, Codebook]
) -> tuple[pa.Table, dict[str, Codebook]]:
    """Return a table with the texts of codes 0 and 1 for truth values."""
    all_books = dict(books)
    for j, name in enumerate(table.column_names):
        if pa.types.is_boolean(table.column(j).type):
            texts = pc.if_else(table.column(j), TRUTH[1][1], TRUTH[0][1])
            table = table.set_column(j, name, texts)
            all_books[name] = Codebook(all_books.get(name, Codebook()).label, TRUTH)
    return table, all_books


def replace_missing_codes(table: pa.Table, books: Mapping[str, Codebook]) -> pa.Table:
    """Return a table with null for codes that represent missing values."""
    for j, name in enumerate(table.column_names):
        book = books.get(name, Codebook())
        if book.missing:
            table = table.set_column(
                j, name, blank_missing_codes(table.column(j), book)
            )
    return table


def blank_missing_codes(column: pa.ChunkedArray, book: Codebook) -> pa.Array:
    """Return a column with null for codes that its book marks as missing."""
    entries = column.to_pylist()
    codes: Sequence[Any] | None = entries
    if pa.types.is_string(column.type):
        codes = book.encode_texts(entries)
    missing = [book.is_missing_code(code) for code in codes or ()]
    if not any(missing):
        return column
    return pa.array(entries, column.type, mask=np.array(missing))


def _require_names(masked: pa.Table, ending: str) -> None:
    """Refuse masked names that are empty texts, which this file stores as missing."""
    affected = []
    for name in masked.column_names:
        count = sum(entry == "" for entry in masked[name].to_pylist())
        affected += [f"{name!r}: {count}"] if count else []
    if affected:
        raise TableError(
            "Columns have entries that are empty text, and missing when they are read "
            f"from a {ending} file ({'; '.join(affected)}).",
            fix="write a .parquet file; or, before masking, give what is empty another "
            "name, or make it missing.",
        )


def _require_same(to: Path, table: pa.Table, job: Job) -> None:
    """Refuse a file that does not read back as the table to write."""
    types = job.released_attributes
    again = read_file(to, job.released_roles, job.released_input, types)
    counts = {n: _count_differing(table[n], again[n]) for n in table.column_names}
    affected = [f"{name!r}: {count}" for name, count in counts.items() if count]
    if affected:
        raise TableError(
            f"A {get_suffix(to)} file does not hold some entries as they are "
            f"({'; '.join(affected)}).",
            fix="write a .parquet file; or, before masking, shorten long text, remove "
            "blanks at its ends, and round times to milliseconds.",
        )


def _require_room(to: Path) -> None:
    """Raise the system's error if the disk is full: libraries may ignore it."""
    with to.open("ab") as stream:
        stream.write(bytes(ROOM))
        stream.flush()
        os.fsync(stream.fileno())


def _count_differing(written: pa.ChunkedArray, again: pa.ChunkedArray) -> int:
    """Return the number of entries that are read back differently.

    Numbers are compared bit by bit; an empty text is missing, as in the file.
    """
    if len(written) != len(again):
        return len(written)
    if _is_number(written.type) and _is_number(again.type):
        x = _to_floats(written)
        y = _to_floats(again)
        same = x.view(np.int64) == y.view(np.int64)
        return int((~(same | (np.isnan(x) & np.isnan(y)))).sum())
    pairs = zip(_list_entries(written), _list_entries(again), strict=True)
    return sum(_to_missing(one) != _to_missing(other) for one, other in pairs)


def _list_entries(column: pa.ChunkedArray) -> list[Any]:
    """Return entries; of times their nanoseconds, which Python's have none of."""
    if pa.types.is_time(column.type):
        column = column.cast(pa.time64("ns")).cast(pa.int64())
    entries: list[Any] = column.to_pylist()
    return entries


def _to_missing(entry: Any) -> Any:
    """Return None for an empty text, and any other entry unchanged."""
    return None if entry == "" else entry


def _is_number(kind: pa.DataType) -> bool:
    tests = (pa.types.is_boolean, pa.types.is_integer, pa.types.is_floating)
    return any(test(kind) for test in tests)


def _to_floats(column: pa.ChunkedArray) -> F64:
    floats: F64 = column.cast(pa.float64()).to_numpy()
    return floats


def write_key(
    to: Path,
    blocks: Sequence[Block],
    place: Labels,
    risk: Floats,
    further: Mapping[str, npt.NDArray[Any]] = MappingProxyType({}),
    is_kept: Bool | None = None,
) -> None:
    """Write group, place in the masked table and risk of each record of the input.

    `further` are other figures of each record, by name.  `is_kept` marks the released
    records, all if it is None; the others have no figures.
    """
    several = len(blocks) > 1
    labels = {
        f"group_{number}" if several else "group": block.labels
        for number, block in enumerate(blocks, start=1)
    }
    columns = {**labels, "released_record": place, "risk": risk, **further}
    key = pa.table(columns)
    if is_kept is not None:
        key = key.take(pa.array(np.cumsum(is_kept) - 1, mask=~is_kept))
    pyarrow.csv.write_csv(key, to)


def write_json(to: Path, stated: dict[str, Any]) -> None:
    """Write a manifest."""
    to.write_bytes(f"{format_json(stated)}\n".encode())
