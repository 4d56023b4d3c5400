"""From CSV files of any size to a folder of Parquet files, which an engine masks."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from aggopt.core.names import require_no_numbers
from aggopt.engine.converted import Converted, ConvertedColumn
from aggopt.engine.csv_parts import CsvParts
from aggopt.engine.folders import appearing, require_new
from aggopt.engine.pieces import PIECE, files_of
from aggopt.engine.workspace import appear
from aggopt.errors import JobError
from aggopt.input.dialect import separator_of
from aggopt.input.spelled import types_of
from aggopt.input.spelling import Spelling
from aggopt.job import Input, Job, input_section
from aggopt.pipeline.partition_step import Progress, listener

PART = 1_000_000  # records of a file, about
GROUP = 2**25  # bytes of a row group in memory, about
POINT, COMMA = ".", ","
ENDING = ".csv"


def convert(
    data: str | Path,
    out: str | Path,
    *,
    job: Job | str | Path | None = None,
    separator: str | None = None,
    decimal: str | None = None,
    multiline: bool = False,
    progress: Progress | None = None,
) -> Converted:
    r"""Write CSV files of any size as a folder of Parquet files; return what they are.

    A column has one type, which all entries of all files decide: numbers, truth values,
    or text.  Text is also what a number loses digits of, as codes with zeros in front.
    Entries that stand for a missing value are missing.  The rules are those by which
    `mask` reads a CSV file.  Each file is read three times, in blocks: memory does not
    grow with it.

    Parameters
    ----------
    data
        A CSV file, a folder of them, or a pattern: "in/*.csv".  All have one header.
    out
        The folder that is to appear.  It holds originals: mode 0700, its files 0600.
    job
        A job, or the path of one: its [input] says how the files are written, and its
        roles and [attributes] decide types as in `mask`.
    separator, decimal, multiline
        Without a job: how the files are written, and whether entries may span lines.
        Separator and decimal point are looked for when omitted.
    progress
        Called with the name of the step and the share of it that is done.

    Returns
    -------
    Converted
        The files, and what each column became; no record.

    Raises
    ------
    TableError
        A file cannot be read, breaks the rules of CSV, or has another header; words are
        among numbers that the job masks; the folder is there already.
    JobError
        The job cannot be used, or it is given beside what it says itself.

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
    told, to = listener(progress), Path(out)
    require_new(to)
    paths = files_of(data, ENDING)
    asked = Job.read(job) if isinstance(job, str | Path) else job
    how = _how(asked, paths[0], separator, decimal, multiline=multiline)
    parts = CsvParts.of(paths, how, told)
    _require_names(parts, asked)
    is_open = asked is None and decimal is None and how.separator != COMMA
    how, spelled = _spelled(parts, (POINT, COMMA) if is_open else (how.decimal,), told)
    types = _types(spelled, asked)
    with appearing(to) as folder:
        blocks = (_typed(block, types, spelled, how) for block in parts.blocks(told))
        groups = _grouped(blocks)
        files = tuple(_written(groups, pa.schema(list(types.items())), folder))
    columns = (
        ConvertedColumn.of(name, types[name], found, parts.records)
        for name, found in spelled.items()
    )
    return Converted(
        to, files, parts.records, how.separator, how.decimal, tuple(columns)
    )


def _how(
    job: Job | None,
    first: Path,
    separator: str | None,
    decimal: str | None,
    *,
    multiline: bool,
) -> Input:
    """Return how the files are written, their decimal point perhaps provisionally."""
    if job is None:
        found = input_section(separator or separator_of(first), decimal or POINT)
        return found.model_copy(update={"multiline": multiline})
    named = {"separator": separator, "decimal": decimal, "multiline": multiline}
    beside = [name for name, value in named.items() if value]
    if beside:
        raise JobError(
            f"A job is named, and beside it {', '.join(beside)}, which it says itself.",
            fix="set what holds under [input] in the job, or leave the job out.",
        )
    return job.input


def _require_names(parts: CsvParts, job: Job | None) -> None:
    """Refuse columns that have no role in the job; without one, a record as header."""
    if job is not None:
        job.roles.check(parts.names)
        return
    require_no_numbers(parts.names, parts.paths[0].name)


def _spelled(
    parts: CsvParts, points: Sequence[str], told: Progress
) -> tuple[Input, dict[str, Spelling]]:
    """Return what columns spell, by the decimal point by which more are numbers."""
    ways = [parts.how.model_copy(update={"decimal": point}) for point in points]
    found = zip(ways, parts.spelled(ways, told), strict=True)
    return max(found, key=lambda way: sum(not each.mixed for each in way[1].values()))


def _types(found: Mapping[str, Spelling], job: Job | None) -> dict[str, pa.DataType]:
    """Return the type of each column; raises as `types_of`."""
    types = {name: each.type_that_keeps for name, each in found.items()}
    if job is None:
        return types
    wanted = (*job.roles.quasi_identifier, *job.roles.numbers)
    own = {name: each for name, each in found.items() if name in wanted}
    return types | types_of(own, job.roles, job.attributes)


def _typed(
    block: pa.Table,
    types: Mapping[str, pa.DataType],
    spelled: Mapping[str, Spelling],
    how: Input,
) -> pa.Table:
    columns = {n: spelled[n].read(block[n], t, how) for n, t in types.items()}
    return pa.table(columns)


def _grouped(blocks: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """Yield consecutive blocks together, as many as a row group has bytes."""
    held: list[pa.Table] = []
    size = 0
    for block in blocks:
        held.append(block)
        size += block.nbytes
        if size >= GROUP:
            yield pa.concat_tables(held)
            held, size = [], 0
    if held:
        yield pa.concat_tables(held)


def _written(
    groups: Iterator[pa.Table], schema: pa.Schema, folder: Path
) -> Iterator[str]:
    """Write the groups into files of about so many records; yield their names."""
    for number, first in enumerate(groups):
        file = folder / f"part-{number:05d}.parquet"
        appear(file, partial(_write_part, chain([first], groups), schema))
        yield file.name


def _write_part(groups: Iterator[pa.Table], schema: pa.Schema, to: Path) -> None:
    """Write groups to a file, until it has enough records."""
    records = 0
    with pq.ParquetWriter(to, schema) as file:
        for group in groups:
            file.write_table(group, row_group_size=PIECE)
            records += group.num_rows
            if records >= PART:
                return
