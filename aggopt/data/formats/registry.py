"""The formats of table files, by suffix: each is declared in its own file here.

To add a format, add one file with its reader, its writer and a `Format` that names
them, and its line in docs/files.md.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn

import pyarrow as pa

from aggopt.core.registry import Method, Registry
from aggopt.core.regular_files import require_local, require_regular
from aggopt.data.readers.codebook import Codebook
from aggopt.errors import TableError
from aggopt.job import Input


@dataclass(frozen=True)
class NameRule:
    """Rule for column names in a format.

    Attributes
    ----------
    longest
        Maximum number of bytes of UTF-8.
    pattern
        Required form, as a regular expression.
    says
        Description of the pattern.
    reserved
        Words that are not allowed.
    caseless
        Whether Age and AGE are one name, and reserved words are so in any case.
    """

    longest: int
    pattern: str
    says: str
    reserved: frozenset[str] = frozenset()
    caseless: bool = True

    def find_violations(self, names: Sequence[str]) -> list[str]:
        """Return the names that break the rule, or that others would be taken for."""
        alike = [name.lower() if self.caseless else name for name in names]
        return [
            name
            for name, as_is in zip(names, alike, strict=True)
            if len(name.encode()) > self.longest
            or not re.fullmatch(self.pattern, name)
            or as_is in self.reserved
            or alike.count(as_is) > 1
        ]


@dataclass(frozen=True)
class WriteOptions:
    """Options for writing the columns of a release.

    Attributes
    ----------
    csv_format
        Separator, decimal point and encoding of files of text.
    masked
        Names of the quasi-identifiers.
    codebooks
        Codebooks of columns, reduced to their publishable parts.
    """

    csv_format: Input = field(default_factory=Input)
    masked: Sequence[str] = ()
    codebooks: Mapping[str, Codebook] = field(default_factory=dict)


@dataclass(frozen=True)
class RecordBlocks:
    """The number of records in a file, and its table in consecutive blocks."""

    records: int
    tables: Iterator[pa.Table]


TypeTest = Callable[[pa.DataType], bool]
PLAIN_TYPES: tuple[TypeTest, ...] = (
    *(pa.types.is_boolean, pa.types.is_integer, pa.types.is_floating),
    *(pa.types.is_string, pa.types.is_large_string, pa.types.is_null),
    *(pa.types.is_date, pa.types.is_time, pa.types.is_timestamp),
)


def _refuse_to_write(to: Path, *_: Any) -> NoReturn:
    raise TableError(
        f"{to.name}: {get_suffix(to)} files are read, and not written.",
        fix=f"write one of {', '.join(list_suffixes(written=True))}.",
    )


@dataclass(frozen=True, kw_only=True)
class Format(Method):
    """A format of table files; its name is the suffix, and `when` is its program.

    Attributes
    ----------
    read
        Takes a path, the section [input] and the columns whose missing codes remain
        unchanged; returns the table.
    write
        Takes a path, a table and `WriteOptions`.
    released_as
        Suffix of releases of these tables; its own if it is written.
    package, extra
        The package that reads and writes it, and the extra that installs the package.
    has_text_entries
        Whether entries are text, to be parsed as the section [input] specifies.
    is_exact
        Whether it stores every entry unchanged.  Otherwise empty text is missing in it,
        and a release is read back and compared.
    has_booleans
        Whether it has truth values, which otherwise are codes 0 and 1 with texts.
    declares_missing
        Whether it declares codes to be missing; otherwise they are written as missing.
    has_codes
        Whether it stores codes with their texts; otherwise it stores the texts.
    types
        Types of columns that it supports, without time zones; None if it supports all.
    longest_text
        Number and unit, bytes or characters, of the longest text; None if any fits.
    names
        Rule for the names of columns; None if it supports all.
    open_blocks
        Takes a path and the section [input]; returns the blocks of a file that is read
        block by block, or None if the file is damaged.
    read_schema, read_columns
        Read the types of columns, and some columns, without reading all of the file.
    notes
        Takes a table and the section [output]; yields notes on a file of the table.
    """

    read: Callable[[Path, Input, Collection[str]], pa.Table]
    write: Callable[[Path, pa.Table, WriteOptions], None] = _refuse_to_write
    released_as: str = ""
    package: str = ""
    extra: str = ""
    has_text_entries: bool = False
    is_exact: bool = False
    has_booleans: bool = True
    declares_missing: bool = False
    has_codes: bool = False
    types: tuple[TypeTest, ...] | None = None
    longest_text: tuple[int, str] | None = None
    names: NameRule | None = None
    open_blocks: Callable[[Path, Input], RecordBlocks | None] | None = None
    read_schema: Callable[[Path], pa.Schema] | None = None
    read_columns: Callable[[Path, Sequence[str]], pa.Table] | None = None
    notes: Callable[[pa.Table, Input], Iterator[str]] | None = None

    @property
    def is_written(self) -> bool:
        """Whether it is written, not only read."""
        return self.write is not _refuse_to_write


FORMATS = Registry("aggopt.data.formats", Format, "format of table files")


def list_suffixes(*, written: bool = False) -> tuple[str, ...]:
    """Return the suffixes of all formats, or of the written ones."""
    return tuple(n for n, format in FORMATS.items() if format.is_written or not written)


def name_suffixes() -> str:
    """Return the suffixes of all formats, as a list with "or"."""
    *others, last = FORMATS
    return f"{', '.join(others)} or {last}"


def get_suffix(path: Path) -> str:
    """Return the suffix of a path in small letters."""
    return path.suffix.lower()


def has_text_entries(path: Path) -> bool:
    """Whether the entries of a file are text, by its suffix."""
    format = FORMATS.get(get_suffix(path))
    return format is not None and format.has_text_entries


def find_release_suffix(path: Path) -> str:
    """Return the suffix for a release of the table at a path: its own, if written."""
    suffix = get_suffix(path)
    format = FORMATS.get(suffix)
    return format.released_as or suffix if format else suffix


def list_packages(path: Path) -> tuple[str, ...]:
    """Return the packages that only this format needs."""
    format = FORMATS.get(get_suffix(path))
    return (format.package,) if format and format.package else ()


def require_format(path: Path, *, written: bool = False) -> Format:
    """Return the format of a file, which is to be read, or `written`.

    Raises
    ------
    TableError
        The suffix is unknown, or the package for this format is missing; or as
        `require_local` and `require_regular`.
    """
    require_local(path)
    suffix = get_suffix(path)
    format = FORMATS.get(suffix)
    if format is None:
        if not written:
            require_regular(path)
        suffixes = list_suffixes(written=written)
        raise TableError(
            f"{path.name} ends in none of {', '.join(suffixes)}.",
            fix="use one of them.",
        )
    if written and not format.is_written:
        _refuse_to_write(path)
    if format.package and find_spec(format.package) is None:
        raise TableError(
            f"{suffix} files are read and written by {format.package}, which is not "
            "here.",
            fix=f"install the extra that has it: pip install 'aggopt[{format.extra}]'.",
        )
    return format


def require_column_names(path: Path, names: Sequence[str]) -> None:
    """Refuse names of columns that the format of a file does not support.

    Raises
    ------
    TableError
        The message has the names and the rule.
    """
    suffix = get_suffix(path)
    format = FORMATS.get(suffix)
    rule = format.names if format else None
    broken = rule.find_violations(names) if rule else []
    if rule and broken:
        raise TableError(
            f"Column names that a {suffix} file does not allow: "
            f"{', '.join(map(repr, broken))}.",
            fix=f"rename them in the table and in the job: {rule.says}; or write "
            "another kind of file.",
        )
