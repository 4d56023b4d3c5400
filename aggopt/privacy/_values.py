"""Values of confidential attributes, and groups, however they are passed."""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any, TypeVar

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt
import pandas as pd

from aggopt.arrays import EXACT, Labels, groups
from aggopt.errors import JobError, TableError, naming
from aggopt.privacy._distance import Ints

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
        There is no record or no column, or it is no table.

    Examples
    --------
    >>> groups_of([[1.5, 20.0], [3.0, 20.0], [1.5, 20.0]])
    array([0, 1, 0])
    """
    labels = None
    for _, values in columns(released, "The quasi-identifiers"):
        codes = pd.factorize(values, use_na_sentinel=False)[0].astype(np.int64)
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
        As `aggopt.arrays.groups` and as `groups_of`.
    """
    if not _is_frame(given) and np.ndim(given) < 2:
        array = np.asarray(given)
        if array.ndim == 0 or not array.size:
            raise JobError(
                "There are no groups.",
                fix="pass one group number per record, or the released "
                "quasi-identifiers as a table.",
            )
        return groups(array, len(array))
    return groups_of(given)


def each(
    confidential: Any,
    n: int,
    missing: str,
    made: Callable[[npt.NDArray[Any], Ints], T],
) -> list[T]:
    """Return what is made of each confidential attribute: its values and codes (n,).

    Errors name the attribute.

    Raises
    ------
    TableError
        The number of records differs, or values are missing and not to be a value of
        their own.
    JobError
        `missing` is neither "refuse" nor "own value".
    """
    if missing not in (REFUSE, OWN):
        raise JobError(
            "missing is none of the two ways known.",
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
            found.append(made(values, codes(values, missing)))
    if not found:
        raise TableError("No column was passed.", fix="pass at least one attribute.")
    return found


def codes(values: npt.NDArray[Any], missing: str = REFUSE) -> Ints:
    """Return the code of each value (n,), 0..m-1; what is missing has the last.

    Raises
    ------
    TableError
        Values are missing and not to be a value of their own.
    """
    try:
        found, distinct = pd.factorize(values)
    except TypeError:
        raise TableError(
            "Confidential values are lists or other things that cannot be compared.",
            fix="make them plain numbers or text first.",
        ) from None
    absent = found < 0
    if absent.any() and missing != OWN:
        raise TableError(
            f"{int(absent.sum())} confidential values are missing.",
            fix="remove those records or fill the values; or let what is missing be "
            f'one more value: missing = "{OWN}".',
        )
    return np.where(absent, len(distinct), found).astype(np.int64)


def columns(given: Any, what: str) -> Iterator[tuple[str, npt.NDArray[Any]]]:
    """Yield each column of a table, a series, or an array, by name; "" of an (n,)."""
    if _is_frame(given):
        frame = nw.from_native(given, eager_only=True, allow_series=True)
        if isinstance(frame, nw.Series):
            yield repr(frame.name) if frame.name else "", _entries(frame)
            return
        for name in frame.columns:
            yield repr(name), _entries(frame[name])
        return
    array = _array(given)
    if array.ndim not in (1, 2) or not array.size:
        raise TableError(
            f"{what} has shape {array.shape}.",
            fix="pass one value per record, shape (n,), or a table of several "
            "attributes, shape (n, d).",
        )
    if array.ndim == 1:
        yield "", array
        return
    for j in range(array.shape[1]):
        yield f"Column {j}", array[:, j]


def _array(given: Any) -> npt.NDArray[Any]:
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


def _entries(column: nw.Series[Any]) -> npt.NDArray[Any]:
    if len(column) == 0:
        raise TableError("There are no records.", fix="bring a table with records.")
    if column.dtype.is_integer() and column.null_count():  # else floats, which merge
        entries: npt.NDArray[Any] = np.empty(len(column), dtype=object)
        entries[:] = column.to_list()
        return entries
    return np.asarray(column.to_numpy())


def _is_frame(given: Any) -> bool:
    return not isinstance(given, np.ndarray) and (
        hasattr(given, "columns") or hasattr(given, "dtype") or hasattr(given, "type")
    )
