"""Attributes on the scale in which distances are computed."""

from datetime import date

import numpy as np
import numpy.typing as npt

from aggopt.core.standardise import Scale
from aggopt.core.validation import Floats, matrix
from aggopt.encoding._encoded import Encoded
from aggopt.errors import TableError, require_known
from aggopt.partition._shared.weighing import NONE, Weighing

SCALES = ("z", "none")


def scaled(X: npt.ArrayLike, scale: str = "z", weights: Floats | None = None) -> Floats:
    """Return records (n, d) as distances are to see them: z-scores, or X as it is.

    What is encoded has its scale: its coordinates (n, p) are taken as they are, with
    either.  With `weights` (n,) z-scores are by weighted means and variances.
    """
    require_known("scale", scale, SCALES)
    if isinstance(X, Encoded):
        return X.coordinates.copy()  # a kernel is compiled anew for what is read-only
    records = _matrix(X)
    return Scale.of(records, weights).standardise(records) if scale == "z" else records


def weighed(
    X: npt.ArrayLike, scale: str, weights: npt.ArrayLike | None
) -> tuple[Floats, Weighing]:
    """Return records as `scaled` does, and their weights; raises as both."""
    if weights is None:
        return scaled(X, scale), NONE
    known = Weighing.read(weights, len(own_units(X)))
    return scaled(X, scale, known.of), known


def own_units(X: npt.ArrayLike) -> "Floats | Encoded":
    """Return records in their own units, or what is encoded as it is."""
    return X if isinstance(X, Encoded) else _matrix(X)


def lines_of(X: npt.ArrayLike) -> Floats:
    """Return one column for each attribute; raises as `matrix` and as `one_each`."""
    return X.one_each() if isinstance(X, Encoded) else _matrix(X)


def _matrix(X: npt.ArrayLike) -> Floats:
    """Return records as `matrix`; who brings names or dates hears of `encode`."""
    try:
        return matrix(X)
    except TableError as error:
        if not _has_names(X):
            raise
        or_else = "or pass aggopt.encode(X), which takes names and dates."
        raise TableError(error.problem, fix=f"{error.fix[:-1]}; {or_else}") from None


def _has_names(X: npt.ArrayLike) -> bool:
    try:
        array = np.asarray(X)
    except (TypeError, ValueError):  # of rows that are not equally long
        return False
    text = (isinstance(entry, str | date) for entry in array.flat)
    return array.dtype.kind in "UMm" or (array.dtype.kind == "O" and any(text))
