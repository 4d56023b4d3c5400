"""Pairs of tables with equal columns and any records."""

from typing import TYPE_CHECKING, Any

import numpy as np

from aggopt.core.frame import require_nonempty, to_frame
from aggopt.core.types import Bool, Floats
from aggopt.errors import TableError

if TYPE_CHECKING:
    import pandas as pd


def read_frames(original: Any, released: Any) -> tuple["pd.DataFrame", "pd.DataFrame"]:
    """Return two tables as pandas frames, with the columns of the first.

    Raises
    ------
    TableError
        One is not a table, has no records, or columns differ by name or type.
    """
    one = to_frame(original)
    other = to_frame(released)
    if set(one.columns) != set(other.columns):
        differing = sorted(set(one.columns) ^ set(other.columns))
        raise TableError(
            f"Columns of one of the tables alone: {', '.join(map(repr, differing))}.",
            fix="pass the same columns of both.",
        )
    for frame in (one, other):
        require_nonempty(frame)
    first = one.to_pandas()
    second = other.select(one.columns).to_pandas()
    other_type = [
        n for n in list_names(first) if is_numeric(first, n) != is_numeric(second, n)
    ]
    if other_type:
        raise TableError(
            f"Numbers in one table and none in the other: "
            f"{', '.join(map(repr, other_type))}.",
            fix="pass columns of the same types.",
        )
    return first, second


def list_names(frame: "pd.DataFrame") -> list[str]:
    """Return the names of its columns."""
    return [str(name) for name in frame.columns]


def is_numeric(frame: "pd.DataFrame", name: str) -> bool:
    """Whether a column has numbers; truth values are none."""
    return frame[name].dtype.kind in "iuf"


def get_numbers(frame: "pd.DataFrame", name: str) -> Floats:
    """Return the numbers of a column that are not missing."""
    values = frame[name].to_numpy(np.float64)
    return np.asarray(values[~np.isnan(values)])


def is_complete(frame: "pd.DataFrame") -> Bool:
    """Whether each record has all numbers, (n,); a category may be missing."""
    names = [name for name in list_names(frame) if is_numeric(frame, name)]
    return np.asarray(frame[names].notna().all(axis=1))
