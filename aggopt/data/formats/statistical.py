"""Files of SPSS, Stata and SAS: values, and the codebook of each column.

A file that is written contains only the release: labels of its columns, and the texts
of codes that some record has.  The label and notes of the file that was read, ranges of
missing codes and the time are not written.
"""

import re
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time
from functools import partial
from pathlib import Path
from typing import Any, Literal

import pandas as pd
import pyarrow as pa

from aggopt.core.column_names import check_names
from aggopt.data.formats.registry import (
    PLAIN_TYPES,
    Format,
    NameRule,
    WriteOptions,
    get_suffix,
)
from aggopt.data.parsing.columns import is_text
from aggopt.data.readers.codebook import Code, Codebook, attach_codebooks, make_column
from aggopt.errors import TableError

Entries = dict[str, list[Any]]
_DECLARING = (".sav", ".zsav")  # SPSS files declare which codes are missing
_READERS = {
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".por": "read_por",
    ".dta": "read_dta",
    ".xpt": "read_xport",
    ".sas7bdat": "read_sas7bdat",
}
_MOMENTS = (date, datetime, time)
_ENCRYPTED = b"ENCRYPTEDSAV"
_DATA_SET = b"HEADER RECORD*******MEMB"
_RECORDS = b"HEADER RECORD*******OBS"
_CARD = 80  # bytes: a SAS transport file is made of these, the last filled with blanks
_LONGEST_LABEL = {".sav": 256, ".zsav": 256, ".dta": 80, ".xpt": 256}  # bytes
_MADE = (  # when: of SPSS, Stata, SAS; each in the first bytes, of the same length
    (rb"\d\d \w{3} \d\d\d\d:\d\d:\d\d", b"01 Jan 7000:00:00"),
    (rb"\d\d \w{3} \d{4} \d\d:\d\d", b"01 Jan 1970 00:00"),
    (rb"\d\d[A-Z]{3}\d\d:\d\d:\d\d:\d\d", b"01JAN70:00:00:00"),
)
_HEADER = {".sav": 176, ".zsav": 176, ".dta": 200, ".xpt": 560}  # bytes before names


def read_statistical(path: Path, keep: Collection[str] = ()) -> pa.Table:
    """Return the table in a file of SPSS, Stata or SAS.

    Codes that the file declares to be missing are null, but for the columns in `keep`:
    there they stay, to be published apart from each other.  A column whose codes all
    have a text is one of these texts, in an order if the file declares it ordinal.
    Whole numbers are integers, whatever type the file has; an empty text is missing.

    Raises
    ------
    TableError
        The file is encrypted or damaged, ends early, holds several tables, or has times
        that are not times of a day.  No message quotes the file.
    """
    _require_one_table(path)
    data, about = _parse(path)
    if get_suffix(path) == ".xpt":
        _require_whole(path, about)
    check_names(list(data))
    _require_times(path, data)
    ranges: Mapping[str, Any] = {}
    if get_suffix(path) in _DECLARING:
        ranges = _read_missing_ranges(
            path, [n for n in keep if n in data and not _has_times(data[n])]
        )
        if ranges:
            data |= _read_raw(path, list(ranges), user_missing=True)[0]
    columns = {}
    books = {}
    for name, values in data.items():
        texts = about.variable_value_labels.get(name, {}).items()
        book = Codebook(
            label=about.column_names_to_labels.get(name) or "",
            texts=tuple(sorted(pair for pair in texts if pair[1])),
            ordered=about.variable_measure.get(name) == "ordinal",
            missing=tuple(
                (limits["lo"], limits["hi"]) for limits in ranges.get(name, ())
            ),
        )
        is_text = about.readstat_variable_types[name] == "string"
        columns[name], books[name] = make_column(values, book, is_text=is_text)
    return attach_codebooks(pa.table(columns), books)


