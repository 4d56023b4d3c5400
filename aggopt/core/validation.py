"""Checked arrays, and the caller that a warning names."""

import sys
from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, TypeGuard

import numpy as np
import numpy.typing as npt

from aggopt.core.plural import is_or_are, plural
from aggopt.core.types import Floats as Floats
from aggopt.core.types import Labels as Labels
from aggopt.errors import InfeasibleInputError, JobError, TableError

EXACT = 2.0**53  # below it, every whole number is a float


def check_matrix(X: npt.ArrayLike, *, name: str = "X") -> Floats:
    """Return records as a finite float matrix (n, d), C-ordered.

    Raises
    ------
    TableError
        Not two-dimensional, empty, not numeric, not finite, or of numbers that differ
        by less than a float resolves; the message gives the column positions and the
        counts, never a value.
    """
    numbers = _require_rectangle(X, name)
    bad = {j: int(c) for j, c in enumerate((~np.isfinite(numbers)).sum(axis=0)) if c}
    if bad:
        counts = ", ".join(f"column {j}: {c}" for j, c in bad.items())
        raise _explain_missing(name, counts)
    return np.ascontiguousarray(numbers)


def check_incomplete_matrix(X: npt.ArrayLike, *, name: str = "X") -> Floats:
    """Return records as a float matrix (n, d), C-ordered; nan where one is missing.

    Raises
    ------
    TableError
        As `check_matrix`, except for missing values; or a column has no value.
    """
    masked = np.ma.isMaskedArray(X) and np.ma.is_masked(X)
    filled = np.ma.filled(np.ma.asarray(X, np.float64), np.nan) if masked else X
    numbers = _require_rectangle(filled, name)
    endless = int(np.isinf(numbers).sum())
    if endless:
        raise TableError(
            f"{name} has infinite entries ({endless}).",
            fix="remove those records, or make the entries nan.",
        )
    empty = np.flatnonzero(np.isnan(numbers).all(axis=0)).tolist()
    if empty:
        raise TableError(
            f"All values of column(s) {empty} of {name} are missing.",
            fix="leave them out.",
        )
    return np.ascontiguousarray(numbers)


def check_vector(x: npt.ArrayLike, *, name: str = "x") -> Floats:
    """Return the values of one attribute as finite floats (n,); as `check_matrix`."""
    array = _read_array(x, name)
    if array.ndim != 1:
        raise TableError(
            f"{name} has {array.ndim} dimension(s), and one attribute has 1.",
            fix="pass one column, X[:, j]; for several, individual_ranking groups each "
            "by itself, and projection or mhm groups the records.",
        )
    if not array.size:
        raise TableError(f"{name} is empty.", fix="pass at least one value.")
    values = array if array.dtype == np.float64 else _convert_to_float(array, name)
    bad = len(values) - np.count_nonzero(np.isfinite(values))
    if bad:
        raise _explain_missing(name, str(bad))
    return values


def is_merging_values(array: npt.NDArray[Any], numbers: Floats) -> bool:
    """Whether values (n,) that differ became one of the floats `numbers` (n,)."""
    if array.dtype.kind == "f":
        if array.dtype.itemsize <= 8:
            return False
    elif not (np.abs(numbers) >= EXACT).any():
        return False
    return len(set(array.tolist())) > len(np.unique(numbers))


def _require_rectangle(X: npt.ArrayLike, name: str) -> Floats:
    array = _read_array(X, name)
    if array.ndim != 2:
        raise TableError(
            f"{name} has {array.ndim} dimension(s).",
            fix="pass records in rows and attributes in columns, shape (n, d).",
        )
    if 0 in array.shape:
        raise TableError(
            f"{name} is empty: shape {array.shape}.",
            fix="pass at least one record and one attribute.",
        )
    return _convert_to_float(array, name)


def _read_array(X: npt.ArrayLike, name: str) -> npt.NDArray[Any]:
    if np.ma.isMaskedArray(X) and np.ma.is_masked(X):
        raise _explain_missing(name, f"{np.ma.getmaskarray(X).sum()} masked")
    try:
        return np.asarray(X)
    except (TypeError, ValueError):
        pass  # the original message may quote an entry
    raise TableError(
        f"{name} is not array-like.", fix="pass rows of equal length, of numbers only."
    )


def _explain_missing(name: str, counts: str) -> TableError:
    return TableError(
        f"{name} has missing or infinite entries ({counts}).",
        fix="remove those records or fill the entries before masking.",
    )


def _convert_to_float(array: npt.NDArray[Any], name: str) -> Floats:
    if array.dtype.kind not in "biufO":
        raise TableError(
            f"{name} has entries of type {array.dtype}, which are not real numbers.",
            fix="recode the attributes as real numbers first.",
        )
    text = array.dtype.kind == "O" and any(
        isinstance(entry, str | bytes) for entry in array.flat
    )
    try:
        with np.errstate(over="ignore"):
            numbers = None if text else array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        numbers = None  # the original message quotes the entry: do not chain it
    if numbers is None:
        raise TableError(
            f"{name} has entries that are not numbers, or too large for a float.",
            fix="recode the attributes as real numbers first.",
        )
    columns = zip(np.atleast_2d(array.T), np.atleast_2d(numbers.T), strict=True)
    if any(is_merging_values(column, numbers) for column, numbers in columns):
        raise TableError(
            f"{name} has numbers with more digits than a float can tell apart.",
            fix="subtract a base from them, or divide them (nanoseconds to seconds), "
            "and pass what is left as 64-bit floats.",
        )
    return numbers


