"""Attributes on the scale in which distances are computed."""

import numpy.typing as npt

from aggopt.core.standardise import Scale
from aggopt.core.validation import Floats, matrix
from aggopt.encoding._encoded import Encoded
from aggopt.errors import require_known

SCALES = ("z", "none")


def scaled(X: npt.ArrayLike, scale: str = "z") -> Floats:
    """Return records (n, d) as distances are to see them: z-scores, or X as it is.

    What is encoded has its scale: its coordinates (n, p) are taken as they are, with
    either.
    """
    require_known("scale", scale, SCALES)
    if isinstance(X, Encoded):
        return X.coordinates.copy()  # a kernel is compiled anew for what is read-only
    records = matrix(X)
    return Scale.of(records).standardise(records) if scale == "z" else records


def own_units(X: npt.ArrayLike) -> "Floats | Encoded":
    """Return records in their own units, or what is encoded as it is."""
    return X if isinstance(X, Encoded) else matrix(X)


def lines_of(X: npt.ArrayLike) -> Floats:
    """Return one column for each attribute; raises as `matrix` and as `one_each`."""
    return X.one_each() if isinstance(X, Encoded) else matrix(X)
