"""The input folder: its files, of one schema, and the pieces that one task reads."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from glob import glob
from os.path import commonpath
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import pyarrow as pa
import pyarrow.parquet as pq

from aggopt.core import regular_files
from aggopt.core.column_names import check_names
from aggopt.core.plural import agree, plural
from aggopt.data.parsing.recoding import (
    recode_columns,
    require_group_labels,
    select_recoded,
)
from aggopt.engine.validate.input_files import require_small_row_group
from aggopt.errors import TableError, naming
from aggopt.job import AttributeSection

PIECE = 250_000  # records that a task reads at once, where row groups allow it
ENDING = ".parquet"


@dataclass(frozen=True)
class InputPart:
    """Row groups of a file that one task reads.

    Attributes
    ----------
    path, groups
        The file, from the root on, and the numbers of its row groups.
    first, records
        Number of records before it, in the order of the files' names, and in it.
    state
        Size and time of change, in nanoseconds, of the file when the run began.
    schema
        The columns as all files have them, if this one has them otherwise.
    recodings
        The sections of attributes that are recoded, by name.
    """

    path: Path
    groups: tuple[int, ...]
    first: int
    records: int
    state: tuple[int, int]
    schema: pa.Schema | None = None
    recodings: Mapping[str, AttributeSection] = field(default_factory=dict)

    def read(self, columns: Sequence[str]) -> pa.Table:
        """Return these columns of the part as a table, recoded.

        Raises
        ------
        TableError
            The file cannot be read any more, or has changed since the run began; the
            message never quotes it.
        JobError
            As `recode_columns`.
        """
        result = self._read(columns)
        if _read_state(self.path) != self.state:
            raise TableError(
                f"{self.path.name} has changed since this run began.",
                fix="mask the folder again once nothing writes into it; nothing was "
                "released.",
            )
        if result is None:
            raise _make_unreadable_error(self.path)
        with naming(self.path.name):
            return _recode(result, self.recodings)

    def _read(self, columns: Sequence[str]) -> pa.Table | None:
        """Return these columns of the part; None if the file is unreadable."""
        try:
            file = pq.ParquetFile(self.path)
            row_groups = file.read_row_groups(
                list(self.groups), columns=list(columns), use_threads=False
            )
            if self.schema is None:
                return row_groups.cast(make_nullable(row_groups.schema))
            common = [name for name in self.schema if name.name in columns]
            return row_groups.select([name.name for name in common]).cast(
                pa.schema(common)
            )
        except MemoryError:
            raise
        except (OSError, pa.ArrowException):
            return None  # its message may quote the file


@dataclass(frozen=True)
class InputFolder:
    """The files of a folder: one table in parts.

    Attributes
    ----------
    schema
        Names and types of the columns, which hold those of each file.
    pieces
        What tasks read, in the order of the files' names.
    """

    schema: pa.Schema
    pieces: tuple[InputPart, ...]

    @property
    def records(self) -> int:
        """Number of records of all files."""
        return sum(piece.records for piece in self.pieces)

    @property
    def folders(self) -> list[Path]:
        """The folders that contain the files, sorted."""
        return sorted({piece.path.parent for piece in self.pieces})

    def blocks(self) -> Iterator[pa.Table]:
        """Yield the records of all files, one part at a time."""
        for piece in self.pieces:
            yield piece.read(self.schema.names)

    def recode(self, sections: Mapping[str, AttributeSection]) -> "InputFolder":
        """Return the folder with columns that are recoded by the sections of a job.

        Raises
        ------
        JobError
            As `recode_columns`, for the types of columns; or as `require_group_labels`,
            for which all records of these columns are read.
        """
        recoded = {
            name: sections[name] for name in select_recoded(self.schema.names, sections)
        }
        if not recoded:
            return self
        schema = _recode(self.schema.empty_table(), recoded).schema
        require_group_labels(
            (
                nw.from_native(piece.read([name]), eager_only=True)
                for name, section in recoded.items()
                if section.groups is not None
                for piece in self.pieces
            ),
            recoded,
        )
        pieces = (replace(piece, recodings=recoded) for piece in self.pieces)
        return InputFolder(schema, tuple(pieces))

    @classmethod
    def of(cls, pattern: str | Path) -> "InputFolder":
        """Return the Parquet files of a folder or a pattern, as one table in parts.

        Reads their footers, and no record.

        Raises
        ------
        TableError
            No file exists, some are not Parquet files, or their columns differ.
        """
        paths = list_files(pattern)
        pieces: list[InputPart] = []
        schemas: dict[Path, pa.Schema] = {}
        first = 0
        for path in map(Path.absolute, paths):  # who reads it may work elsewhere
            state = _read_state(path)
            file = _open_file(path)
            if not file.metadata.num_rows:  # whoever wrote it knew no types
                continue
            schemas[path] = make_nullable(file.schema_arrow.remove_metadata())
            with naming(path.name):
                check_names(schemas[path].names)
            regular_files.require_no_partition(path, schemas[path].names)
            pieces += list(_iterate_pieces(path, file, first, state))
            first += file.metadata.num_rows
        if not schemas:
            raise TableError(
                f"There is no record in {plural(len(paths), 'file')}.",
                fix="name the folder of a table that has some.",
            )
        schema = merge_schemas(schemas)
        other = {
            path
            for path, schema_of_part in schemas.items()
            if not schema_of_part.equals(schema)
        }
        return cls(
            schema,
            tuple(
                replace(piece, schema=schema) if piece.path in other else piece
                for piece in pieces
            ),
        )


def _recode(rows: pa.Table, sections: Mapping[str, AttributeSection]) -> pa.Table:
    """Return rows with the recoded values of their columns."""
    return recode_columns(nw.from_native(rows, eager_only=True), sections).to_native()


def count_missing_in_footers(parts: InputFolder) -> dict[str, int | None]:
    """Return the missing values of each column by Parquet footers, None if unknown."""
    missing_counts: dict[str, int | None] = dict.fromkeys(parts.schema.names, 0)
    for piece in parts.pieces:
        metadata = _open_file(piece.path).metadata
        for group in map(metadata.row_group, piece.groups):
            for column in map(group.column, range(group.num_columns)):
                name = column.path_in_schema
                counts = column.statistics
                if name not in missing_counts:  # within a column of lists, or the like
                    continue
                is_counted = counts is not None and counts.has_null_count
                before = missing_counts[name]
                missing_counts[name] = (
                    before + counts.null_count
                    if is_counted and before is not None
                    else None
                )
    return missing_counts


def count_records_before(pieces: Sequence[InputPart]) -> dict[str, int]:
    """Return the number of records before each file, by file name.

    Files of several folders are named by their path within the common folder, so that
    names differ.
    """
    shared = commonpath([piece.path.parent for piece in pieces])
    firsts: dict[str, int] = {}
    for piece in pieces:
        firsts.setdefault(piece.path.relative_to(shared).as_posix(), piece.first)
    return firsts


def list_files(pattern: str | Path, ending: str = ENDING) -> list[Path]:
    """Return the files in a folder, or those that match a pattern, sorted by name.

    Raises
    ------
    TableError
        There are none, or one has another ending; or a folder of Parquet files has Hive
        partitions, or is an address.
    """
    folder = Path(pattern)
    regular_files.require_local(folder)
    column = _find_partition_column(folder) if folder.is_dir() else None
    if column is not None and ending == ENDING:
        csv = next(folder.rglob("*.csv"), None) is not None
        raise regular_files.explain_partition(str(folder), column, csv=csv)
    inside = f"*{ending}" if column is None else f"**/*{ending}"
    file_pattern = str(folder / inside) if folder.is_dir() else str(pattern)
    one = [folder] if folder.is_file() else []  # whose name may look like a pattern
    files = one or sorted(Path(name) for name in glob(file_pattern, recursive=True))
    more = "; `aggopt convert` makes them of CSV files" * (ending == ENDING)
    if not files:
        raise TableError(
            f"No file is called {file_pattern}.",
            fix=f'name a folder of {ending} files, or a pattern: "in/*{ending}"{more}.',
        )
    other = [path.name for path in files if path.suffix.lower() != ending]
    if other:
        raise TableError(
            f"{len(other)} of {plural(len(files), 'file')} "
            f"{agree(len(other), f'is no {ending} file', f'are no {ending} files')}: "
            f"{other[0]}{agree(len(other), '.', ', ...')}",
            fix=f'name those that are, "in/*{ending}"{more}.',
        )
    return files


def _find_partition_column(folder: Path) -> str | None:
    """Return the column in the names of a folder's folders, as region=01, if any."""
    for name in sorted(entry.name for entry in folder.iterdir() if entry.is_dir()):
        column, sign, _ = name.partition("=")
        if column and sign:
            return column
    return None


