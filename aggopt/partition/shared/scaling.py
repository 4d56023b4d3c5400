"""Attributes and sampling weights on the scale of distances."""

from datetime import date
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from aggopt.core.record_weights import weight_of_each
from aggopt.core.standardise import Scale
from aggopt.core.validation import Floats, check_matrix
from aggopt.encoding.encoded_table import Encoded
from aggopt.errors import TableError, require_known


def scale_to_unit(records: Floats) -> tuple[Floats, int]:
    """Return the records divided by a power of two, in [-1, 1], and its exponent.

    Squares of the scaled records neither overflow nor vanish.
    """
    exponent = find_exponent(records)
    return np.ldexp(records, -exponent), exponent


def zero_constants(records: Floats) -> Floats:
    """Return records with constant attributes set to 0; distances stay equal.

    Large constants would leave no precision for the other attributes within [-1, 1].
    """
    return np.where((records == records[0]).all(axis=0), 0.0, records)


def find_exponent(records: Floats) -> int:
    """Return the least exponent of two with |records| <= 2^exponent."""
    return int(np.frexp(np.abs(records).max())[1])


def rescale_squares(squares: float, exponent: int) -> float:
    """Return a sum of squares of scaled records in their original units."""
    with np.errstate(over="ignore", under="ignore"):
        return float(np.ldexp(squares, 2 * exponent))


WIDEST = 1e6  # times the smallest weight: the lightest record must count


def make_range_error(n: int) -> TableError:
    """Return the error that the weights of n records differ by too large a factor."""
    return TableError(
        f"The largest of {n} weights is more than {WIDEST:g} times the smallest.",
        fix="cap the largest weights: next to them, others have no effect.",
    )


class Weighing(NamedTuple):
    """Sampling weights (n,) of mean 1, or None if all are equal, and their unit.

    A loss by the original weights is `unit` times the loss by these.
    """

    values: Floats | None
    unit: float

    @classmethod
    def read(cls, weights: npt.ArrayLike | None, n: int) -> "Weighing":
        """Return the sampling weights of n records, checked, scaled to mean 1.

        Raises
        ------
        TableError
            The weights are not one number above 0 for each record, one is missing or
            infinite, or one is more than a million times another.

        Examples
        --------
        >>> Weighing.read([1.0, 3.0], 2)
        Weighing(values=array([0.5, 1.5]), unit=2.0)
        >>> Weighing.read([3.0, 3.0], 2)
        Weighing(values=None, unit=3.0)
        """
        if weights is None:
            return NONE
        raw_weights = weight_of_each(weights, n)
        if not raw_weights.max() / WIDEST <= raw_weights.min():
            raise make_range_error(n)
        if np.ptp(raw_weights) == 0:
            return cls(None, float(raw_weights[0]))
        power = find_exponent(raw_weights)
        shrunk = np.ldexp(raw_weights, -power)  # a sum of them does not overflow
        mean = float(shrunk.mean())
        with np.errstate(over="ignore"):
            return cls(shrunk / mean, float(np.ldexp(mean, power)))


NONE = Weighing(None, 1.0)


SCALES = ("z", "none")


def scale_records(
    X: npt.ArrayLike, scale: str = "z", weights: Floats | None = None
) -> Floats:
    """Return records (n, d) on the scale of distances: z-scores, or X unchanged.

    Encoded tables are already scaled: their coordinates (n, p) are returned for any
    `scale`. With `weights` (n,) z-scores use weighted means and variances.
    """
    require_known("scale", scale, SCALES)
    if isinstance(X, Encoded):
        return X.coordinates.copy()  # read-only ones compile again
    records = _require_matrix(X)
    return Scale.of(records, weights).standardise(records) if scale == "z" else records


def scale_with_weights(
    X: npt.ArrayLike, scale: str, weights: npt.ArrayLike | None
) -> tuple[Floats, Weighing]:
    """Return scaled records and sampling weights, both checked."""
    if weights is None:
        return scale_records(X, scale), NONE
    weighing = Weighing.read(weights, len(read_records(X)))
    return scale_records(X, scale, weighing.values), weighing


def read_records(X: npt.ArrayLike) -> "Floats | Encoded":
    """Return records as floats in their own units; encoded tables unchanged."""
    return X if isinstance(X, Encoded) else _require_matrix(X)


def read_columns(X: npt.ArrayLike) -> Floats:
    """Return one numeric column for each attribute, (n, d)."""
    return X.one_each() if isinstance(X, Encoded) else _require_matrix(X)


def _require_matrix(X: npt.ArrayLike) -> Floats:
    """Return records as a matrix of floats; raise, and refer to `encode`, if not."""
    try:
        return check_matrix(X)
    except TableError as error:
        if not _has_names(X):
            raise
        or_else = "or pass aggopt.encode(X), which takes names and dates."
        raise TableError(error.problem, fix=f"{error.fix[:-1]}; {or_else}") from None


def _has_names(X: npt.ArrayLike) -> bool:
    """Whether a table contains texts or dates."""
    try:
        array = np.asarray(X)
    except (TypeError, ValueError):  # rows of unequal length
        return False
    text = (isinstance(entry, str | date) for entry in array.flat)
    return array.dtype.kind in "UMm" or (array.dtype.kind == "O" and any(text))