def _parse(path: Path, **options: Any) -> tuple[Entries, Any]:
    """Return the entries of each column, and the metadata of the file."""
    import pyreadstat

    ending = get_suffix(path)
    reader = getattr(pyreadstat, _READERS[ending])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.filterwarnings("error", "column .* is duplicated")
            parsed: tuple[Entries, Any] = reader(
                path.absolute(), output_format="dict", **options
            )
        return parsed
    except MemoryError:
        raise
    except Exception:  # its message may quote an entry
        pass
    raise TableError(
        f"{path.name} is not a readable {ending[1:]} file.",
        fix="check that it is what its ending says, and not damaged; where it opens in "
        "the program that wrote it, save it there once more, or as CSV UTF-8.",
    )


def _read_raw(path: Path, names: list[str], **options: Any) -> tuple[Entries, Any]:
    """Return some columns with times as the numbers that the file has."""
    return _parse(path, usecols=names, disable_datetime_conversion=True, **options)


def _read_missing_ranges(path: Path, names: list[str]) -> dict[str, Any]:
    """Return the ranges of codes for missing values in these columns."""
    if not names:
        return {}
    about = _read_raw(path, names, user_missing=True, metadataonly=True)[1]
    ranges: dict[str, Any] = about.missing_ranges
    return ranges


def _require_one_table(path: Path) -> None:
    """Refuse a file that is encrypted, or a library of several data sets."""
    with path.open("rb") as stream:
        encrypted = stream.read(len(_ENCRYPTED)) == _ENCRYPTED
    if encrypted:
        raise TableError(
            f"{path.name} is encrypted.",
            fix="open it in SPSS with its password, and save it without one.",
        )
    count = path.read_bytes().count(_DATA_SET) if get_suffix(path) == ".xpt" else 1
    if count > 1:
        raise TableError(
            f"{path.name} holds {count} data sets, and one would be read.",
            fix="write each of them to a file of its own.",
        )


