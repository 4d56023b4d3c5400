"""Values of confidential attributes, and groups, however they are passed."""

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from aggopt.core.columns.columns import columns, factorized, is_table
from aggopt.core.types import I64
from aggopt.core.validation import Labels, check_groups
from aggopt.errors import JobError, TableError, naming

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
