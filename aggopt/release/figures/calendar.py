"""Bin edges at calendar boundaries: years, months, days, hours."""

from collections.abc import Sequence

import numpy as np

from aggopt.core.types import F64
from aggopt.measure.safe_figures import BINS, MIDDLE

STEPS = (
    *(("s", times) for times in (1, 5, 15)),
    *(("m", times) for times in (1, 5, 15)),
    *(("h", times) for times in (1, 6)),
    *(("D", times) for times in (1, 7)),
    *(("M", times) for times in (1, 3)),
    *(("Y", times) for times in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)),
)
LENGTH = {"s": 1, "m": 60, "h": 3600, "D": 86400, "M": 30 * 86400, "Y": 365 * 86400}


def compute_calendar_edges(released: F64) -> F64:
    """Return the ends of bins, in seconds, for dates (n,) in seconds since 1970.

    >>> format_moments(compute_calendar_edges(np.array([0.0, 1e9])))
    ('1970', '1975', '1980', '1985', '1990', '1995', '2000', '2005')
    """
    low, high = np.floor(np.quantile(released, MIDDLE)).astype(np.int64).tolist()
    unit, times = next(
        (u, t) for u, t in STEPS if (high - low) <= (BINS - 1) * LENGTH[u] * t
    )
    outer = np.array([low, high]).astype("M8[s]").astype(f"M8[{unit}]")
    first, last = (outer.astype(np.int64) // times).tolist()
    ends = np.arange(first, last + 2) * times
    return ends.astype(f"M8[{unit}]").astype("M8[s]").astype(np.int64).astype(float)


def format_moments(edges: Sequence[float] | F64) -> tuple[str, ...]:
    """Return moments in seconds since 1970, as short as all of them can be spelled.

    >>> format_moments([0.0, 31536000.0])
    ('1970', '1971')
    """
    moments = np.array(edges).astype(np.int64).astype("M8[s]")
    rounded = (moments.astype(f"M8[{unit}]") for unit in ("Y", "M", "D", "h", "m", "s"))
    shortest = next(
        spelling for spelling in rounded if (spelling.astype("M8[s]") == moments).all()
    )
    return tuple(map(str, shortest))
