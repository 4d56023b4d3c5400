"""Check and compare unconverted columns and frames; read them as floats."""

from decimal import InvalidOperation
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa

from aggopt.core.types import Floats
from aggopt.errors import TableError


def are_equal_frames(one: nw.DataFrame[Any], other: nw.DataFrame[Any]) -> bool:
    """Return whether two frames of one kind are equal; missing values are equal."""
    first = one.to_native()
    second = other.to_native()
    if type(first) is not type(second):
        return False
    if one.implementation.is_pyarrow():  # to which nan is never equal
        plain_types = bool(first.schema.equals(second.schema))
        return plain_types and first.to_pandas().equals(second.to_pandas())
    return bool(first.equals(second))


def check_comparable(frame: nw.DataFrame[Any]) -> None:
    """Refuse decimals that are signalling NaNs: even counting missing ones fails."""
    wrong = []
    for name in frame.columns:
        try:
            frame[name].null_count()
        except InvalidOperation:
            wrong.append(name)
    if wrong:
        raise TableError(
            f"Columns with signalling NaNs: {', '.join(map(repr, wrong))}.",
            fix="make them None, as what is missing is, or remove those records.",
        )


def to_floats(column: nw.Series[Any]) -> Floats:
    """Return a column of numbers or truth values as floats (n,), nan where missing."""
    if column.dtype == nw.Boolean and column.null_count():
        column = column.cast(nw.Float64)  # whose array would be of objects
    # not by a cast of its own: Arrow's refuses large whole numbers, and quotes them
    return np.asarray(column.to_numpy()).astype(np.float64)


def is_text(kind: pa.DataType) -> bool:
    """Whether entries of a type are text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def check_text(frame: nw.DataFrame[Any]) -> None:
    """Refuse columns with text that is not Unicode.

    Raises
    ------
    TableError
        Some have: bytes of another encoding, or half of a surrogate pair.
    """
    wrong = [name for name in frame.columns if not _is_unicode(frame[name])]
    if wrong:
        raise TableError(
            f"Columns with text that is no Unicode: {', '.join(map(repr, wrong))}.",
            fix="read them again with the encoding in which they were written.",
        )


def _is_unicode(column: nw.Series[Any]) -> bool:
    import pyarrow as pa

    if column.dtype.is_numeric() or column.dtype.is_temporal():
        return True
    try:
        entries = column.to_arrow()
    except UnicodeError:
        return False
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return True  # of mixed types, which is refused when they are written
    try:
        entries.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True
