"""Risk, loss and satisfaction: pure functions of the original and the released table.

`assess` returns all of them.  Both tables are given in the original units; everything
is measured in standard deviations of the original, so that neither the units nor the
origin of an attribute matter.  An attribute that is constant in the original weighs
nothing; when all are, there is no unit to measure in and every function refuses.
"""

from aggopt.measure._assessment import Assessment, assess
from aggopt.measure._dld import dld
from aggopt.measure._loss import il, il1s, sse, sst
from aggopt.measure._pil import PilParts, pil, pil_parts
from aggopt.measure._score import dr, si
from aggopt.measure._sdid import sdid
from aggopt.measure._sl import sl

__all__ = [
    "Assessment",
    "PilParts",
    "assess",
    "dld",
    "dr",
    "il",
    "il1s",
    "pil",
    "pil_parts",
    "sdid",
    "si",
    "sl",
    "sse",
    "sst",
]