def _require_whole(path: Path, about: Any) -> None:
    """Refuse a SAS transport file that ends early, by its length.

    Version 8 states the number of records.  Version 5 does not: a file that ends after
    a whole record and a whole card equals one of fewer records.
    """
    content = path.read_bytes()
    start = content.find(_RECORDS) + _CARD
    width = sum(about.variable_storage_width.values())
    records, rest = divmod(len(content) - start, max(width, 1))
    padding = content[len(content) - rest :].strip()
    stated = content[start - _CARD // 2 + 8 : start].strip()
    missing = int(stated) - records if stated.isdigit() else 0
    if len(content) % _CARD or padding or missing > 0:
        counts = f" of {int(stated)} records" if missing > 0 else ""
        raise TableError(
            f"{path.name} ends early: {records}{counts} are whole.",
            fix="copy the file once more from where it was written; if it is as long "
            "there, write it again.",
        )


def _has_times(values: list[Any], *kinds: type) -> bool:
    """Whether values are dates or times, or of these kinds of them."""
    first = next((value for value in values if value is not None), None)
    return type(first) in (kinds or _MOMENTS)


def _require_times(path: Path, data: Entries) -> None:
    """Refuse times of a day or more: as times of a day they would lose their days."""
    names = [name for name, values in data.items() if _has_times(values, time)]
    if not names:
        return
    day = 86_400_000.0 if get_suffix(path) == ".dta" else 86_400.0  # in its units
    counts = {
        name: sum(value is not None and not 0 <= value < day for value in values)
        for name, values in _read_raw(path, names)[0].items()
    }
    affected = [f"{name!r}: {count}" for name, count in counts.items() if count]
    if affected:
        raise TableError(
            f"Columns have times that are no times of a day ({'; '.join(affected)}).",
            fix="give them the format of a number in the program that wrote the file: "
            "they are then read as numbers.",
        )


@dataclass(frozen=True, eq=False)
class PreparedColumn:
    """A column in pyreadstat's form, with its labels."""

    values: Any = field(repr=False)  # a pandas series
    texts: dict[Any, str] = field(default_factory=dict, repr=False)
    missing: list[Any] = field(default_factory=list, repr=False)
    measure: str = "scale"


def write_statistical(to: Path, table: pa.Table, books: Mapping[str, Codebook]) -> None:
    """Write a table as a .sav, .zsav, .dta or .xpt file, by its ending.

    `books` are the codebooks of its columns, reduced to their publishable parts.

    Raises
    ------
    TableError
        The file cannot be written; no message has an entry.
    """
    ending = get_suffix(to)
    columns = {
        name: _prepare(table[name], books.get(name, Codebook()), ending)
        for name in table.column_names
    }
    frame = pd.DataFrame({name: column.values for name, column in columns.items()})
    longest = _LONGEST_LABEL[ending]
    labels = {n: _cut(b.label, longest) for n, b in books.items() if b.label}
    write = _make_writer(ending, columns, labels)
    try:
        write(frame, to.absolute(), column_labels=labels or None)
    except (OSError, MemoryError):
        raise
    except Exception:  # its message may quote an entry
        raise TableError(
            f"The release cannot be written as a {ending} file.",
            fix="write a .parquet or a .csv file.",
        ) from None
    _reset_time(to, _HEADER[ending])


def _make_writer(
    ending: str, columns: Mapping[str, PreparedColumn], labels: Mapping[str, str]
) -> Callable[..., None]:
    """Return a function that writes a frame, with the column metadata bound."""
    import pyreadstat

    if ending == ".xpt":
        version: Literal[5, 8] = 5 if _is_short(columns, labels) else 8
        return partial(pyreadstat.write_xport, file_format_version=version)
    texts = {name: column.texts for name, column in columns.items() if column.texts}
    if ending == ".dta":
        return partial(
            pyreadstat.write_dta,
            version=14,  # any Stata since reads it; later ones are for more columns
            variable_value_labels=texts or None,
        )
    missing = {
        name: column.missing for name, column in columns.items() if column.missing
    }
    return partial(
        pyreadstat.write_sav,
        compress=ending == ".zsav",
        variable_value_labels=texts or None,
        missing_ranges=missing or None,
        variable_measure={name: column.measure for name, column in columns.items()},
    )


def _cut(label: str, longest: int) -> str:
    """Return the part of a label that fits this number of bytes."""
    return label.encode()[:longest].decode(errors="ignore")


def _is_short(columns: Mapping[str, PreparedColumn], labels: Mapping[str, str]) -> bool:
    """Whether version 5 of SAS transport files, which most programs read, will do."""
    text = [
        column.values for column in columns.values() if column.values.dtype == "string"
    ]
    entries = (entry for column in text for entry in column.dropna())
    return (
        max(map(len, columns)) <= 8
        and all(len(label.encode()) <= 40 for label in labels.values())
        and all(len(entry.encode()) <= 200 for entry in entries)
    )


def _prepare(column: pa.ChunkedArray, book: Codebook, ending: str) -> PreparedColumn:
    """Return a column with the codes of its texts, if the file supports them."""
    kind = column.type
    has_codes = bool(book.texts or book.missing) and ending != ".xpt"
    if is_text(kind):
        entries = column.to_pylist()
        codes = book.encode_texts(entries) if has_codes else None
        if codes is None or not supports_texts(codes, ending):
            return PreparedColumn(pd.Series(entries, dtype="string"), measure="nominal")
        return _with_texts(codes, book, "ordinal" if book.ordered else "nominal")
    if pa.types.is_timestamp(kind):
        return PreparedColumn(column.cast(pa.timestamp("us"), safe=False).to_pandas())
    if pa.types.is_time(kind):
        times = column.cast(pa.time64("us"), safe=False).to_pylist()
        return PreparedColumn(pd.Series(times))
    if pa.types.is_date(kind):
        return PreparedColumn(pd.Series(column.to_pylist()))
    numbers = column.cast(pa.float64()).to_pylist()
    if not has_codes or not supports_texts(numbers, ending):
        return PreparedColumn(pd.Series(numbers, dtype="float64"))
    return _with_texts(numbers, book, "scale")


def supports_texts(codes: Sequence[Code | None], ending: str) -> bool:
    """Whether texts may represent codes: in Stata only for whole numbers."""
    present = (code for code in codes if code is not None)
    return ending in _DECLARING or all(
        not isinstance(code, str) and float(code).is_integer() for code in present
    )


def _with_texts(
    codes: Sequence[Code | None], book: Codebook, measure: str
) -> PreparedColumn:
    """Return codes with the texts, and the declarations of missing ones, they need."""
    present = {code for code in codes if code is not None}
    kind = "string" if any(isinstance(code, str) for code in present) else "float64"
    texts = {code: text for code, text in book.texts if code in present}
    ends = (_select_within(present, *ends) for ends in book.missing)
    missing = [{"lo": matches[0], "hi": matches[-1]} for matches in ends if matches]
    return PreparedColumn(pd.Series(codes, dtype=kind), texts, missing, measure)


def _select_within(codes: Iterable[Any], low: Any, high: Any) -> list[Any]:
    return sorted(code for code in codes if low <= code <= high)


def _reset_time(path: Path, header: int) -> None:
    """Write a fixed time over when the file was made, in its first bytes."""
    with path.open("r+b") as stream:
        content = stream.read(header)
        for pattern, fixed in _MADE:
            content = re.sub(pattern, fixed, content)
        stream.seek(0)
        stream.write(content)


def _declare(suffix: str, program: str, rank: int, **details: Any) -> Format:
    """Return the format of one suffix."""
    return Format(
        name=suffix,
        when=program,
        rank=rank,
        read=lambda path, csv_format, keep: read_statistical(path, keep),
        package="pyreadstat",
        extra="stats",
        has_booleans=False,
        types=PLAIN_TYPES,
        **details,
    )


def _write_table(to: Path, table: pa.Table, options: WriteOptions) -> None:
    write_statistical(to, table, options.codebooks)


_SPSS_NAMES = NameRule(
    64,
    r"[^\W\d_][\w.$#@]*(?<!\.)",
    "a letter, then letters, digits and _ . $ # @, but no point at the end, 64 bytes "
    "at most, no word of its language (all, and, by, eq, ge, gt, le, lt, ne, not, or, "
    "to, with), and none twice but for capital letters",
    frozenset(
        (
            *("all", "and", "by", "eq", "ge", "gt", "le", "lt", "ne", "not", "or"),
            *("to", "with"),
        )
    ),
)
_STATA_NAMES = NameRule(
    32,
    r"(?!str\d+$)[^\W\d]\w*",
    "a letter or _, then letters, digits and _, 32 bytes at most, no word of its "
    "language (if, in, using, with, byte, int, long, float, double, strL, str1, _n, "
    "...)",
    frozenset(
        (
            *("_all", "byte", "double", "float", "if", "in", "int", "long", "_n"),
            *("_N", "_pi", "_pred", "_rc", "_skip", "strL", "using", "with", "_b"),
            *("_coef", "_cons"),
        )
    ),
    caseless=False,
)
_SAS_NAMES = NameRule(
    32,
    r"[A-Za-z_][A-Za-z0-9_]*",
    "a letter of English or _, then those and digits, 32 at most, and none twice but "
    "for capital letters",
)
_LONGEST_TEXT = (32767, "bytes")  # in SPSS and SAS
_SPSS: dict[str, Any] = {
    "write": _write_table,
    "declares_missing": True,
    "has_codes": True,
    "names": _SPSS_NAMES,
    "longest_text": _LONGEST_TEXT,
}
SPSS = (
    _declare(".sav", "SPSS", 4, **_SPSS),
    _declare(".zsav", "SPSS, compressed", 5, **_SPSS),
    _declare(".por", "SPSS portable", 6, released_as=".sav"),
)
STATA = _declare(
    ".dta",
    "Stata; written for 14 and later",
    7,
    write=_write_table,
    names=_STATA_NAMES,
    has_codes=True,
)
SAS = (
    _declare(
        ".xpt",
        "SAS transport, versions 5 and 8",
        8,
        write=_write_table,
        names=_SAS_NAMES,
        longest_text=_LONGEST_TEXT,
    ),
    _declare(".sas7bdat", "SAS", 9, released_as=".xpt"),
)
