"""Tables of any library as one kind of frame, and their fingerprints."""

import hashlib
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.exceptions import DuplicateError

from aggopt.core.column_names import check_names
from aggopt.errors import TableError


def to_frame(data: Any, *, or_else: str = "") -> nw.DataFrame[Any]:
    """Return a table as a frame; the columns of a NumPy array are called "0", "1", ...

    `or_else` names the other types that the caller accepts, for the message.

    Raises
    ------
    TableError
        `data` is not a table, or a column name is not text, is empty or is repeated.
    """
    is_array = isinstance(data, np.ndarray)
    return _read_frame(_from_array(data) if is_array else data, or_else)


def require_nonempty(frame: nw.DataFrame[Any]) -> None:
    """Refuse a table without a record."""
    if len(frame) == 0:
        raise TableError("The table has no records.", fix="bring a table with records.")


def _from_array(data: np.ndarray[Any, Any]) -> Any:
    import pandas as pd

    if data.ndim != 2:
        raise TableError(
            f"The array has {data.ndim} dimension(s).",
            fix="pass records in rows and attributes in columns, shape (n, d).",
        )
    names = [str(j) for j in range(data.shape[1])]
    return pd.DataFrame(data, columns=names, copy=False).infer_objects()


def _read_frame(data: Any, or_else: str) -> nw.DataFrame[Any]:
    try:
        frame: nw.DataFrame[Any] = nw.from_native(data, eager_only=True)
        names = list(frame.columns)
    except TypeError:
        raise TableError(
            f"A {type(data).__module__}.{type(data).__name__} is not a table.",
            fix="pass a pandas, Polars or PyArrow table (collect a lazy one first), a "
            f"two-dimensional NumPy array{or_else}.",
        ) from None
    except DuplicateError:
        column_names = getattr(data, "column_names", None) or data.columns
        names = [str(name) for name in column_names]
        check_names(names)
        raise
    odd = [c for c in frame.columns if not isinstance(c, str)]
    if odd:
        raise TableError(
            f"{len(odd)} column name(s) are not text.",
            fix="rename the columns: frame.columns = frame.columns.map(str).",
        )
    check_names(names)
    return frame


def to_column(data: Any) -> nw.Series[Any]:
    """Return values (n,) as a column: a series unchanged, other values as a new one.

    Raises
    ------
    TableError
        `data` is not one-dimensional.
    """
    import pandas as pd

    column: nw.Series[Any]
    try:
        column = nw.from_native(data, series_only=True)
    except TypeError:
        flat = data if isinstance(data, list | tuple | np.ndarray) else ()
        if not len(flat) or np.ndim(np.asarray(flat, dtype=object)) != 1:
            raise TableError(
                f"A {type(data).__name__} of values is no column with records.",
                fix="pass one value per record: a series, a list or an array (n,).",
            ) from None
        column = nw.from_native(pd.Series(flat), series_only=True)
    return column


_PLAIN = "biuf"  # kinds of numbers that are their bytes


def compute_fingerprint(frame: nw.DataFrame[Any]) -> str:
    """Return the SHA-256 of the names and entries of a table, in hexadecimal.

    Numbers without holes count by their value in memory, and all other entries by their
    spelling.  A file has one fingerprint on every reading.
    """
    digest = hashlib.sha256()
    for name in frame.columns:
        entries = _list_entries(frame[name])
        digest.update(f"{name!r} {len(entries)}\n".encode(errors="surrogatepass"))
        digest.update(entries)
    return digest.hexdigest()


def _list_entries(column: nw.Series[Any]) -> bytes:
    if not column.null_count():
        numbers = np.asarray(column.to_numpy())
        if numbers.dtype.kind in _PLAIN:
            return numbers.dtype.str.encode() + numbers.tobytes()
    return repr(column.to_list()).encode(errors="surrogatepass")
