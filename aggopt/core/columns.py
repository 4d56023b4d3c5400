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
from aggopt.core.types import I64, Bool
from aggopt.core.validation import EXACT, Labels, check_groups
from aggopt.errors import JobError, TableError, naming

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


OWN = "own value"
REFUSE = "refuse"
T = TypeVar("T")


def groups_of(released: Any) -> Labels:
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
    >>> groups_of([[1.5, 20.0], [3.0, 20.0], [1.5, 20.0]])
    array([0, 1, 0])
    """
    labels = None
    for name, values in columns(released, "The table of quasi-identifiers"):
        with naming(name) if name else nullcontext():
            codes = factorized(values)[0] + 1  # 0: missing
        mixed = codes if labels is None else labels * (codes.max() + 1) + codes
        labels = np.unique(mixed, return_inverse=True)[1].astype(np.intp)
    if labels is None:
        raise TableError("No column was passed.", fix="pass at least one attribute.")
    return labels


def labels_of(given: Any) -> Labels:
    """Return labels (n,) of labels, or of the quasi-identifiers of a release.

    Raises
    ------
    JobError, TableError
        As `aggopt.core.validation.check_groups` and as `groups_of`.
    """
    if is_table(given) or _depth(given) > 1:
        return groups_of(given)
    array = np.asarray(given)
    if np.ma.is_masked(given) or array.ndim == 0 or not array.size:
        raise JobError(
            "There are no groups, or not of every record.",
            fix="pass one group number per record, or the released "
            "quasi-identifiers as a table.",
        )
    return check_groups(array, len(array))


def _depth(given: Any) -> int:
    try:
        return np.ndim(given)
    except ValueError:  # rows of unequal length
        return 2


def each(
    confidential: Any,
    n: int,
    missing: str,
    made: Callable[[npt.NDArray[Any], I64], T],
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
            f"missing is {shown(missing)}, none of the two ways known.",
            fix=f'write missing = "{OWN}", so that all that is missing counts as one '
            'value, or "refuse".',
        )
    found = []
    for name, values in columns(confidential, "The confidential attribute"):
        with naming(name) if name else nullcontext():
            if len(values) != n:
                raise TableError(
                    f"There are {len(values)} values, but {n} records.",
                    fix="pass one value per record.",
                )
            found.append((name, made(values, codes(values, missing))))
    if not found:
        raise TableError("No column was passed.", fix="pass at least one attribute.")
    return found


def codes(values: npt.NDArray[Any], missing: str = REFUSE) -> I64:
    """Return the code of each value (n,), 0..m-1; missing entries have the last.

    Raises
    ------
    TableError
        Values are missing and do not count as a value.
    """
    found, distinct = factorized(values)
    absent = found < 0
    if absent.any() and missing != OWN:
        raise TableError(
            f"{int(absent.sum())} confidential values are missing.",
            fix="remove those records or fill the values; or let what is missing be "
            f'one more value: missing = "{OWN}".',
        )
    return np.where(absent, distinct, found)


def shown(given: object) -> str:
    """Return an argument as a message may show it: text unchanged, or its type."""
    return repr(given) if isinstance(given, str) else type(given).__name__
