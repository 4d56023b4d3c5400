"""Attributes on the scale in which distances are computed."""

import numpy.typing as npt

from aggopt.core.standardise import Scale
from aggopt.core.validation import Floats, matrix
from aggopt.errors import require_known

SCALES = ("z", "none")


def scaled(X: npt.ArrayLike, scale: str) -> Floats:
    """Return records (n, d) as distances are to see them: z-scores, or X as it is."""
    require_known("scale", scale, SCALES)
    records = matrix(X)
    return Scale.of(records).standardise(records) if scale == "z" else records