def _open_file(path: Path) -> Any:
    """Return an open Parquet file; refuse an unreadable one."""
    try:
        return pq.ParquetFile(path)
    except MemoryError:
        raise
    except (OSError, pa.ArrowException):
        pass
    raise _make_unreadable_error(path)


def _read_state(path: Path) -> tuple[int, int]:
    """Return size and time of change of a file, zeros if it is gone."""
    try:
        status = path.stat()
    except OSError:
        return (0, 0)  # which is no time that a file has
    return status.st_size, status.st_mtime_ns


def make_nullable(schema: pa.Schema) -> pa.Schema:
    """Return the schema with all columns nullable."""
    return pa.schema([field.with_nullable(True) for field in schema], schema.metadata)


def _make_unreadable_error(path: Path) -> TableError:
    """Return the error for an unreadable Parquet file."""
    return TableError(
        f"{path} is not a readable Parquet file.",
        fix="check that it may be read, is what its ending says, and not damaged.",
    )


def _iterate_pieces(
    path: Path, file: Any, first: int, state: tuple[int, int]
) -> Iterator[InputPart]:
    """Yield a file's row groups in parts of at most `PIECE` records, if possible."""
    groups: list[int] = []
    records = 0
    for number in range(file.metadata.num_row_groups):
        rows = file.metadata.row_group(number).num_rows
        require_small_row_group(path, rows)
        if groups and records + rows > PIECE:
            yield InputPart(path, tuple(groups), first, records, state)
            first = first + records
            groups = []
            records = 0
        groups = [*groups, number]
        records = records + rows
    if records:
        yield InputPart(path, tuple(groups), first, records, state)


