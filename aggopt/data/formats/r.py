"""Files of R: a data frame, or the data and the roles of an `sdcMicroObj`."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aggopt.core.column_names import check_names
from aggopt.core.types import F64
from aggopt.data.formats.registry import Format
from aggopt.data.readers.codebook import (
    Codebook,
    attach_codebooks,
    make_column,
    to_integers_if_whole,
)
from aggopt.data.readers.declared_roles import DeclaredRole, DeclaredRoles, attach_roles
from aggopt.data.readers.r_serialization import (
    INTEGER,
    LIST,
    LOGICAL,
    REAL,
    S4,
    TEXT,
    RObject,
    describe_damage,
    read_rds,
)
from aggopt.errors import AggoptError, TableError

NA = -(2**31)  # of whole numbers and truth values
SECONDS = 1_000_000  # microseconds
_SLOTS = (  # slots of an sdcMicroObj, the first that names a column decides
    ("weightVar", "weight"),
    ("hhId", "unit"),
    ("strataVar", "stratum"),
    ("keyVars", "quasi-identifier"),
    ("numVars", "quasi-identifier"),
    ("pramVars", "quasi-identifier"),
    ("ghostVars", "quasi-identifier"),
    ("sensibleVar", "confidential"),
)
_SUPPORTED = "whole numbers, numbers, text, truth values, factors, Date and POSIXct"
_NOT_APPLIED = (
    "The job masks the original data of the sdcMicro object: recodings, suppressions "
    "and other steps made in R are not applied."
)


def read_r(path: Path) -> pa.Table:
    """Return the table in a file of `saveRDS`: a data frame or an `sdcMicroObj`.

    Factors are categories, in an order if R orders them; their levels that no record
    has are dropped.  Whole numbers are integers, whatever type the file has; an empty
    text is missing.  The table of an `sdcMicroObj` is its original data, and its
    metadata declares the roles.

    Raises
    ------
    TableError, MemoryLimitError
        As `read_rds`; or the object is no data frame, or has columns of other types.
    """
    contents = read_rds(path)
    try:
        return _make_any_table(path, contents)
    except AggoptError:
        raise
    except (AttributeError, LookupError, TypeError, ValueError, OverflowError):
        pass  # its message may quote an entry
    raise describe_damage(path)


def _make_any_table(path: Path, contents: RObject) -> pa.Table:
    """Return the table of an object, with the roles that it declares."""
    if "sdcMicroObj" in contents.classes and contents.kind == S4:
        frame = contents.attributes.get("origData", RObject(LIST))
        table = _make_table(path, frame)
        return attach_roles(table, _find_roles(contents.attributes, table.column_names))
    return _make_table(path, contents)


def _make_table(path: Path, frame: RObject) -> pa.Table:
    """Return the table of a data frame."""
    if "data.frame" not in frame.classes or frame.kind != LIST:
        raise TableError(
            f"{path.name} holds neither a data frame nor an sdcMicroObj with data.",
            fix="in R, write one: saveRDS(as.data.frame(data), file); or the sdcMicro "
            "object, before you add a model.",
        )
    names = frame.texts("names")
    check_names(names)
    columns = dict(zip(names, frame.values, strict=True))
    wrong = [name for name, column in columns.items() if not _is_supported(column)]
    if wrong:
        raise TableError(
            f"Columns of {path.name} have types that no table has: "
            f"{', '.join(map(repr, wrong))}.",
            fix=f"in R, make them {_SUPPORTED}, or leave them out.",
        )
    converted = {name: _make_column(column) for name, column in columns.items()}
    table = pa.table({name: column for name, (column, _) in converted.items()})
    return attach_codebooks(
        table, {name: book for name, (_, book) in converted.items()}
    )


def _is_supported(column: RObject) -> bool:
    is_vector = column.kind in (INTEGER, REAL, TEXT, LOGICAL)
    return (
        is_vector
        and "dim" not in column.attributes
        and "integer64" not in column.classes
    )


def _make_column(column: RObject) -> tuple[pa.Array, Codebook]:
    """Return a column of a data frame, and its codebook."""
    label = next(iter(column.texts("label")), "")
    if column.kind == TEXT:
        return make_column(column.values, Codebook(label), is_text=True)
    if "factor" in column.classes:
        return _make_factor(column, label)
    if column.kind == LOGICAL:
        truth = pa.array(column.values != 0, mask=column.values == NA)
        return truth, Codebook(label)
    numbers = _read_numbers(column)
    if "Date" in column.classes:
        days = pa.array(np.floor(numbers), from_pandas=True)
        return days.cast(pa.int32()).cast(pa.date32()), Codebook(label)
    if "POSIXct" in column.classes:
        return _make_times(numbers, column.texts("tzone")), Codebook(label)
    texts = _read_labels(column)
    if texts:
        numbers[_find_declared_missing(column, numbers)] = np.nan
        values = [None if np.isnan(x) else x for x in numbers.tolist()]
        return make_column(values, Codebook(label, texts), is_text=False)
    present = pa.array(numbers, from_pandas=True)
    return to_integers_if_whole(present), Codebook(label)


def _read_numbers(column: RObject) -> F64:
    """Return numbers as floats (n,), nan if missing."""
    numbers: F64 = column.values.astype(np.float64)
    if column.kind == INTEGER:
        numbers[column.values == NA] = np.nan
    return numbers


def _make_factor(column: RObject, label: str) -> tuple[pa.Array, Codebook]:
    """Return the texts of a factor as categories, with R's codes as codebook."""
    levels = column.texts("levels")
    texts = tuple((float(code), text) for code, text in enumerate(levels, 1) if text)
    names = dict(texts)
    numbers = _read_numbers(column)
    if ((numbers < 1) | (numbers > len(levels))).any():
        raise IndexError(len(levels))
    codes = [code if code in names else None for code in numbers.tolist()]
    return make_column(
        codes, Codebook(label, texts, "ordered" in column.classes), is_text=False
    )


