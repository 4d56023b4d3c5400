"""Columns of tables, series and arrays of any supported kind."""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from decimal import Decimal
from typing import Any, TypeVar

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt
import pandas as pd
from narwhals.exceptions import DuplicateError

from aggopt.core.column_names import check_names
from aggopt.core.plural import is_or_are, plural
from aggopt.core.types import I64, Bool
from aggopt.core.validation import EXACT, Labels, check_groups
from aggopt.errors import JobError, TableError, naming

Entries = npt.NDArray[Any]


def iter_columns(data: Any, noun: str) -> Iterator[tuple[str, Entries]]:
    """Yield each column of a table, a series, or an array, by name; "" of an (n,).

    A missing entry is None, except among floats.

    Raises
    ------
    TableError
        The argument is of another kind, has no record, holds lists, or names a
        column twice.
    """
    if is_table(data):
        yield from _iter_table_columns(data)
        return
    array = _read_array(data)
    if array.ndim not in (1, 2) or not array.size:
        raise TableError(
            f"{noun} has shape {array.shape}.",
            fix="pass one value per record, shape (n,), or a table of several "
            "attributes, shape (n, d).",
        )
    if array.ndim == 1:
        yield "", _with_none(array)
        return
    for j in range(array.shape[1]):
        yield f"Column {j}", _with_none(array[:, j])


def is_table(data: Any) -> bool:
    """Whether it is a table or a series of pandas, Polars or PyArrow, or like one."""
    kind = type(data)  # of the kind: a lazy table would look up its columns
    return not isinstance(data, np.ndarray) and any(
        hasattr(kind, attribute) for attribute in ("columns", "dtype", "type")
    )


def is_series(data: Any) -> bool:
    """Whether it is one column of pandas, Polars or PyArrow."""
    return is_table(data) and not hasattr(type(data), "columns")


def list_plain_entries(entries: Entries) -> list[Any]:
    """Return entries (n,) as Python objects; None for a missing entry."""
    objects = entries.tolist()
    if entries.dtype.kind in "mM" and any(isinstance(v, int) for v in objects):
        objects = pd.Series(entries).tolist()  # times in nanoseconds became numbers
    return [None if is_missing(value) else value for value in objects]


def is_missing(value: Any) -> bool:
    """Whether a scalar is missing."""
    return _is_signalling_nan(value) or bool(pd.isna(value))


def _is_signalling_nan(value: object) -> bool:
    """Whether it is a signalling NaN, which pandas, comparing it, would not survive."""
    return isinstance(value, Decimal) and value.is_snan()


def code_entries(entries: Entries) -> tuple[I64, int]:
    """Return a code for each entry (n,), -1 if missing, and the number of codes.

    Raises
    ------
    TableError
        They are lists, or other things that cannot be compared.
    """
    if entries.dtype in (np.longdouble, np.clongdouble):  # pandas would round them
        entries = entries.astype(object)
    try:
        entry_codes, distinct = pd.factorize(entries)
    except (TypeError, ValueError):
        raise _explain_incomparable() from None
    return entry_codes.astype(np.int64), len(distinct)


def _iter_table_columns(table: Any) -> Iterator[tuple[str, Entries]]:
    frame = None
    names = []
    try:
        frame = nw.from_native(
            _convert_unknown(table), eager_only=True, allow_series=True
        )
    except TypeError:
        pass
    except DuplicateError:
        names = list(getattr(table, "column_names", None) or table.columns)
    check_names([str(name) for name in names])
    if frame is None:
        raise TableError(
            f"A {type(table).__module__}.{type(table).__name__} is not a table.",
            fix="pass a pandas, Polars or PyArrow table (collect a lazy one first), "
            "one of its columns, or an array.",
        )
    if isinstance(frame, nw.Series):
        yield repr(frame.name) if frame.name else "", _get_entries(frame)
        return
    for column in frame.iter_columns():
        yield repr(column.name), _get_entries(column)


def _convert_unknown(data: Any) -> Any:
    """Return a column or table that narwhals does not know as one that it does."""
    if isinstance(data, pd.MultiIndex):
        return pd.DataFrame(data.tolist())
    if isinstance(data, pd.Index | pd.api.extensions.ExtensionArray):
        return pd.Series(data)
    arrow = nw.dependencies.get_pyarrow()
    if arrow is not None and isinstance(data, arrow.Array):
        return arrow.chunked_array([data])
    if arrow is not None and isinstance(data, arrow.RecordBatch):
        return arrow.Table.from_batches([data])
    return data


def _get_entries(column: nw.Series[Any]) -> Entries:
    if len(column) == 0:
        raise TableError("There are no records.", fix="bring a table with records.")
    if column.dtype.is_nested():
        raise _explain_incomparable()
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
    quiet = _remove_absent(
        entries, np.array([_is_signalling_nan(entry) for entry in entries])
    )
    return _remove_absent(quiet, pd.isna(quiet))


