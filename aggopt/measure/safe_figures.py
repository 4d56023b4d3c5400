"""Distribution of an attribute before and after masking, safe to publish.

Bins are chosen from released values only, and have round widths.  The two outer bins
are open, so that no end of a bin is an end of the originals.  Neighbours are joined
until each bin holds ten originals or more, or none.  Shares are whole percents.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations_with_replacement, pairwise
from math import ceil, floor

import numpy as np
import numpy.typing as npt

from aggopt.core.standardise import Scale
from aggopt.core.types import F64, I64, Bool

FEW = 10  # records that a published figure of originals is of, at least
DIGITS = 3  # of means, standard deviations, objectives, bounds
DECIMALS = 2  # of correlations


@dataclass(frozen=True)
class Summary:
    """Means and standard deviations of an attribute, before and after masking.

    Rounded to three digits, in the attribute's units; the deviations are of n, not of
    n - 1.
    """

    mean: tuple[float, float]
    deviation: tuple[float, float]


def round_figure(figure: float, digits: int = DIGITS) -> float:
    """Return a figure rounded to `digits` significant digits.

    >>> round_figure(1987.4), round_figure(-0.012345), round_figure(0.0)
    (1990.0, -0.0123, 0.0)
    """
    return float(f"{figure:.{digits - 1}e}")


def round_percent(share: float) -> float:
    """Return a share in whole percents, halves to the even one.

    0 and 100 are exactly none and all: what rounds to them is 0.5 and 99.5.

    >>> [round_percent(share) for share in (0.125, 0.004, 0.996, 1.0)]
    [12, 0.5, 99.5, 100]
    """
    rounded_share = round(100.0 * share)
    if rounded_share == 0 and share > 0:
        return 0.5
    return 99.5 if rounded_share == 100 and share < 1 else rounded_share


def format_percents(percents: float) -> str:
    """Return percents of `percent` as people read them.

    >>> [format_percents(percents) for percents in (12, 0.5, 99.5, 100)]
    ['12 %', '< 1 %', '> 99 %', '100 %']
    """
    if 0 < percents < 1:
        return "< 1 %"
    return "> 99 %" if 99 < percents < 100 else f"{percents:.0f} %"


def compute_percents(counts: npt.ArrayLike) -> tuple[float, ...]:
    """Return each count (m,) as whole percents of their sum, which is above 0."""
    counts_array = np.asarray(counts)
    return tuple(map(round_percent, (counts_array / counts_array.sum()).tolist()))


def drop_missing(values: npt.ArrayLike) -> F64:
    """Return the values (n,) that are not missing."""
    numbers = np.asarray(values, np.float64)
    return numbers[~np.isnan(numbers)]


def compute_summary(before: npt.ArrayLike, after: npt.ArrayLike) -> Summary | None:
    """Return means and deviations of originals and of a release, (n,) each, rounded.

    Missing values (nan) are left out.  None if fewer than `FEW` originals are present,
    or nothing is released.

    >>> compute_summary(range(10), [4.5] * 10)
    Summary(mean=(4.5, 4.5), deviation=(2.87, 0.0))
    """
    x = drop_missing(before)
    y = drop_missing(after)
    if len(x) < FEW or not len(y):
        return None
    means = (x.mean(), y.mean())
    deviations = (x.std(), y.std())
    return Summary(
        (round_figure(means[0]), round_figure(means[1])),
        (round_figure(deviations[0]), round_figure(deviations[1])),
    )


def compute_correlations(values: npt.ArrayLike) -> F64:
    """Return the correlations (d, d) of attributes (n, d), to two decimals.

    Each correlation uses the records that have both values.  It is nan if these are
    fewer than `FEW`, or one of the two attributes does not vary among them.

    >>> compute_correlations([[j, -j] for j in range(10)])
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    X = np.asarray(values, np.float64)
    d = X.shape[1]
    coefficients = np.full((d, d), np.nan)
    for a, b in combinations_with_replacement(range(d), 2):
        coefficients[a, b] = coefficients[b, a] = _compute_correlation(X[:, a], X[:, b])
    return coefficients


def _compute_correlation(x: F64, y: F64) -> float:
    present = ~(np.isnan(x) | np.isnan(y))
    x = x[present]
    y = y[present]
    if len(x) < FEW or x.min() == x.max() or y.min() == y.max():
        return float("nan")
    pair = np.column_stack([x, y])
    pair = Scale.of(pair).standardise(pair)  # squares of tiny numbers would vanish
    return float(np.round(np.asarray(np.corrcoef(pair.T))[0, 1], DECIMALS))


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


