"""Read tables from files, whole or a sample of their records."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aggopt.core.regular_files import explain_unreadable, require_regular
from aggopt.data.formats.registry import (
    get_suffix,
    has_text_entries,
    require_format,
)
from aggopt.data.parsing.parse_text import parse_table
from aggopt.data.readers.codebook import apply_declared_types
from aggopt.errors import TableError
from aggopt.job import AttributeSection, Input, Roles


def read_file(
    path: Path,
    roles: Roles,
    csv_format: Input,
    attributes: Mapping[str, AttributeSection] | None = None,
) -> pa.Table:
    """Return the table in a file of any format.

    In a CSV file only quasi-identifiers and wishes are converted to numbers.  Every
    other entry remains text, so that a release repeats it letter by letter.
    `attributes` can declare numeric quasi-identifiers as categories.  In an SPSS file,
    missing codes remain unchanged in the role `other`.

    Raises
    ------
    TableError
        As `read_as_text` and `apply_roles`.
    """
    table = read_as_text(path, csv_format, keep=roles.other)
    return apply_roles(path, table, roles, csv_format, attributes or {})


def apply_roles(
    path: Path,
    table: pa.Table,
    roles: Roles,
    csv_format: Input,
    attributes: Mapping[str, AttributeSection],
) -> pa.Table:
    """Return columns of the table at a path, converted for their roles and the job.

    Raises
    ------
    TableError
        A column that must be numeric contains text, or partly labelled codes.
    """
    if has_text_entries(path):
        return parse_table(table, roles, csv_format, attributes)
    return apply_declared_types(table, roles, attributes)


def read_as_text(
    path: Path, csv_format: Input, *, keep: Collection[str] = ()
) -> pa.Table:
    """Return the table in a file, each entry of a CSV file as unchanged text.

    Codes that a file declares to be missing are null, but for the columns in `keep`.

    Raises
    ------
    TableError
        The file does not exist, is not a plain file, has another ending, or cannot be
        read.  The message never quotes the file.
    """
    format = require_format(path)
    require_regular(path)
    try:
        return format.read(path, csv_format, keep)
    except OSError as error:
        fix = "check that it may be read and is what its ending says."
        raise explain_unreadable(path, error, fix=fix) from None
    except pa.ArrowMemoryError:
        raise MemoryError from None
    except pa.ArrowException:
        pass  # its message quotes the file
    raise TableError(
        f"{path} is not a readable {get_suffix(path)[1:]} file.",
        fix="check that it is what its ending says, and not damaged.",
    )


def read_release_as_text(path: Path, csv_format: Input, roles: Roles) -> pa.Table:
    """Return a release as text, with null for empty entries of a CSV file.

    A release writes missing values as empty entries: no name in it is an empty text.
    In the role `other`, codes of an SPSS file that are missing count apart.

    Raises
    ------
    TableError
        As `read_as_text`.
    """
    table = read_as_text(path, csv_format, keep=roles.other)
    if not has_text_entries(path):
        return table
    nothing = pa.scalar(None, pa.string())
    columns = [pc.if_else(pc.equal(c, ""), nothing, c) for c in table.columns]
    return pa.table(columns, names=table.column_names)


MOST = 20_000  # records of a sample: rare entries are seen, and memory stays small
RUN = 200  # records in a row: members of a household are looked at together


@dataclass(frozen=True)
class Sample:
    """Records of a table; all of them if it is small.

    Attributes
    ----------
    table
        The records, unconverted.
    records
        How many the whole table has.
    """

    table: pa.Table = field(repr=False)
    records: int

    @classmethod
    def of(cls, path: Path, csv_format: Input) -> "Sample":
        """Return a sample of the table in a file; raises as `read_as_text`."""
        open_blocks = require_format(path).open_blocks
        blocks = open_blocks(path, csv_format) if open_blocks else None
        if blocks is not None and blocks.records > MOST:
            with suppress(OSError, pa.ArrowException):  # a damaged page: see below
                return cls.of_blocks(blocks.tables, blocks.records)
        table = read_as_text(path, csv_format)
        return cls.of_blocks([table], len(table))

    @classmethod
    def of_blocks(cls, blocks: Iterable[pa.Table], n: int) -> "Sample":
        """Return a sample of consecutive blocks with n records in all."""
        if n > MOST:
            return cls(_sample_blocks(blocks, n), n)
        return cls(pa.concat_tables(list(blocks)), n)

    @property
    def note(self) -> str:
        """Which records were looked at, in a sentence; "" of all."""
        if len(self.table) == self.records:
            return ""
        return (
            f"Of {self.records} records a sample was looked at: the first {RUN} of "
            f"each {self.records // (MOST // RUN)}."
        )


def _sample_blocks(blocks: Iterable[pa.Table], n: int) -> pa.Table:
    """Return runs of records, evenly spread over the n that the blocks have."""
    return pa.concat_tables(list(_iter_runs(blocks, n // (MOST // RUN))))


def _iter_runs(blocks: Iterable[pa.Table], every: int) -> Iterator[pa.Table]:
    """Yield the first records of each `every`, `MOST` in total."""
    first = 0
    for block in blocks:
        last = first + len(block)
        for number in range(first // every, min(-(-last // every), MOST // RUN)):
            start = max(number * every, first)
            stop = min(number * every + RUN, last)
            if start < stop:
                rows = np.arange(start - first, stop - first)
                yield block.take(pa.array(rows))  # a slice would keep all of the block
        first = last
