"""Refusals of input files: their names, columns, types and sizes."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from aggopt.core.column_names import require_no_numbers
from aggopt.core.plural import is_or_are, plural
from aggopt.core.regular_files import is_folder_or_pattern
from aggopt.engine.validate.supported_settings import MEMORY
from aggopt.errors import InfeasibleInputError, TableError
from aggopt.job import Job

LARGEST = 4_000_000  # records of a row group, which cannot be read in parts


def require_one_file(path: Path, fix: str) -> None:
    """Refuse a folder or a pattern if one file is required.

    Raises
    ------
    TableError
        `fix` is what to do about it.
    """
    if is_folder_or_pattern(path):
        raise TableError(
            f"'{path}' is a folder or pattern of files; this command reads one file.",
            fix=fix,
        )


def require_small_row_group(path: Path, rows: int) -> None:
    """Refuse a row group of more records than a task can read at once."""
    if rows > LARGEST:
        raise TableError(
            f"{path.name} has a row group of {rows} records, and a task reads one at "
            f"least, of at most {LARGEST}.",
            fix="write the file anew with smaller row groups, of 250,000 records.",
        )


def require_records(n: int, k: int) -> None:
    """Refuse fewer records (n) than one group has (k).

    Raises
    ------
    InfeasibleInputError
        There are fewer than k.
    """
    if k > n:
        raise InfeasibleInputError(
            f"k = {k}, but there {is_or_are(n)} only {plural(n, 'record')}.",
            fix="choose a smaller k, or bring more records.",
        )


def require_supported_schema(schema: pa.Schema, job: Job) -> None:
    """Refuse quasi-identifiers of unsupported column types.

    Raises
    ------
    TableError
        The message has their names.
    """
    other = [
        f"{name!r} ({schema.field(name).type})"
        for name in job.roles.quasi_identifier
        if name in schema.names and not _is_supported(schema.field(name).type)
    ]
    if other:
        raise TableError(
            "Quasi-identifiers that are neither numbers, nor dates or times, text, "
            f"categories or truth values: {', '.join(other)}.",
            fix=f"give them numbers, or mask the table in parts that fit, {MEMORY}.",
        )


def _is_supported(kind: pa.DataType) -> bool:
    """Whether the column type is supported."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
    date = pa.types.is_temporal(kind) and not pa.types.is_interval(kind)
    return bool(number or date or text or pa.types.is_boolean(kind))


def require_equal_columns(
    first: Path, wanted: Sequence[str], path: Path, names: Sequence[str]
) -> None:
    """Refuse a CSV file whose header differs from the first file's."""
    if names == wanted:
        return
    if len(names) != len(wanted):
        text = f"{plural(len(names), 'column')}, and not {len(wanted)}"
    else:
        pairs = zip(names, wanted, strict=True)
        places = [
            str(j) for j, (file_names, one) in enumerate(pairs, 1) if file_names != one
        ]
        text = f"other names in columns {', '.join(places)}"
    raise TableError(
        f"The first line of {path.name} is not that of {first.name}: it has {text}.",
        fix="give all files of the table one header line, with columns in one order.",
    )


def require_header(names: Sequence[str], file: str, job: Job | None) -> None:
    """Refuse columns without a role in the job; without a job, a numeric header."""
    if job is not None:
        job.roles.check(names)
        return
    require_no_numbers(names, file)
