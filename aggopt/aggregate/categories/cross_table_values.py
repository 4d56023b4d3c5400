"""Published attributes whose table with a category is kept."""

from typing import Any

import numpy as np

from aggopt.core.frame import to_column, to_frame
from aggopt.core.types import I64
from aggopt.encoding.typed_column import MOMENT, NUMBER, TypedColumn
from aggopt.errors import JobError, TableError
from aggopt.privacy.value_levels import equally_filled

LEVELS = 5  # of numbers: fifths, as offices publish them


def values_of(beside: Any, n: int) -> list[I64]:
    """Return the value of each of n records, 0..R-1, for each attribute.

    `beside` is a column (n,), or a table of columns.  Numbers and dates of more than
    `LEVELS` values are cut into as many levels of equally many records; missing entries
    are a value of their own.

    Raises
    ------
    TableError
        It is neither, or has another number of records.
    JobError
        A column has more than half as many values as records, and they are not numbers.
    """
    if beside is None:
        return []
    flat = isinstance(beside, list | tuple) or np.ndim(beside) == 1
    if flat or hasattr(beside, "to_frame"):  # values, or a series
        return [_codes(to_column(beside), n)]
    frame = to_frame(beside)
    return [_codes(frame[name], n) for name in frame.columns]


def _codes(series: Any, n: int) -> I64:
    column = TypedColumn.of(series)
    codes, distinct = column.coded
    if len(codes) != n:
        raise TableError(
            f"The attribute beside has {len(codes)} records, and the category {n}.",
            fix="pass the same records in the same order.",
        )
    there = ~column.absent
    if column.what in (NUMBER, MOMENT) and len(distinct) > LEVELS:
        codes = codes.copy()
        codes[there] = equally_filled(column.entries[there], LEVELS)
    elif len(distinct) > max(2, n / 2):
        raise JobError(
            f"The attribute beside has {len(distinct)} different values among {n} "
            "records: hardly two have the same.",
            fix="leave it out, or pass one of fewer values.",
        )
    return np.unique(codes, return_inverse=True)[1].astype(np.int64)
