"""Measures of tables whose attributes are numbers, names, orders and trees.

Each is a pure function of the original and the released table.  Attributes that are not
numeric have levels in both, and perhaps nodes above them in the release.  Distances are
as in `aggopt.encode`.  `assess_types` returns all of them.
"""

from typing import Any

from aggopt.measure.registry import TYPED, TypedMeasure
from aggopt.measure.types._assessment import (
    KindMeans,
    TypedAssessment,
    assess_types,
    means_by_kind,
)

__all__ = [
    "TYPED",
    "KindMeans",
    "TypedAssessment",
    "TypedMeasure",
    "assess_types",
    "means_by_kind",
]


def __getattr__(name: str) -> Any:
    """Return the function of a measure, which its own file names."""
    if not name.startswith("_") and name in TYPED:
        return TYPED[name].function
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
