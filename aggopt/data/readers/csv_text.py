"""A CSV file as columns of text: whole, or block by block in memory that stays flat."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv

from aggopt.core.column_names import check_header
from aggopt.core.memory import require_memory
from aggopt.core.regular_files import require_no_partition
from aggopt.data.readers.csv_check import CsvShape, check_csv
from aggopt.data.readers.parquet import IN_BLOCKS
from aggopt.data.readers.text_encoding import UTF_8, WIDEST
from aggopt.errors import TableError
from aggopt.job import Input

HELD = 3  # times its size: what reading a file takes; short of it, Arrow aborts
BLOCK = 2**21  # bytes of a block, of which the reader below has up to 32 ahead


def read_text_table(path: Path, how: Input) -> pa.Table:
    """Return the table in a file, each entry as the text that it is.

    Raises
    ------
    TableError
        As `shape_of`; or a lenient reader counts other records.
    MemoryLimitError
        It needs more memory than is left.
    """
    # one block: entries may be as long as they like
    wider = 1 if how.encoding == UTF_8 else WIDEST
    size = wider * path.stat().st_size + 1
    require_memory(HELD * size, f"The table in {path.name}", IN_BLOCKS)
    shape = read_csv_shape(path, how)
    require_no_partition(path, shape.names)
    if not shape.records:  # the reader below needs a line end behind the header
        return pa.table({name: pa.array([], pa.string()) for name in shape.names})
    options = _options(shape, how, min(size, 2**31 - 1))
    table = pyarrow.csv.read_csv(path, **options)
    _require_counted(path, shape, table.num_rows)
    return table


def read_csv_shape(path: Path, how: Input) -> CsvShape:
    """Return names and number of records of a valid file.

    Raises
    ------
    TableError
        As `aggopt.data.readers.csv_check.check_csv`; or names are duplicate or empty.
    """
    shape = check_csv(path, how)
    check_header(shape.names, path.name)
    return shape


def read_text_blocks(path: Path, shape: CsvShape, how: Input) -> Iterator[pa.Table]:
    """Yield the same table as `whole`, in blocks of consecutive records.

    Raises
    ------
    TableError
        A record is longer than a block; or as `whole`.  No message quotes the file.
    """
    if not shape.records:
        return
    seen = 0
    try:
        with pyarrow.csv.open_csv(path, **_options(shape, how, BLOCK)) as blocks:
            for batch in filter(len, blocks):
                seen += len(batch)
                yield pa.Table.from_batches([batch])
    except (pa.ArrowInvalid, OSError):
        raise TableError(
            f"{path.name} cannot be read in blocks of {BLOCK >> 20} MiB: one of its "
            "records is longer, or it has changed meanwhile.",
            fix="shorten that record; or mask the file as one table in memory.",
        ) from None
    _require_counted(path, shape, seen)


def _options(shape: CsvShape, how: Input, size: int) -> dict[str, Any]:
    return {
        "read_options": pyarrow.csv.ReadOptions(
            use_threads=False, block_size=size, encoding=how.encoding
        ),
        "parse_options": pyarrow.csv.ParseOptions(
            delimiter=how.separator,
            newlines_in_values=True,
            ignore_empty_lines=len(shape.names) > 1,
        ),
        "convert_options": pyarrow.csv.ConvertOptions(
            column_types=dict.fromkeys(shape.names, pa.string()),
            strings_can_be_null=False,
        ),
    }


def _require_counted(path: Path, shape: CsvShape, seen: int) -> None:
    if seen != shape.records:
        raise TableError(
            f"{path.name} can be read in two ways, as {shape.records} or as "
            f"{seen} records.",
            fix="write it again with quotes around entries that hold separators, "
            "quotes or line breaks.",
        )
