"""Files of SPSS, Stata or SAS that contain only the release.

The columns' labels, and the texts of codes that some record has, are written again; the
label and notes of a file, ranges of missing codes and the time are not.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal

import pandas as pd
import pyarrow as pa

from aggopt.data.readers.codebook import Code, Codebook
from aggopt.data.readers.formats import DECLARING, file_ending
from aggopt.errors import TableError
from aggopt.release.files.type_support import is_text, require_held

_LONGEST_LABEL = {".sav": 256, ".zsav": 256, ".dta": 80, ".xpt": 256}  # bytes
_MADE = (  # when: of SPSS, Stata, SAS; each in the first bytes, of the same length
    (rb"\d\d \w{3} \d\d\d\d:\d\d:\d\d", b"01 Jan 7000:00:00"),
    (rb"\d\d \w{3} \d{4} \d\d:\d\d", b"01 Jan 1970 00:00"),
    (rb"\d\d[A-Z]{3}\d\d:\d\d:\d\d:\d\d", b"01JAN70:00:00:00"),
)
_HEADER = {".sav": 176, ".zsav": 176, ".dta": 200, ".xpt": 560}  # bytes before names


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
        Columns have a type or whole numbers that these files do not have, or the file
        cannot be written; no message has an entry.
    """
    ending = file_ending(to)
    require_held(table, ending)
    columns = {
        name: _prepared(table[name], books.get(name, Codebook()), ending)
        for name in table.column_names
    }
    frame = pd.DataFrame({name: each.values for name, each in columns.items()})
    longest = _LONGEST_LABEL[ending]
    labels = {n: _cut(b.label, longest) for n, b in books.items() if b.label}
    write = _writer(ending, columns, labels)
    try:
        write(frame, to.absolute(), column_labels=labels or None)
    except (OSError, MemoryError):
        raise
    except Exception:  # its message may quote an entry
        raise TableError(
            f"The release cannot be written as a {ending} file.",
            fix="write a .parquet or a .csv file.",
        ) from None
    _forget_time(to, _HEADER[ending])


def _writer(
    ending: str, columns: Mapping[str, PreparedColumn], labels: Mapping[str, str]
) -> Callable[..., None]:
    """Return a function that writes a frame, with the column metadata bound."""
    import pyreadstat

    if ending == ".xpt":
        version: Literal[5, 8] = 5 if _is_short(columns, labels) else 8
        return partial(pyreadstat.write_xport, file_format_version=version)
    texts = {name: each.texts for name, each in columns.items() if each.texts}
    if ending == ".dta":
        return partial(
            pyreadstat.write_dta,
            version=14,  # any Stata since reads it; later ones are for more columns
            variable_value_labels=texts or None,
        )
    missing = {name: each.missing for name, each in columns.items() if each.missing}
    return partial(
        pyreadstat.write_sav,
        compress=ending == ".zsav",
        variable_value_labels=texts or None,
        missing_ranges=missing or None,
        variable_measure={name: each.measure for name, each in columns.items()},
    )


def _cut(label: str, longest: int) -> str:
    """Return the part of a label that fits this number of bytes."""
    return label.encode()[:longest].decode(errors="ignore")


def _is_short(columns: Mapping[str, PreparedColumn], labels: Mapping[str, str]) -> bool:
    """Whether version 5 of SAS transport files, which most programs read, will do."""
    text = [each.values for each in columns.values() if each.values.dtype == "string"]
    entries = (entry for column in text for entry in column.dropna())
    return (
        max(map(len, columns)) <= 8
        and all(len(label.encode()) <= 40 for label in labels.values())
        and all(len(entry.encode()) <= 200 for entry in entries)
    )


def _prepared(column: pa.ChunkedArray, book: Codebook, ending: str) -> PreparedColumn:
    """Return a column with the codes of its texts, if the file supports them."""
    kind, said = column.type, bool(book.texts or book.missing) and ending != ".xpt"
    if is_text(kind):
        entries = column.to_pylist()
        codes = book.codes(entries) if said else None
        if codes is None or not _may_have_texts(codes, ending):
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
    if not said or not _may_have_texts(numbers, ending):
        return PreparedColumn(pd.Series(numbers, dtype="float64"))
    return _with_texts(numbers, book, "scale")


def _may_have_texts(codes: Sequence[Code | None], ending: str) -> bool:
    """Whether texts may represent codes: in Stata only for whole numbers."""
    there = (code for code in codes if code is not None)
    return ending in DECLARING or all(
        not isinstance(code, str) and float(code).is_integer() for code in there
    )


def _with_texts(
    codes: Sequence[Code | None], book: Codebook, measure: str
) -> PreparedColumn:
    """Return codes with the texts, and the declarations of missing ones, they need."""
    there = {code for code in codes if code is not None}
    kind = "string" if any(isinstance(code, str) for code in there) else "float64"
    texts = {code: text for code, text in book.texts if code in there}
    ends = (_within(there, *ends) for ends in book.missing)
    missing = [{"lo": found[0], "hi": found[-1]} for found in ends if found]
    return PreparedColumn(pd.Series(codes, dtype=kind), texts, missing, measure)


def _within(codes: Iterable[Any], low: Any, high: Any) -> list[Any]:
    return sorted(code for code in codes if low <= code <= high)


def _forget_time(path: Path, header: int) -> None:
    """Write a fixed time over when the file was made, in its first bytes."""
    with path.open("r+b") as stream:
        found = stream.read(header)
        for pattern, fixed in _MADE:
            found = re.sub(pattern, fixed, found)
        stream.seek(0)
        stream.write(found)
