"""Read tables from files."""

from collections.abc import Collection, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from aggopt.core.regular_files import explain_unreadable, require_regular
from aggopt.data.formats.registry import (
    get_suffix,
    has_text_entries,
    require_format,
)
from aggopt.data.parsing.parse_text import parse_table
from aggopt.data.readers.labelled_columns import apply_declared_types
from aggopt.errors import TableError
from aggopt.job import AttributeSection, Input
from aggopt.job.roles import Roles


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
