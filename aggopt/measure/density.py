"""Distribution of an attribute before and after masking, safe to publish.

Bins are chosen from released values only, and have round widths.  The two outer bins
are open, so that no end of a bin is an end of the originals.  Neighbours are joined
until each bin holds ten originals or more, or none.  Shares are whole percents.
"""

from dataclasses import dataclass, field
from itertools import pairwise
from math import ceil, floor

import numpy as np
import numpy.typing as npt

from aggopt.core.types import F64, I64
from aggopt.measure.rounded_figures import FEW, percents, there

BINS = 16  # at most, or one more if they do not begin at a round number
MIDDLE = (0.01, 0.99)  # quantiles of the release: few far values make no bins wide
ROUND = (1, 2, 5, 10)  # widths, but for a power of ten


@dataclass(frozen=True)
class Density:
    """Shares of the originals and of the release in common bins.

    Attributes
    ----------
    edges : (m + 1,)
        Ends of the bins.  The first bin has all values below the second end, the last
        bin all values from the last end but one.
    original, released : (m,)
        Shares in whole percents.  A bin has ten originals or more, or none.
    reach : (2,)
        The least and the largest released value, if they are outside the edges: the
        reach of the open bins.  The edges themselves when left out.
    """

    edges: tuple[float, ...]
    original: tuple[float, ...]
    released: tuple[float, ...]
    reach: tuple[float, float] | None = field(default=None, compare=False, repr=False)

    @property
    def widths(self) -> tuple[float, ...]:
        """Widths of the bins, (m,); a share over its width is a density.

        The width of an open bin reaches up to the furthest released value.  With less,
        values far away would seem to be crowded at the edge.
        """
        first, last = self.reach or (self.edges[0], self.edges[-1])
        ends = (
            min(first, self.edges[0]),
            *self.edges[1:-1],
            max(last, self.edges[-1]),
        )
        return tuple(high - low for low, high in pairwise(ends))


def density(
    before: npt.ArrayLike, after: npt.ArrayLike, edges: npt.ArrayLike | None = None
) -> Density | None:
    """Return the distribution of originals and released values, (n,) each.

    Missing values (nan) are left out.  None if fewer than ten originals are present, or
    nothing is released.  `edges` are ends of bins that were chosen from the released
    values; without them, `round_edges` chooses them.

    >>> density([1, 2, 3, 4, 5] * 6, [2, 2, 2, 4.5, 4.5] * 6, edges=[2, 3, 4, 5])
    Density(edges=(2.0, 4.0, 5.0), original=(60, 40), released=(60, 40))
    """
    x, y = there(before), there(after)
    if len(x) < FEW or not len(y):
        return None
    ends = round_edges(y) if edges is None else np.asarray(edges, np.float64)
    ends = _joined(ends, _counts(x, ends))
    original, shown = (percents(_counts(values, ends)) for values in (x, y))
    reach = float(y.min()), float(y.max())
    return Density(tuple(ends.tolist()), original, shown, reach)


def round_edges(released: npt.ArrayLike) -> F64:
    """Return the ends of bins for released values (n,), none missing: m + 1 of them.

    >>> round_edges([0.0, 3.0, 7.0])
    array([0. , 0.5, 1. , 1.5, 2. , 2.5, 3. , 3.5, 4. , 4.5, 5. , 5.5, 6. ,
           6.5, 7. ])
    """
    y = np.asarray(released)
    low, high = np.quantile(y, MIDDLE).tolist()
    if low == high:
        low, high = float(y.min()), float(y.max())
    times, power = _width(high / BINS - low / BINS or abs(low) or 1.0)
    width = float(f"{times}e{power}")
    first, last = floor(low / width), ceil(high / width)
    last = max(last, first + 1)
    multiples = times * np.arange(first, last + 1)
    return np.unique([float(f"{j}e{power}") for j in multiples.tolist()])


def _width(least: float) -> tuple[int, int]:
    """Return the round width from `least` up, as a number of powers of ten."""
    digits, power = f"{least:e}".split("e")
    return next(times for times in ROUND if times >= float(digits)), int(power)


def _counts(values: F64, edges: F64) -> I64:
    """Return the number of values in each bin; the outer bins are open."""
    places = np.searchsorted(edges[1:-1], values, side="right")
    return np.bincount(places, minlength=len(edges) - 1)


def _joined(edges: F64, counts: I64) -> F64:
    """Return the edges that are left when bins of few originals joined others.

    Each joins its neighbour on the side of the middle, the outer ones first.
    """
    ends, held = edges.tolist(), counts.tolist()
    while (few := _few(held)) is not None:
        low = few if 2 * few < len(held) - 1 else few - 1
        held[low : low + 2] = [held[low] + held[low + 1]]
        del ends[low + 1]
    return np.array(ends)


def _few(held: list[int]) -> int | None:
    """Return the outermost bin of few originals; None without one."""
    few = [j for j, count in enumerate(held) if 0 < count < FEW]
    return min(few, key=lambda j: min(j, len(held) - 1 - j), default=None)
