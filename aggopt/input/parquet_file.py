"""A Parquet file, and what it takes in memory before it is read."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from aggopt.core.memory import require_memory, size_in_words
from aggopt.core.names import check_names
from aggopt.errors import TableError

DENSEST = 1000  # times that tables become smaller in a file, at most
SMALL = 2**28  # bytes: up to this many, any share of the file is fine
LEAST = 4  # bytes of an entry whose type has no width, as text
_FIX = (
    'mask a folder of such files, block by block: name = "local" under [engine]; or '
    "use a machine with more."
)


def read_parquet(path: Path) -> pa.Table:
    """Return the table in a Parquet file.

    Raises
    ------
    TableError
        Columns have no names or share one, or the file holds far more than its size
        says.
    InfeasibleInputError
        It holds more than the memory that is left.
    pyarrow.ArrowException, OSError
        It is no such file.
    """
    with pq.ParquetFile(path) as file:
        check_names(list(file.schema_arrow.names))
        _require_room(path, file)
    return pq.read_table(path)


def _require_room(path: Path, file: pq.ParquetFile) -> None:
    packed, about = path.stat().st_size, file.metadata
    groups = map(about.row_group, range(about.num_row_groups))
    pages = sum(group.total_byte_size for group in groups)
    unpacked = max(pages, about.num_rows * sum(map(_width, file.schema_arrow.types)))
    if unpacked > max(SMALL, DENSEST * packed):
        raise TableError(
            f"{path.name} has {size_in_words(packed)} and unpacks to "
            f"{size_in_words(unpacked)}, {unpacked // packed} times as many: no table "
            f"does so by more than {DENSEST}.",
            fix="use the file only if you trust it: then write it again in several "
            "files, or as CSV UTF-8.",
        )
    require_memory(unpacked, f"The table in {path.name}", _FIX)


def _width(kind: pa.DataType) -> int:
    """Return how many bytes an entry takes at least."""
    try:
        return max(int(kind.bit_width) // 8, 1)
    except ValueError:
        return LEAST
