"""Read files of SPSS, Stata and SAS: values, and the codebook of each column."""

import warnings
from collections.abc import Collection, Mapping
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

import pyarrow as pa

from aggopt.core.column_names import check_names
from aggopt.data.readers.codebook import Codebook, attach_codebooks
from aggopt.data.readers.formats import DECLARING, file_ending
from aggopt.data.readers.labelled_columns import make_column
from aggopt.errors import TableError

Entries = dict[str, list[Any]]
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


def read_statistical(path: Path, keep: Collection[str] = ()) -> pa.Table:
    """Return the table in a file of SPSS, Stata or SAS.

    Codes that the file declares to be missing are null, but for the columns in `keep`:
    there they stay, to be published apart from each other.  A column whose codes all
    have a text is one of these texts, in an order if the file declares it ordinal.
    Whole numbers are such, whatever the file stores them as; an empty text is missing.

    Raises
    ------
    TableError
        The file is encrypted or damaged, ends early, holds several tables, or has times
        that are not times of a day.  No message quotes the file.
    """
    _require_one_table(path)
    data, about = _parsed(path)
    if file_ending(path) == ".xpt":
        _require_whole(path, about)
    check_names(list(data))
    _require_times(path, data)
    ranges: Mapping[str, Any] = {}
    if file_ending(path) in DECLARING:
        ranges = _declared(path, [n for n in keep if n in data and not _timed(data[n])])
        if ranges:
            data |= _raw(path, list(ranges), user_missing=True)[0]
    columns, books = {}, {}
    for name, values in data.items():
        texts = about.variable_value_labels.get(name, {}).items()
        book = Codebook(
            label=about.column_names_to_labels.get(name) or "",
            texts=tuple(sorted(pair for pair in texts if pair[1])),
            ordered=about.variable_measure.get(name) == "ordinal",
            missing=tuple((each["lo"], each["hi"]) for each in ranges.get(name, ())),
        )
        is_text = about.readstat_variable_types[name] == "string"
        columns[name], books[name] = make_column(values, book, is_text=is_text)
    return attach_codebooks(pa.table(columns), books)


def _parsed(path: Path, **how: Any) -> tuple[Entries, Any]:
    """Return the entries of each column, and the metadata of the file."""
    import pyreadstat

    ending = file_ending(path)
    reader = getattr(pyreadstat, _READERS[ending])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.filterwarnings("error", "column .* is duplicated")
            found: tuple[Entries, Any] = reader(
                path.absolute(), output_format="dict", **how
            )
        return found
    except MemoryError:
        raise
    except Exception:  # its message may quote an entry
        pass
    raise TableError(
        f"{path.name} is not a readable {ending[1:]} file.",
        fix="check that it is what its ending says, and not damaged; where it opens in "
        "the program that wrote it, save it there once more, or as CSV UTF-8.",
    )


def _raw(path: Path, names: list[str], **how: Any) -> tuple[Entries, Any]:
    """Return some columns with times as the numbers that the file has."""
    return _parsed(path, usecols=names, disable_datetime_conversion=True, **how)


def _declared(path: Path, names: list[str]) -> dict[str, Any]:
    """Return the ranges of codes for missing values in these columns."""
    if not names:
        return {}
    about = _raw(path, names, user_missing=True, metadataonly=True)[1]
    found: dict[str, Any] = about.missing_ranges
    return found


def _require_one_table(path: Path) -> None:
    """Refuse a file that is encrypted, or a library of several data sets."""
    with path.open("rb") as stream:
        encrypted = stream.read(len(_ENCRYPTED)) == _ENCRYPTED
    if encrypted:
        raise TableError(
            f"{path.name} is encrypted.",
            fix="open it in SPSS with its password, and save it without one.",
        )
    count = path.read_bytes().count(_DATA_SET) if file_ending(path) == ".xpt" else 1
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


def _timed(values: list[Any], *kinds: type) -> bool:
    """Whether values are dates or times, or of these kinds of them."""
    first = next((value for value in values if value is not None), None)
    return type(first) in (kinds or _MOMENTS)


def _require_times(path: Path, data: Entries) -> None:
    """Refuse times of a day or more: as times of a day they would lose their days."""
    names = [name for name, values in data.items() if _timed(values, time)]
    if not names:
        return
    day = 86_400_000.0 if file_ending(path) == ".dta" else 86_400.0  # in its units
    counts = {
        name: sum(value is not None and not 0 <= value < day for value in values)
        for name, values in _raw(path, names)[0].items()
    }
    seen = [f"{name!r}: {count}" for name, count in counts.items() if count]
    if seen:
        raise TableError(
            f"Columns have times that are no times of a day ({'; '.join(seen)}).",
            fix="give them the format of a number in the program that wrote the file: "
            "they are then read as numbers.",
        )
