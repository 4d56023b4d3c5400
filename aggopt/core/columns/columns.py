"""Columns of tables, series and arrays of any supported kind."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt
import pandas as pd
from narwhals.exceptions import DuplicateError

from aggopt.core.column_names import check_names
from aggopt.core.types import I64, Bool
from aggopt.core.validation import EXACT
from aggopt.errors import TableError

Entries = npt.NDArray[Any]


def columns(given: Any, what: str) -> Iterator[tuple[str, Entries]]:
    """Yield each column of a table, a series, or an array, by name; "" of an (n,).

    A missing entry is None, except among floats.

    Raises
    ------
    TableError
        The argument is of another kind, has no record, holds lists, or names a
        column twice.
    """
    if is_table(given):
        yield from _of_table(given)
        return
    array = _array(given)
    if array.ndim not in (1, 2) or not array.size:
        raise TableError(
            f"{what} has shape {array.shape}.",
            fix="pass one value per record, shape (n,), or a table of several "
            "attributes, shape (n, d).",
        )
    if array.ndim == 1:
        yield "", _with_none(array)
        return
    for j in range(array.shape[1]):
        yield f"Column {j}", _with_none(array[:, j])


def is_table(given: Any) -> bool:
    """Whether it is a table or a series of pandas, Polars or PyArrow, or like one."""
    kind = type(given)  # of the kind: a lazy table would look up its columns
    return not isinstance(given, np.ndarray) and any(
        hasattr(kind, attribute) for attribute in ("columns", "dtype", "type")
    )


def is_series(given: Any) -> bool:
    """Whether it is one column of pandas, Polars or PyArrow."""
    return is_table(given) and not hasattr(type(given), "columns")


def plain(entries: Entries) -> list[Any]:
    """Return entries (n,) as Python objects; None for a missing entry."""
    found = entries.tolist()
    if entries.dtype.kind in "mM" and any(isinstance(v, int) for v in found):
        found = pd.Series(entries).tolist()  # times in nanoseconds became numbers
    return [None if is_missing(value) else value for value in found]


def is_missing(value: Any) -> bool:
    """Whether a scalar is missing."""
    return _signals(value) or bool(pd.isna(value))


def _signals(value: object) -> bool:
    """Whether it is a signalling NaN, which pandas, comparing it, would not survive."""
    return isinstance(value, Decimal) and value.is_snan()


def factorized(entries: Entries) -> tuple[I64, int]:
    """Return a code for each entry (n,), -1 if missing, and the number of codes.

    Raises
    ------
    TableError
        They are lists, or other things that cannot be compared.
    """
    if entries.dtype in (np.longdouble, np.clongdouble):  # pandas would round them
        entries = entries.astype(object)
    try:
        found, distinct = pd.factorize(entries)
    except (TypeError, ValueError):
        raise _not_comparable() from None
    return found.astype(np.int64), len(distinct)


def _of_table(given: Any) -> Iterator[tuple[str, Entries]]:
    frame, names = None, []
    try:
        frame = nw.from_native(_known(given), eager_only=True, allow_series=True)
    except TypeError:
        pass
    except DuplicateError:
        names = list(getattr(given, "column_names", None) or given.columns)
    check_names([str(name) for name in names])
    if frame is None:
        raise TableError(
            f"A {type(given).__module__}.{type(given).__name__} is not a table.",
            fix="pass a pandas, Polars or PyArrow table (collect a lazy one first), "
            "one of its columns, or an array.",
        )
    if isinstance(frame, nw.Series):
        yield repr(frame.name) if frame.name else "", _entries(frame)
        return
    for column in frame.iter_columns():
        yield repr(column.name), _entries(column)


def _known(given: Any) -> Any:
    """Return a column or table that narwhals does not know as one that it does."""
    if isinstance(given, pd.MultiIndex):
        return pd.DataFrame(given.tolist())
    if isinstance(given, pd.Index | pd.api.extensions.ExtensionArray):
        return pd.Series(given)
    arrow = nw.dependencies.get_pyarrow()
    if arrow is not None and isinstance(given, arrow.Array):
        return arrow.chunked_array([given])
    if arrow is not None and isinstance(given, arrow.RecordBatch):
        return arrow.Table.from_batches([given])
    return given


def _entries(column: nw.Series[Any]) -> Entries:
    if len(column) == 0:
        raise TableError("There are no records.", fix="bring a table with records.")
    if column.dtype.is_nested():
        raise _not_comparable()
    if column.dtype == nw.Time:  # in parts of a microsecond, which Python's has not
        counts = column.to_arrow()
        counts = counts.cast(f"int{counts.type.bit_width}")
        return _with_none(np.array(counts.to_pylist(), dtype=object))
    coded = isinstance(column.dtype, nw.Categorical | nw.Enum)
    if coded or (column.dtype.is_integer() and column.null_count()):
        entries = np.empty(len(column), dtype=object)
        # as arrays, Arrow columns lose missing entries, and integers become floats
        entries[:] = column.to_list()
        return _with_none(entries)
    return _with_none(np.asarray(column.to_numpy()))


def _with_none(entries: Entries) -> Entries:
    if entries.dtype != object:
        return entries
    quiet = _without(entries, np.array([_signals(entry) for entry in entries]))
    return _without(quiet, pd.isna(quiet))


def _without(entries: Entries, absent: Bool) -> Entries:
    there = entries.astype(object)  # a copy
    there[absent] = None
    return there


def _array(given: Any) -> Entries:
    if np.ma.is_masked(given):
        return _without(given.data, np.ma.getmaskarray(given))
    try:
        array = np.asarray(given)
    except ValueError:
        array = np.empty(0)
    made = not isinstance(given, np.ndarray)
    # of mixed lists NumPy makes text, of large whole numbers floats: they would merge
    if array.dtype.kind in "US" or (
        made and array.dtype.kind == "f" and _has_large(given)
    ):
        array = np.asarray(given, dtype=object)
    return array


def _has_large(given: Any) -> bool:
    entries = np.asarray(given, dtype=object).ravel().tolist()
    return any(isinstance(v, int) and abs(v) >= EXACT for v in entries)


def _not_comparable() -> TableError:
    return TableError(
        "Values are lists or other things that cannot be compared.",
        fix="make them plain numbers or text first.",
    )
