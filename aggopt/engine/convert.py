"""From CSV files of any size to a folder of Parquet files, which an engine masks."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from aggopt.core import regular_files
from aggopt.core.column_names import check_header
from aggopt.data.formats.csv import UTF_8, CsvShape, read_csv_shape, read_text_blocks
from aggopt.data.readers.csv_dialect import find_separator
from aggopt.engine.column_plan import (
    COMMA,
    POINT,
    ColumnPlan,
    ColumnText,
    ConversionSummary,
    plan_columns,
)
from aggopt.engine.runs.output_folders import make_appearing_folder
from aggopt.engine.storage.input_parts import PIECE, list_files
from aggopt.engine.storage.scratch_files import write_atomically
from aggopt.engine.validate.input_files import require_equal_columns, require_header
from aggopt.engine.validate.output_folders import require_new, require_no_file
from aggopt.errors import JobError, TableError
from aggopt.job import Input, Job, make_input_section
from aggopt.pipeline.prepare.inputs import Progress, read_progress

PART = 1_000_000  # records of a file, about
GROUP = 2**25  # bytes of a row group in memory, about
ENDING = ".csv"


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
        """Return the validated CSV files, which must have one common header.

        Raises
        ------
        TableError
            As `shape_of`; headers differ, or the files have no record.
        """
        shapes = []
        for number, path in enumerate(paths):
            on_progress("check", number / len(paths))
            shapes.append(_read_shape(path, input_section))
            require_equal_columns(paths[0], shapes[0].names, path, shapes[-1].names)
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
        """Number of records of all files."""
        return sum(shape.records for shape in self.shapes)

    def blocks(self, on_progress: Progress, step: str = "write") -> Iterator[pa.Table]:
        """Yield the records of all files as tables of text, block by block."""
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
        """Return the spelling of each column by name, for each number format."""
        result = [dict.fromkeys(self.names, ColumnText()) for _ in ways]
        for block in self.blocks(on_progress, "types"):
            for spelled, way in zip(result, ways, strict=True):
                for name in self.names:
                    spelled[name] += ColumnText.of(block[name], way)
        return result


def convert(
    data: str | Path,
    out: str | Path,
    *,
    job: Job | str | Path | None = None,
    separator: str | None = None,
    decimal: str | None = None,
    multiline: bool = False,
    encoding: str = UTF_8,
    numbers: Collection[str] = (),
    progress: Progress | None = None,
) -> ConversionSummary:
    r"""Write CSV files of any size as a folder of Parquet files; return a summary.

    A column has one type, which all entries of all files decide: numbers, truth values,
    or text.  It has numbers only if these preserve the spelling of each entry, because
    all are in one style: 01, 250.10 next to 250.1, and 1E5 are codes, and stay text.
    Entries that represent a missing value are missing.  Otherwise `mask` reads a CSV
    file by these rules too.  Each file is read three times, in blocks: memory does not
    grow with it.

    Parameters
    ----------
    data
        A CSV file, a folder of them, or a pattern: "in/*.csv".  All have one header.
    out
        The folder to create.  It holds originals: mode 0700, its files 0600.
    job
        A job, or the path of one: its [input] describes the format of the files,
        and its roles and [attributes] decide types as in `mask`.  Other columns are
        published as spelled, including blanks and words for missing values.  Their
        empty entries are missing, except in strata.
    separator, decimal, multiline, encoding
        Without a job: the format of the files, and whether entries may span lines.
        Separator and decimal point are inferred when omitted.
    numbers
        Columns that are numbers, for any spelling of their entries.
    progress
        Called with the name of the step and its completed share.

    Returns
    -------
    Converted
        The files, and the type of each column; no record.

    Raises
    ------
    TableError
        A file cannot be read, breaks the rules of CSV, or has another header; words, or
        numbers beyond all floats, are among numbers that the job masks or `numbers`
        names; the folder exists already.
    JobError
        The job cannot be used, or an argument repeats one of its settings.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     csv = Path(folder) / "people.csv"
    ...     _ = csv.write_text("sex;age\nf;30,5\nm;\n")
    ...     print(convert(csv, Path(folder) / "people"))
    2 records, 2 columns, in 1 file
      'sex': text
      'age': numbers, 1 missing
    """
    on_progress = read_progress(progress)
    to = Path(out)
    require_no_file(to)
    require_new(to)
    paths = list_files(data, ENDING)
    loaded_job = Job.read(job) if isinstance(job, str | Path) else job
    spelling = _find_csv_dialect(
        loaded_job, paths[0], separator, decimal, multiline=multiline, encoding=encoding
    )
    parts = CsvParts.of(paths, spelling, on_progress)
    require_header(parts.names, parts.paths[0].name, loaded_job)
    is_open = loaded_job is None and decimal is None and spelling.separator != COMMA
    spelling, spelled = _read_spelling(
        parts, (POINT, COMMA) if is_open else (spelling.decimal,), on_progress
    )
    columns = plan_columns(spelled, loaded_job, numbers)
    schema = pa.schema([(column.name, column.type) for column in columns])
    with make_appearing_folder(to) as folder:
        blocks = (
            _convert_block(block, columns, spelling)
            for block in parts.blocks(on_progress)
        )
        files = tuple(_write_parts(_batch_blocks(blocks), schema, folder))
    became = tuple(column.became(parts.records) for column in columns)
    return ConversionSummary(
        to, files, parts.records, spelling.separator, spelling.decimal, became
    )


def _find_csv_dialect(
    job: Job | None,
    first: Path,
    separator: str | None,
    decimal: str | None,
    *,
    multiline: bool,
    encoding: str,
) -> Input:
    """Return the CSV format of the files; the decimal point may be provisional."""
    if job is None:
        cut = separator or find_separator(first)
        dialect = make_input_section(cut, decimal or POINT, encoding)
        return dialect.model_copy(update={"multiline": multiline})
    settings = {"separator": separator, "decimal": decimal, "multiline": multiline}
    settings["encoding"] = encoding != UTF_8
    beside = [name for name, value in settings.items() if value]
    if beside:
        raise JobError(
            f"A job is named, and beside it {', '.join(beside)}, which it says itself.",
            fix="set what holds under [input] in the job, or leave the job out.",
        )
    return job.input


def _read_spelling(
    parts: CsvParts, points: Sequence[str], on_progress: Progress
) -> tuple[Input, dict[str, ColumnText]]:
    """Return the format with the decimal point of more numbers, and the spelling."""
    ways = [parts.how.model_copy(update={"decimal": point}) for point in points]
    spellings = zip(ways, parts.spelled(ways, on_progress), strict=True)
    return max(
        spellings,
        key=lambda way: sum(not text.spelling.mixed for text in way[1].values()),
    )


def _convert_block(
    block: pa.Table, columns: Sequence[ColumnPlan], input_section: Input
) -> pa.Table:
    """Return a block of text records with its columns parsed."""
    return pa.table(
        {
            column.name: column.read(block[column.name], input_section)
            for column in columns
        }
    )


def _batch_blocks(blocks: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """Yield blocks joined to tables of at least `GROUP` bytes."""
    waiting: list[pa.Table] = []
    size = 0
    for block in blocks:
        waiting.append(block)
        size += block.nbytes
        if size >= GROUP:
            yield pa.concat_tables(waiting)
            waiting = []
            size = 0
    if waiting:
        yield pa.concat_tables(waiting)


def _write_parts(
    groups: Iterator[pa.Table], schema: pa.Schema, folder: Path
) -> Iterator[str]:
    """Write tables to Parquet files of about `PART` records; yield file names."""
    for number, first in enumerate(groups):
        file = folder / f"part-{number:05d}.parquet"
        write_atomically(file, partial(_write_part, chain([first], groups), schema))
        yield file.name


def _write_part(groups: Iterator[pa.Table], schema: pa.Schema, to: Path) -> None:
    """Write tables to one Parquet file, until it has `PART` records."""
    records = 0
    with pq.ParquetWriter(to, schema) as file:
        for group in groups:
            file.write_table(group, row_group_size=PIECE)
            records += group.num_rows
            if records >= PART:
                return


def _read_partitions(
    paths: Sequence[Path], names: Sequence[str]
) -> tuple[Mapping[str, str], ...]:
    """Return columns and values in each file's folder names (region=01).

    Raises
    ------
    TableError
        Some files are in folders with other columns in their names.
    """
    result = [
        {
            name: value
            for name, value in regular_files.partition_values(path).items()
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
    """Return records with the columns of their folder names as last columns."""
    for name, value in partition.items():
        entries = ["" if value == MISSING else value] * len(block)
        block = block.append_column(name, pa.array(entries, pa.string()))
    return block


def _read_shape(path: Path, input_section: Input) -> CsvShape:
    """Return the header and the number of records of a CSV file."""
    regular_files.require_regular(path)
    try:
        return read_csv_shape(path, input_section)
    except OSError as error:
        fix = "check that it may be read and is what its ending says."
        raise regular_files.explain_unreadable(path, error, fix=fix) from None
