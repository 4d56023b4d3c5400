"""t-closeness and (n, t)-closeness: distances of confidential distributions."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
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
    read_labels,
)
from aggopt.core.standardise import Scale
from aggopt.core.types import I64
from aggopt.core.validation import Floats, check_matrix, is_whole_number
from aggopt.errors import InfeasibleInputError, JobError, TableError
from aggopt.privacy.distance import Distance
from aggopt.privacy.metric import Metric


def t_closeness(
    groups: Any,
    confidential: Any,
    *,
    bins: str = "distinct",
    distance: str = "ordered",
    order: Sequence[Any] | None = None,
    tree: Any = None,
    missing: str = "refuse",
) -> float:
    """Return t: the largest earth mover's distance of a group from the table.

    Range 0 (each group has the table's distribution) to 1; less protects better.  An
    attribute that is constant in the table gives 0 and protects nothing; a UserWarning
    is issued.  The largest distance is found exactly, in whole numbers, and
    then rounded once.

    Parameters
    ----------
    groups
        Labels (n,), or the quasi-identifiers of a released table: records that are
        equal in all of them form a group (see `find_groups`).
    confidential
        Values (n,), or several attributes: a table, or an array (n, d).  Each is
        measured separately, and the worst counts.
    distance
        Between two values; never guessed from their type.  "ordered": difference of
        ranks among the distinct values, over their number less one.  "equal": 1 between
        any two different values; the distance of a group is then half the sum of
        differences of frequencies.  "hierarchical": the height of the lowest common
        ancestor in `tree`, over the tree's.
    bins
        Of the ordered distance.  "distinct" certifies t.  "rank" gives each record a
        separate rank, equal values in the order of the records, as published
        experiments do.
    order
        The values from lowest to highest, a list, array or series, for values that
        are not numbers; values that the table lacks take no rank.
    tree
        {"lung": ["asthma", "flu"], ...}, nested as deep as needed, or a map from each
        value to its parent.
    missing
        "refuse", or "own value": missing counts as one more value, directly below the
        root of a tree; an order cannot contain it.

    Raises
    ------
    TableError
        The numbers of records differ, values are missing or in neither order nor tree,
        or the distance is ordered and the values are not.
    JobError
        An unknown name, or an argument that another one makes meaningless.

    Source: Li, Li and Venkatasubramanian, t-closeness: privacy beyond k-anonymity and
    l-diversity, ICDE 2007; bins by rank: Soria-Comas, Domingo-Ferrer, Sanchez and
    Martinez, t-closeness through microaggregation, IEEE TKDE 27(11), 2015.

    Examples
    --------
    >>> t_closeness([0, 0, 1, 1], [10, 20, 30, 40])
    0.3333333333333333
    >>> t_closeness([0, 1, 0, 1], [10, 20, 30, 40])
    0.16666666666666666
    """
    labels = read_labels(groups)
    metric = Metric(distance, bins, order, tree, missing)
    attributes = map_attributes(confidential, len(labels), missing, metric.of)
    warn_of_constant(attributes)
    return max(float(distance.largest(labels)) for _, distance in attributes)


def warn_of_constant(
    attributes: Sequence[tuple[str, Distance]], *, stacklevel: int = 3
) -> None:
    """Warn of attributes with one value: their t = 0 has no meaning."""
    constant = [name for name, distance in attributes if distance.unit == 0]
    if not constant:
        return
    names = ", ".join(filter(None, constant)) or "The confidential attribute"
    warnings.warn(
        f"{names}: one value only, so that every group is at distance 0 and the value "
        "of each person is known.",
        stacklevel=stacklevel,
    )


@contextmanager
def suppress_constant_warnings() -> Iterator[None]:
    """Suppress the warning of a constant attribute: the audit reports it."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*one value only", UserWarning)
        yield


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
    """Refuse an n that is not from 1 to the number of records."""
    fix = f"pass how many records a superset has, at least: 1 to {everybody}."
    if not is_whole_number(n) or n < 1:
        raise JobError(f"n = {n if is_whole_number(n) else type(n).__name__}.", fix=fix)
    if n > everybody:
        raise InfeasibleInputError(
            f"n = {n}, but there are only {everybody} records.", fix=fix
        )
    return int(n)


def _read_numbers(released: Any) -> Floats:
    """Return the released quasi-identifiers as a matrix of numbers (n, d)."""
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
    """Whether the released values are one column."""
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