def estimate_density(
    before: npt.ArrayLike, after: npt.ArrayLike, edges: npt.ArrayLike | None = None
) -> Density | None:
    """Return the distribution of originals and released values, (n,) each.

    Missing values (nan) are left out.  None if fewer than ten originals are present, or
    nothing is released.  `edges` are ends of bins that were chosen from the released
    values; without them, `round_edges` chooses them.

    >>> before, after = [1, 2, 3, 4, 5] * 6, [2, 2, 2, 4.5, 4.5] * 6
    >>> estimate_density(before, after, edges=[2, 3, 4, 5])
    Density(edges=(2.0, 4.0, 5.0), original=(60, 40), released=(60, 40))
    """
    x = drop_missing(before)
    y = drop_missing(after)
    if len(x) < FEW or not len(y):
        return None
    ends = round_edges(y) if edges is None else np.asarray(edges, np.float64)
    ends = _join_small_bins(ends, _count_in_bins(x, ends))
    original, shown = (
        compute_percents(_count_in_bins(values, ends)) for values in (x, y)
    )
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
        low = float(y.min())
        high = float(y.max())
    times, power = _round_width(high / BINS - low / BINS or abs(low) or 1.0)
    width = float(f"{times}e{power}")
    first = floor(low / width)
    last = ceil(high / width)
    last = max(last, first + 1)
    multiples = times * np.arange(first, last + 1)
    return np.unique([float(f"{j}e{power}") for j in multiples.tolist()])


def _round_width(width: float) -> tuple[int, int]:
    """Return the round width from `width` up, as a number of powers of ten."""
    digits, power = f"{width:e}".split("e")
    return next(times for times in ROUND if times >= float(digits)), int(power)


def _count_in_bins(values: F64, edges: F64) -> I64:
    """Return the number of values in each bin; the outer bins are open."""
    places = np.searchsorted(edges[1:-1], values, side="right")
    return np.bincount(places, minlength=len(edges) - 1)


def _join_small_bins(edges: F64, counts: I64) -> F64:
    """Return the edges that are left when bins of few originals joined others.

    Each joins its neighbour on the side of the middle, the outer ones first.
    """
    ends = edges.tolist()
    bin_counts = counts.tolist()
    while (few := _find_small_bin(bin_counts)) is not None:
        low = few if 2 * few < len(bin_counts) - 1 else few - 1
        bin_counts[low : low + 2] = [bin_counts[low] + bin_counts[low + 1]]
        del ends[low + 1]
    return np.array(ends)


def _find_small_bin(counts: list[int]) -> int | None:
    """Return the outermost bin of few originals; None without one."""
    few = [j for j, count in enumerate(counts) if 0 < count < FEW]
    return min(few, key=lambda j: min(j, len(counts) - 1 - j), default=None)


LEVELS = 12  # that are shown, the other ones left out
OTHER = "other"


@dataclass(frozen=True)
class Shares:
    """Shares of the originals and of the release at common levels.

    Attributes
    ----------
    levels : (m,)
        Their names, in the caller's order; the last may be "other".
    original, released : (m,)
        Shares in whole percents.  A level has ten originals or more, or none.
    """

    levels: tuple[str, ...]
    original: tuple[float, ...]
    released: tuple[float, ...]


def compute_level_shares(
    before: npt.ArrayLike, after: npt.ArrayLike, levels: Sequence[str]
) -> Shares | None:
    """Return the shares of levels 0..m-1, whose names are `levels`.

    `before` and `after` (n,) are the levels of originals and release.  None for fewer
    than ten originals.

    >>> before, after = [0] * 15 + [1] * 10 + [2] * 5, [0] * 20 + [1] * 10
    >>> compute_level_shares(before, after, ["a", "b", "c"])
    Shares(levels=('a', 'other'), original=(50, 50), released=(67, 33))
    """
    m = len(levels)
    counts = [np.bincount(np.asarray(codes), minlength=m) for codes in (before, after)]
    if counts[0].sum() < FEW:
        return None
    shown = _select_safe_levels(*counts)
    names = [levels[j] for j in np.flatnonzero(shown).tolist()]
    if counts[0][~shown].any() or counts[1][~shown].any():
        names.append(OTHER)
        counts = [np.append(c[shown], c[~shown].sum()) for c in counts]
    else:
        counts = [c[shown] for c in counts]
    return Shares(
        tuple(names), compute_percents(counts[0]), compute_percents(counts[1])
    )


def _select_safe_levels(before: I64, after: I64) -> Bool:
    """Whether each level (m,) is shown: the others hold ten originals, or none."""
    shown = np.asarray((after > 0) & ((before == 0) | (before >= FEW)))
    most_frequent = np.argsort(-after, kind="stable")
    shown[most_frequent[LEVELS:]] = False
    for j in most_frequent[::-1].tolist():  # the rarest shown first
        if not 0 < before[~shown].sum() < FEW:
            break
        shown[j] = False
    return shown
