"""Risk, loss and satisfaction: pure functions of the original and the released table.

`assess` returns all of them.  Pass both tables in the original units.  All measures
use standard deviations of the original, so that neither the units nor the origin of an
attribute matter.  An attribute that is constant in the original weighs nothing.  If all
attributes are constant, no unit is defined and every function refuses.
"""

from typing import Any

from aggopt.measure import criteria, risk, utility
from aggopt.measure._assess import Assessment, assess
from aggopt.measure._correlation_error import (
    correlation_error,
    mean_correlation_error,
)
from aggopt.measure._dld import dld
from aggopt.measure._interval_disclosure import interval_disclosure
from aggopt.measure._linkage import WHOLE, Linkage, linkage
from aggopt.measure._loss import il, il1s, range_sse, sse, sst
from aggopt.measure._pil import PilParts, TypedPilParts, pil, pil_parts
from aggopt.measure._reidentification import (
    average_risk,
    highest_risk,
    record_risk,
    reidentifications,
)
from aggopt.measure._score import dr, si
from aggopt.measure._sdid import sdid, sdid_chance
from aggopt.measure._sl import sl
from aggopt.measure.registry import MEASURES, Measure
from aggopt.measure.types import TypedAssessment, assess_types

__all__ = [
    "MEASURES",
    "WHOLE",
    "Assessment",
    "Linkage",
    "Measure",
    "PilParts",
    "TypedAssessment",
    "TypedPilParts",
    "assess",
    "assess_types",
    "average_risk",
    "correlation_error",
    "criteria",
    "dld",
    "dr",
    "highest_risk",
    "il",
    "il1s",
    "interval_disclosure",
    "linkage",
    "mean_correlation_error",
    "pil",
    "pil_parts",
    "range_sse",
    "record_risk",
    "reidentifications",
    "risk",
    "sdid",
    "sdid_chance",
    "si",
    "sl",
    "sse",
    "sst",
    "utility",
]


def __getattr__(name: str) -> Any:
    """Return the function of a measure that only its own file names."""
    if not name.startswith("_") and name in MEASURES:
        return MEASURES[name].function
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