def _remove_absent(entries: Entries, absent: Bool) -> Entries:
    objects = entries.astype(object)  # a copy
    objects[absent] = None
    return objects


def _read_array(data: Any) -> Entries:
    if np.ma.is_masked(data):
        return _remove_absent(data.data, np.ma.getmaskarray(data))
    try:
        array = np.asarray(data)
    except ValueError:
        array = np.empty(0)
    is_converted = not isinstance(data, np.ndarray)
    # of mixed lists NumPy makes text, of large whole numbers floats: they would merge
    if array.dtype.kind in "US" or (
        is_converted and array.dtype.kind == "f" and _has_large(data)
    ):
        array = np.asarray(data, dtype=object)
    return array


def _has_large(data: Any) -> bool:
    entries = np.asarray(data, dtype=object).ravel().tolist()
    return any(isinstance(v, int) and abs(v) >= EXACT for v in entries)


def _explain_incomparable() -> TableError:
    return TableError(
        "Values are lists or other things that cannot be compared.",
        fix="make them plain numbers or text first.",
    )


OWN = "own value"
REFUSE = "refuse"
T = TypeVar("T")


def find_groups(released: Any) -> Labels:
    """Return the group of each record (n,): records equal in every column.

    Parameters
    ----------
    released
        The quasi-identifiers of a released table: a pandas, Polars or PyArrow table,
        or a two-dimensional array.  A missing entry equals a missing entry.

    Raises
    ------
    TableError
        The argument has no record or no column, or is not a table.

    Examples
    --------
    >>> find_groups([[1.5, 20.0], [3.0, 20.0], [1.5, 20.0]])
    array([0, 1, 0])
    """
    labels = None
    for name, values in iter_columns(released, "The table of quasi-identifiers"):
        with naming(name) if name else nullcontext():
            codes = code_entries(values)[0] + 1  # 0: missing
        mixed = codes if labels is None else labels * (codes.max() + 1) + codes
        labels = np.unique(mixed, return_inverse=True)[1].astype(np.intp)
    if labels is None:
        raise TableError("No column was passed.", fix="pass at least one attribute.")
    return labels


def read_labels(data: Any) -> Labels:
    """Return labels (n,) of labels, or of the quasi-identifiers of a release.

    Raises
    ------
    JobError, TableError
        As `aggopt.core.validation.check_groups` and as `find_groups`.
    """
    if is_table(data) or _count_dimensions(data) > 1:
        return find_groups(data)
    array = np.asarray(data)
    if np.ma.is_masked(data) or array.ndim == 0 or not array.size:
        raise JobError(
            "There are no groups, or not of every record.",
            fix="pass one group number per record, or the released "
            "quasi-identifiers as a table.",
        )
    return check_groups(array, len(array))


def _count_dimensions(data: Any) -> int:
    try:
        return np.ndim(data)
    except ValueError:  # rows of unequal length
        return 2


def map_attributes(
    confidential: Any,
    n: int,
    missing: str,
    function: Callable[[npt.NDArray[Any], I64], T],
) -> list[tuple[str, T]]:
    """Return the name and the result of `made` for each confidential attribute.

    `made` receives its values (n,) and codes (n,).  Errors name the attribute; an
    array (n,) has the name "".

    Raises
    ------
    TableError
        The number of records differs, or values are missing and do not count as a
        value.
    JobError
        `missing` is neither "refuse" nor "own value".
    """
    if not isinstance(missing, str) or missing not in (REFUSE, OWN):
        raise JobError(
            f"missing is {describe_argument(missing)}, none of the two ways known.",
            fix=f'write missing = "{OWN}", so that all that is missing counts as one '
            'value, or "refuse".',
        )
    results = []
    for name, values in iter_columns(confidential, "The confidential attribute"):
        with naming(name) if name else nullcontext():
            if len(values) != n:
                raise TableError(
                    f"There are {len(values)} values, but {n} records.",
                    fix="pass one value per record.",
                )
            results.append((name, function(values, encode_values(values, missing))))
    if not results:
        raise TableError("No column was passed.", fix="pass at least one attribute.")
    return results


def encode_values(values: npt.NDArray[Any], missing: str = REFUSE) -> I64:
    """Return the code of each value (n,), 0..m-1; missing entries have the last.

    Raises
    ------
    TableError
        Values are missing and do not count as a value.
    """
    entry_codes, distinct = code_entries(values)
    absent = entry_codes < 0
    if absent.any() and missing != OWN:
        missing_count = int(absent.sum())
        raise TableError(
            f"{plural(missing_count, 'confidential value')} "
            f"{is_or_are(missing_count)} missing.",
            fix="remove those records or fill the values; or let what is missing be "
            f'one more value: missing = "{OWN}".',
        )
    return np.where(absent, distinct, entry_codes)


def describe_argument(argument: object) -> str:
    """Return an argument as a message may show it: text unchanged, or its type."""
    return repr(argument) if isinstance(argument, str) else type(argument).__name__