def is_number(value: object) -> bool:
    """Whether a value is a real number, and no truth value."""
    return isinstance(value, Real) and not isinstance(value, bool)


def is_whole_number(value: object) -> TypeGuard[int]:
    """Whether a value is a whole number, and no truth value."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def require_seed(seed: object) -> None:
    """Refuse a seed that is not a whole number from 0 up."""
    if not is_whole_number(seed) or seed < 0:
        raise JobError(f"seed = {seed}.", fix="pass a whole number from 0 up.")


def check_group_size(k: object, n: int) -> int:
    """Return k as an int, 1 <= k <= n.

    Raises
    ------
    JobError
        k is not a whole number, or is below 1.
    InfeasibleInputError
        k exceeds the number of records.
    """
    if not is_whole_number(k):
        raise JobError(
            f"k must be a whole number, not {type(k).__name__}.",
            fix="pass an int, the smallest group size allowed: k=3"
            f"{_OUT_OF_ORDER if hasattr(k, '__len__') else ''}.",
        )
    size = int(k)
    if size < 1:
        raise JobError(f"k = {size} is below 1.", fix="pass k of at least 1.")
    if size > n:
        raise InfeasibleInputError(
            f"k = {size}, but there {is_or_are(n)} only {plural(n, 'record')}.",
            fix=f"choose k from 1 to {n}, or bring more records.",
        )
    return size


_OUT_OF_ORDER = "; where a function takes a confidential attribute, that comes before k"


def check_groups(labels: npt.ArrayLike, n: int) -> Labels:
    """Return labels (n,) as ints 0..m-1 with no gap.

    Raises
    ------
    JobError
        Wrong shape, not whole numbers, negative, or a group number is skipped.
    TableError
        No array at all, or entries are masked.
    """
    array = _read_array(labels, "labels")
    if array.shape != (n,):
        raise JobError(
            f"labels have shape {array.shape}, but there "
            f"{is_or_are(n)} {plural(n, 'record')}.",
            fix=f"pass one group number per record, shape ({n},).",
        )
    return _check_column(array)


def check_labellings(labels: npt.ArrayLike, n: int, d: int) -> Labels:
    """Return labels (n,) of all attributes, or (n, d) of each, as `groups` does.

    Raises
    ------
    JobError
        As `groups`; of labels (n, d) the message names the column.
    """
    array = _read_array(labels, "labels")
    if array.ndim != 2:
        return check_groups(array, n)
    if array.shape != (n, d):
        raise JobError(
            f"labels have shape {array.shape}, but the records have shape {(n, d)}.",
            fix=f"pass one group number per record, shape ({n},), or one per record "
            f"and attribute, shape {(n, d)}.",
        )
    return np.stack(
        [_check_column(column, j) for j, column in enumerate(array.T)], axis=1
    )


def copy_labels(labels: npt.ArrayLike) -> Labels:
    """Return a copy of labels (n,) or (n, d), as `check_labellings`, of any n and d.

    Raises
    ------
    JobError
        As `check_labellings`; or the labels are empty.
    """
    array = _read_array(labels, "labels")
    if array.ndim not in (1, 2) or not array.size:
        raise JobError(
            f"labels have shape {array.shape}.",
            fix="pass one group number per record, shape (n,), or one per record and "
            "attribute, shape (n, d).",
        )
    return check_labellings(array, len(array), array.shape[-1])


def _check_column(array: npt.NDArray[Any], column: int | None = None) -> Labels:
    whose = "labels" if column is None else f"labels of column {column}"
    if array.dtype.kind not in "iu":
        raise JobError(
            f"{whose} have type {array.dtype}.",
            fix="pass whole numbers, as the functions of aggopt.partition return.",
        )
    integers = array.astype(np.intp)
    skips = array.max() >= len(array)  # so far above, that they cannot be counted
    if array.min() < 0 or skips or np.bincount(integers).min() == 0:
        raise JobError(
            f"{whose} are negative or skip a group number.",
            fix="number the groups 0, 1, ..., m-1: np.unique(labels, "
            "return_inverse=True)[1] does it.",
        )
    return integers


def renumber_groups(labels: Labels) -> Labels:
    """Return labels (n,), 0..m-1 in the order of the groups' first records."""
    _, first, group = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.intp)
    rank[np.argsort(first)] = np.arange(len(first))
    return np.asarray(rank[group])


def find_caller_stacklevel() -> int:
    """Return the level of the first caller outside of the package; one's own is 1."""
    level = 1
    frame = sys._getframe(1)
    while frame.f_back and frame.f_globals["__name__"].startswith("aggopt."):
        level = level + 1
        frame = frame.f_back
    return level


def read_relative(wish: Mapping[str, npt.ArrayLike], name: str) -> npt.ArrayLike:
    """Return the number r of a request {"relative": r}; refuse other keys.

    >>> read_relative({"relative": 0.1}, "delta")
    0.1
    """
    if set(wish) != {"relative"}:
        raise JobError(
            f"{name} has the keys {sorted(map(str, wish))}.",
            fix=f'pass {name}={{"relative": r}} for r times the distance from the '
            "mean, or plain numbers.",
        )
    return wish["relative"]