FIX = (
    "write all files with the same columns, of one type each; their order, wider "
    "integers and dictionaries may differ."
)


def merge_schemas(schemas: Mapping[Path, pa.Schema]) -> pa.Schema:
    """Return the common schema of several files, columns as in the first.

    Raises
    ------
    TableError
        Files have other columns, or no common type holds all values; the message has
        their names.
    """
    first, *others = schemas.items()
    common = {field.name: field.type for field in first[1]}
    differing: dict[str, list[str]] = {}
    for path, schema in others:
        if schema.equals(first[1]):
            continue
        for what in _merge_schemas(common, schema, first[1]):
            differing.setdefault(what, []).append(path.name)
    if differing:
        raise _make_type_error(first[0], differing, len(schemas))
    return pa.schema(list(common.items()))


def _merge_schemas(
    common: dict[str, pa.DataType], schema: pa.Schema, first: pa.Schema
) -> Iterator[str]:
    """Widen `common` types to a file's schema; yield texts on unfit columns."""
    for name in common:
        if name not in schema.names:
            yield f"lacks {name!r}"
            continue
        column_type = schema.field(name).type
        wide = find_common_type(common[name], column_type)
        if wide is None:
            yield f"has {column_type} of {name!r} for {first.field(name).type}"
        else:
            common[name] = wide
    for name in schema.names:
        if name not in common:
            yield f"also has {name!r}"


def find_common_type(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    """Return the type that holds all values of both unchanged; None if none does.

    >>> find_common_type(pa.int8(), pa.uint8())
    DataType(int16)
    >>> find_common_type(pa.int64(), pa.float64())
    >>> find_common_type(pa.dictionary(pa.int8(), pa.string()), pa.string())
    DataType(string)
    """
    if one.equals(other):
        return one
    if _is_ordered(one) or _is_ordered(other):
        return None
    if pa.types.is_dictionary(one) or pa.types.is_dictionary(other):
        return find_common_type(_make_plain(one), _make_plain(other))
    if pa.types.is_integer(one) and pa.types.is_integer(other):
        return _find_wider(one, other)
    texts = {pa.string(), pa.large_string()}
    return pa.large_string() if {one, other} == texts else None


def _is_ordered(kind: pa.DataType) -> bool:
    """Whether the type is a dictionary with an order."""
    return pa.types.is_dictionary(kind) and bool(kind.ordered)


def _make_plain(kind: pa.DataType) -> pa.DataType:
    """Return the value type of a dictionary type; others unchanged."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _find_wider(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    """Return the narrowest integer type for all values of both; None if none."""
    signed = pa.types.is_signed_integer
    if signed(one) == signed(other):
        return max(one, other, key=lambda kind: kind.bit_width)
    plus, minus = (other, one) if signed(one) else (one, other)
    bits = max(2 * plus.bit_width, minus.bit_width)
    return {16: pa.int16(), 32: pa.int32(), 64: pa.int64()}.get(bits)


def _make_type_error(
    first: Path, differing: Mapping[str, list[str]], n: int
) -> TableError:
    """Return the error for files with different columns or types."""
    files = {name for names in differing.values() for name in names}
    text = "; ".join(f"{', '.join(names)} {what}" for what, names in differing.items())
    verb = "has" if len(files) == 1 else "have"
    return TableError(
        f"{plural(len(files), 'file')} of {n} {verb} not the columns of {first.name}: "
        f"{text}.",
        fix=FIX,
    )
