"""CSV files that are one table in parts: read in blocks, one after the other."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from aggopt.core.column_names import check_header
from aggopt.core.plural import plural
from aggopt.core.regular_files import (
    explain_unreadable,
    partition_values,
    require_regular,
)
from aggopt.data.formats.csv import read_csv_shape, read_text_blocks
from aggopt.data.formats.csv_check import CsvShape
from aggopt.engine.conversion.column_text import ColumnText
from aggopt.errors import TableError
from aggopt.job import Input
from aggopt.pipeline.prepare.inputs import Progress

MISSING = "__HIVE_DEFAULT_PARTITION__"  # the name of what is missing


@dataclass(frozen=True)
class CsvParts:
    """The files of a table, and their format.

    Attributes
    ----------
    paths, shapes
        The files in the order of their names, and the shape a strict reader found
        in each.
    partitions
        Of each file the columns in the names of its folders, as region=01, that the
        file does not have.
    """

    paths: tuple[Path, ...]
    shapes: tuple[CsvShape, ...]
    how: Input
    partitions: tuple[Mapping[str, str], ...] = ()

    @classmethod
    def of(
        cls, paths: Sequence[Path], input_section: Input, on_progress: Progress
    ) -> "CsvParts":
        """Return the files, which must follow the CSV rules and have one header.

        Raises
        ------
        TableError
            As `shape_of`; headers differ, or the files have no record.
        """
        shapes = []
        for number, path in enumerate(paths):
            on_progress("check", number / len(paths))
            shapes.append(_read_shape(path, input_section))
            _require_equal_columns(paths[0], shapes[0], path, shapes[-1])
        parts = cls(
            tuple(paths),
            tuple(shapes),
            input_section,
            _read_partitions(paths, shapes[0].names),
        )
        if not parts.records:
            raise TableError(
                "The table has no records.", fix="bring a table with records."
            )
        return parts

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return (*self.shapes[0].names, *self.partitions[0])

    @property
    def records(self) -> int:
        """How many there are."""
        return sum(shape.records for shape in self.shapes)

    def blocks(self, on_progress: Progress, step: str = "write") -> Iterator[pa.Table]:
        """Yield the records as text, in blocks; raises as `in_blocks`."""
        done = 0
        files = zip(self.paths, self.shapes, self.partitions, strict=True)
        for path, shape, partition in files:
            for block in read_text_blocks(path, shape, self.how):
                yield _append_partition(block, partition)
                done += block.num_rows
                on_progress(step, done / self.records)

    def spelled(
        self, ways: Sequence[Input], on_progress: Progress
    ) -> list[dict[str, ColumnText]]:
        """Return the spelling of each column, for each of several number formats."""
        result = [dict.fromkeys(self.names, ColumnText()) for _ in ways]
        for block in self.blocks(on_progress, "types"):
            for spelled, way in zip(result, ways, strict=True):
                for name in self.names:
                    spelled[name] += ColumnText.of(block[name], way)
        return result


def _read_partitions(
    paths: Sequence[Path], names: Sequence[str]
) -> tuple[Mapping[str, str], ...]:
    """Return the columns in the names of the folders of each file, all alike.

    Raises
    ------
    TableError
        Some files are in folders with other columns in their names.
    """
    result = [
        {
            name: value
            for name, value in partition_values(path).items()
            if name not in names
        }
        for path in paths
    ]
    for path, values in zip(paths, result, strict=True):
        if list(values) != list(result[0]):
            raise TableError(
                f"The folders of {path.name} and of {paths[0].name} have other columns "
                "in their names (NAME=...).",
                fix="put all files of the table into folders of the same columns.",
            )
    check_header([*names, *result[0]], paths[0].name)
    return tuple(result)


def _append_partition(block: pa.Table, partition: Mapping[str, str]) -> pa.Table:
    """Return records with the columns of their folders, empty for missing values."""
    for name, value in partition.items():
        entries = ["" if value == MISSING else value] * len(block)
        block = block.append_column(name, pa.array(entries, pa.string()))
    return block


def _read_shape(path: Path, input_section: Input) -> CsvShape:
    require_regular(path)
    try:
        return read_csv_shape(path, input_section)
    except OSError as error:
        fix = "check that it may be read and is what its ending says."
        raise explain_unreadable(path, error, fix=fix) from None


def _require_equal_columns(
    first: Path, wanted: CsvShape, path: Path, shape: CsvShape
) -> None:
    """Refuse another header; by places, because a header may be a record."""
    if shape.names == wanted.names:
        return
    if len(shape.names) != len(wanted.names):
        text = f"{plural(len(shape.names), 'column')}, and not {len(wanted.names)}"
    else:
        pairs = zip(shape.names, wanted.names, strict=True)
        places = [
            str(j) for j, (file_names, one) in enumerate(pairs, 1) if file_names != one
        ]
        text = f"other names in columns {', '.join(places)}"
    raise TableError(
        f"The first line of {path.name} is not that of {first.name}: it has {text}.",
        fix="give all files of the table one header line, with columns in one order.",
    )
