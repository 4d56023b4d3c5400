"""Change of correlations: of the pair that changed most, and on average."""

import numpy as np
import numpy.typing as npt

from aggopt.core.types import Floats
from aggopt.measure._pair import Pair
from aggopt.measure._statistics import centre_records, scale_to_unit_spread
from aggopt.measure.registry import Comparison, Heading, Measure, describe_numbers_only


def correlation_error(original: npt.ArrayLike, released: npt.ArrayLike) -> float | None:
    """Return the largest absolute change of a correlation, from 0 to 2.

    Of all pairs of attributes that vary in the original; None if fewer than two do.
    An attribute that is released as a constant has correlation 0 with all others.
    Lower is better.

    Raises
    ------
    TableError
        Not matrices of finite numbers, unequal shapes, or no attribute varies.

    Source: Domingo-Ferrer and Torra (2001), whose measures of loss compare correlation
    matrices entry by entry.

    Examples
    --------
    >>> original = [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]
    >>> correlation_error(original, [[0.0, 3.0], [1.0, 2.0], [2.0, 1.0], [3.0, 0.0]])
    2.0
    """
    return _find_largest(_compute_changes(Pair.of(original, released)))


def mean_correlation_error(
    original: npt.ArrayLike, released: npt.ArrayLike
) -> float | None:
    """Return the mean absolute change of correlations, from 0 to 2.

    Pairs and errors are as in `correlation_error`.

    Source: Domingo-Ferrer and Torra (2001).

    Examples
    --------
    >>> original = [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]
    >>> mean_correlation_error(original, original)
    0.0
    """
    return _compute_mean(_compute_changes(Pair.of(original, released)))


def _compute_changes(pair: Pair) -> Floats:
    """Return the absolute changes of all correlations, one of each pair."""
    before, after = (
        z.T @ z / pair.n
        for z in (
            scale_to_unit_spread(centre_records(z))
            for z in (pair.original, pair.released)
        )
    )
    return np.asarray(np.abs(after - before)[np.triu_indices(len(before), 1)])


def _compute_once(tables: Comparison) -> Floats:
    """Return the absolute changes of all correlations; empty without numbers."""
    changes = tables.of_numbers(_compute_changes)
    return np.empty(0) if changes is None else changes


def _find_largest(changes: Floats) -> float | None:
    return float(changes.max()) if changes.size else None


def _compute_mean(changes: Floats) -> float | None:
    return float(changes.mean()) if changes.size else None


_SOURCE = "Domingo-Ferrer and Torra (2001)"

LARGEST = Measure(
    name="correlation_error",
    when="whether any correlation changed, and by how much",
    rank=154,
    function=correlation_error,
    range="0..",
    better="lower",
    source=_SOURCE,
    of=lambda tables: _find_largest(tables.once(_compute_once)),
    heading=Heading.LOSS,
    label="Correlations",
    says=lambda result: f"largest change of one{describe_numbers_only(result)}",
    percent=False,
)

MEAN = Measure(
    name="mean_correlation_error",
    when="by how much correlations changed on average",
    rank=155,
    function=mean_correlation_error,
    range="0..",
    better="lower",
    source=_SOURCE,
    of=lambda tables: _compute_mean(tables.once(_compute_once)),
    heading=Heading.LOSS,
    label="  on average",
    says=lambda result: f"mean change of all pairs{describe_numbers_only(result)}",
    percent=False,
)
