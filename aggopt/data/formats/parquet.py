"""Parquet files, read after a check of the memory that they need."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from aggopt.core.column_names import check_names
from aggopt.core.memory import format_size, require_memory
from aggopt.core.regular_files import require_no_partition
from aggopt.data.formats.registry import Format, RecordBlocks
from aggopt.errors import TableError

DENSEST = 1000  # times that tables become smaller in a file, at most
SMALL = 2**28  # bytes: up to this many, any share of the file is fine
BATCH = 2**16  # records whose entries are counted at once
LEAST = 4  # bytes of an entry whose type has no width, as text
IN_BLOCKS = (
    'mask it block by block, as a folder of Parquet files: name = "local" under '
    "[engine], after `aggopt convert` for CSV files; or use a machine with more."
)


def read_parquet(path: Path) -> pa.Table:
    """Return the table in a Parquet file.

    Raises
    ------
    TableError
        Columns have no names or share one, or the file holds far more than its size
        suggests; or as `require_no_partition`.
    InfeasibleInputError
        It holds more than the memory that is left.
    pyarrow.ArrowException, OSError
        It is not a Parquet file.
    """
    with pq.ParquetFile(path) as file:
        unpacked = check_parquet(path, file)
        require_memory(unpacked, f"The table in {path.name}", IN_BLOCKS)
    return pq.read_table(path)


def open_record_blocks(path: Path) -> RecordBlocks | None:
    """Return the blocks of a Parquet file; None if it is damaged, and no table."""
    try:
        file = pq.ParquetFile(path)
    except (OSError, pa.ArrowException):
        return None
    return RecordBlocks(file.metadata.num_rows, _yield_blocks(path, file))


def _yield_blocks(path: Path, file: pq.ParquetFile) -> Iterator[pa.Table]:
    check_parquet(path, file)
    for batch in file.iter_batches(use_threads=False):
        yield pa.Table.from_batches([batch])


def check_parquet(path: Path, file: pq.ParquetFile) -> int:
    """Return how many bytes the table in an open file takes, about.

    Raises
    ------
    TableError
        As `read_parquet`.
    """
    check_names(list(file.schema_arrow.names))
    require_no_partition(path, file.schema_arrow.names)
    packed = path.stat().st_size
    about = file.metadata
    groups = [about.row_group(i) for i in range(about.num_row_groups)]
    pages = sum(group.total_byte_size for group in groups)
    unpacked = max(
        pages, about.num_rows * sum(map(_find_width, file.schema_arrow.types))
    )
    limit = max(SMALL, DENSEST * packed)
    if unpacked <= limit:
        unpacked = max(unpacked, _measure_text(path, about, limit))
    if unpacked > limit:
        raise TableError(
            f"{path.name} has {format_size(packed)} and unpacks to "
            f"{format_size(unpacked)} or more, {unpacked // packed} times as much: "
            f"no table unpacks to more than {DENSEST} times its size.",
            fix="use the file only if you trust it: then write it again in several "
            "files, or as CSV UTF-8.",
        )
    return int(unpacked)


def _measure_text(path: Path, about: pq.FileMetaData, limit: int) -> int:
    """Return how many bytes the entries of text take, or some number above `limit`.

    A dictionary has a long entry once, and pages refer to it at next to no cost: only
    the entries themselves tell.  They are counted without being written out, and only
    if the file could hold too much with entries as long as their column chunks.
    """
    chunks = [
        (i, chunk)
        for i in range(about.num_row_groups)
        for chunk in map(about.row_group(i).column, range(about.num_columns))
        if chunk.physical_type == "BYTE_ARRAY"
    ]
    if sum(map(_bound_size, (chunk for _, chunk in chunks))) <= SMALL:
        return 0
    names = {chunk.path_in_schema for _, chunk in chunks}
    shared = {chunk.path_in_schema for _, chunk in chunks if _shares_prefixes(chunk)}
    size = 0
    with pq.ParquetFile(path, read_dictionary=list(names - shared)) as file:
        flat = names.intersection(file.schema_arrow.names)
        for i, chunk in chunks:
            name = chunk.path_in_schema
            if name not in flat:  # nested, which no release has
                size += _bound_size(chunk)
                continue
            records = BATCH
            if name in shared:  # written out, so that few are read at once
                records = min(1 + SMALL // (1 + chunk.total_uncompressed_size), BATCH)
            for batch in file.iter_batches(records, [i], [name]):
                size += _measure_entries(batch.column(0))
                if size > limit:
                    return size
    return size


def _shares_prefixes(chunk: pq.ColumnChunkMetaData) -> bool:
    """Whether entries are, or may be, stored by the prefix shared with the last one."""
    return any("DELTA" in encoding for encoding in chunk.encodings)


def _bound_size(chunk: pq.ColumnChunkMetaData) -> int:
    """Return how many bytes entries take that are as long as their column chunk."""
    return int(chunk.num_values * chunk.total_uncompressed_size)


def _measure_entries(column: pa.Array) -> int:
    """Return the number of bytes of entries, with dictionary entries written out."""
    if not pa.types.is_dictionary(column.type):
        return int(column.nbytes)
    lengths = pc.binary_length(column.dictionary)
    return int(pc.sum(lengths.take(column.indices).cast(pa.int64())).as_py() or 0)


def _find_width(kind: pa.DataType) -> int:
    """Return how many bytes an entry takes at least."""
    try:
        return max(int(kind.bit_width) // 8, 1)
    except ValueError:
        return LEAST


PARQUET = Format(
    name=".parquet",
    when="Arrow and its kin",
    rank=2,
    read=lambda path, csv_format, keep: read_parquet(path),
    write=lambda to, table, options: pq.write_table(table, to),
    is_exact=True,
    open_blocks=lambda path, csv_format: open_record_blocks(path),
    read_schema=pq.read_schema,
    read_columns=lambda path, names: pq.read_table(path, columns=names),
)
