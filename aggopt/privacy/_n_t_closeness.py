"""(n, t)-closeness: as close as to the table, but to a large neighbourhood."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from aggopt.core.columns import (
    find_groups,
    is_series,
    is_table,
    iter_columns,
    map_attributes,
)
from aggopt.core.standardise import Scale
from aggopt.core.types import I64
from aggopt.core.validation import Floats, check_matrix, is_whole_number
from aggopt.errors import InfeasibleInputError, JobError, TableError
from aggopt.privacy.closeness import warn_of_constant
from aggopt.privacy.distance import Distance
from aggopt.privacy.metric import Metric

TIE = 1e-9  # equally far groups are added together, despite rounding


def n_t_closeness(
    released: Any,
    confidential: Any,
    n: int,
    *,
    distance: str = "ordered",
    order: Sequence[Any] | None = None,
    tree: Any = None,
    missing: str = "refuse",
) -> float:
    """Return the least t found for which the release is (n, t)-close.

    Definition: each group has a natural superset of at least n records from whose
    confidential distribution it differs by at most t.  A natural superset of a group
    contains all records whose quasi-identifiers are in a box around the group.  The
    function searches cubes in standard deviations of the released values, centred at
    the group: the smallest with at least n, 2n, 4n, ... records.  It also tries the
    table; the closest superset counts.  Other boxes may be closer still.  So the
    returned t is attained, and is never more than `t_closeness`, which is its value at
    n = all records.

    Parameters
    ----------
    released
        The quasi-identifiers of a released table, numbers (records, d).
    n
        Records of a superset, at least; 1 to all.

    Other arguments, range and errors as `t_closeness`, with distinct bins; JobError
    also if `released` are labels, which have no neighbourhood.

    Source: Li, Li and Venkatasubramanian, Closeness: a new privacy measure for data
    publishing, IEEE TKDE 22(7), 2010.

    Examples
    --------
    >>> n_t_closeness([[1.0], [1.0], [2.0], [2.0], [9.0], [9.0]], range(6), 4)
    0.2
    """
    X = _read_numbers(released)
    min_records = _require_records(n, len(X))
    labels = find_groups(X)
    metric = Metric(distance, order=order, tree=tree, missing=missing)
    attributes = map_attributes(confidential, len(X), missing, metric.of)
    warn_of_constant(attributes)
    return max(
        float(_find_least_t(X, labels, distance, min_records))
        for _, distance in attributes
    )


def _require_records(n: object, everybody: int) -> int:
    fix = f"pass how many records a superset has, at least: 1 to {everybody}."
    if not is_whole_number(n) or n < 1:
        raise JobError(f"n = {n if is_whole_number(n) else type(n).__name__}.", fix=fix)
    if n > everybody:
        raise InfeasibleInputError(
            f"n = {n}, but there are only {everybody} records.", fix=fix
        )
    return int(n)


def _read_numbers(released: Any) -> Floats:
    if is_series(released) or (not is_table(released) and _is_flat(released)):
        raise JobError(
            "Labels do not show which groups are neighbours.",
            fix="pass the released quasi-identifiers as a table, or an array of shape "
            '(n, d): of one column frame[["NAME"]].',
        )
    if not is_table(released):
        return check_matrix(released, name="released")
    columns = [values for _, values in iter_columns(released, "released")]
    if not columns:
        raise TableError("No column was passed.", fix="pass at least one attribute.")
    return check_matrix(np.stack(columns, axis=1), name="released")


def _is_flat(released: Any) -> bool:
    try:
        return np.ndim(released) == 1
    except ValueError:  # rows of unequal length: `check_matrix` reports them
        return False


def _find_least_t(
    X: Floats, labels: npt.NDArray[Any], attribute: Distance, n: int
) -> Fraction:
    """Return the largest over groups of the least distance from a superset."""
    if attribute.unit == 0:
        return Fraction(0)
    m = int(attribute.place.max()) + 1
    shape = (int(labels.max()) + 1, m)
    counts = np.zeros(shape, np.int64)
    np.add.at(counts, (labels, attribute.place), 1)
    first = np.unique(labels, return_index=True)[1]
    Z = Scale.of(X).standardise(X)[first]
    return max(
        min(
            _measure_between(attribute, counts[g], around)
            for around in _iter_supersets(Z, counts, g, n)
        )
        for g in range(len(counts))
    )


def _iter_supersets(Z: Floats, counts: I64, g: int, n: int) -> Iterator[I64]:
    """Yield how often each value occurs in the cubes around group g."""
    far = np.abs(Z - Z[g]).max(axis=1)
    order = np.argsort(far, kind="stable")
    records = np.cumsum(counts[order].sum(axis=1))
    total = int(counts.sum())
    sizes = n * 2 ** np.arange(total.bit_length())
    for size in sizes[sizes < total]:
        edge = far[order[np.searchsorted(records, size)]]
        yield counts[far <= edge * (1 + TIE)].sum(axis=0)
    yield counts.sum(axis=0)


def _measure_between(attribute: Distance, part: I64, superset: I64) -> Fraction:
    """Return the earth mover's distance of two counts (m,), exactly."""
    s = int(part.sum())
    size = int(superset.sum())
    apart = size * attribute.profile(part) - s * attribute.profile(superset)
    return Fraction(int(np.abs(apart).sum()) * attribute.n, attribute.unit * s * size)