def _make_times(seconds: F64, zones: list[str]) -> pa.Array:
    """Return times of the clock in their time zone; in UTC if the file states none."""
    zone = next(filter(None, zones), "UTC")
    with np.errstate(over="ignore"):  # infinite: refused by the cast
        units = pa.array(np.rint(seconds * SECONDS), from_pandas=True)
    return pc.local_timestamp(units.cast(pa.int64()).cast(pa.timestamp("us", tz=zone)))


def _read_labels(column: RObject) -> tuple[tuple[float, str], ...]:
    """Return the texts of codes that the package haven stores, in order."""
    labels = column.attributes.get("labels")
    if labels is None or labels.kind not in (INTEGER, REAL):
        return ()
    pairs = zip(_read_numbers(labels).tolist(), labels.texts("names"), strict=False)
    return tuple(sorted((code, text) for code, text in pairs if text and code == code))


def _find_declared_missing(column: RObject, numbers: F64) -> Any:
    """Return which numbers the package haven declares to be missing, (n,)."""
    missing = np.zeros(len(numbers), bool)
    values = column.attributes.get("na_values")
    if values is not None and values.kind in (INTEGER, REAL):
        missing |= np.isin(numbers, _read_numbers(values))
    limits = column.attributes.get("na_range")
    if limits is not None and limits.kind in (INTEGER, REAL):
        low, high = _read_numbers(limits)
        missing |= (numbers >= low) & (numbers <= high)
    return missing


def _find_roles(slots: Mapping[str, RObject], names: list[str]) -> DeclaredRoles:
    """Return the roles that an `sdcMicroObj` declares for columns of these names."""
    columns: dict[str, DeclaredRole] = {}
    for slot, role in _SLOTS:
        for name in _list_named(slots.get(slot), names):
            columns.setdefault(
                name, DeclaredRole(role, f"{slot} of the sdcMicro object")
            )
    k = _find_k(slots)
    return DeclaredRoles(
        columns,
        "no role in the sdcMicro object, which publishes it unchanged",
        k,
        tuple(_list_notes(slots, k)),
    )


def _list_named(slot: RObject | None, names: list[str]) -> Iterator[str]:
    """Yield the names of the columns that a slot gives by position, from 1."""
    if slot is None:
        return
    if slot.kind in (INTEGER, REAL):
        yield from (names[int(place) - 1] for place in slot.values if place >= 1)
    elif slot.kind == LIST:  # ghost variables: a key, and the columns linked to it
        for pair in slot.values:
            if pair.kind == LIST and len(pair.values) == 2:
                yield from _list_named(pair.values[1], names)


def _find_k(slots: Mapping[str, RObject]) -> int | None:
    """Return the k of the last suppression; None if there is none, or several."""
    suppression = slots.get("localSuppression", RObject(LIST)).elements()
    k = suppression.get("k")
    if k is None or k.kind not in (INTEGER, REAL) or len(k.values) != 1:
        return None
    value = float(k.values[0])
    return int(value) if value.is_integer() and value >= 2 else None


def _list_notes(slots: Mapping[str, RObject], k: int | None) -> Iterator[str]:
    """Yield sentences on what a job does not take over from an `sdcMicroObj`."""
    yield _NOT_APPLIED
    dropped = slots.get("deletedVars")
    if dropped is not None and dropped.kind == TEXT and dropped.values:
        names = ", ".join(map(str, dropped.values))
        yield f"R has dropped these columns already: {names}."
    if slots.get("localSuppression", RObject(0)).kind == LIST and k is None:
        yield (
            "The object states several k, each for combinations of some keys: decide "
            "on k and keys under [privacy]."
        )
    if slots.get("pramVars", RObject(0)).kind in (INTEGER, REAL):
        yield "aggopt has no PRAM: the pramVars are masked as quasi-identifiers."


RDS = Format(
    name=".rds",
    when="R: a data frame, or the object of sdcMicro",
    rank=10,
    read=lambda path, csv_format, keep: read_r(path),
    released_as=".csv",
)
