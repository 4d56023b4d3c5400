"""Figures of originals, rounded so that they may be published with a release.

Exact figures are functions of every original: with all records but one, they give that
one away.  So shares are whole percents, moments have three digits, and correlations two
decimals.  Fewer than `FEW` records have no figure.
"""

from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np
import numpy.typing as npt

from aggopt.core.types import F64

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


def rounded(figure: float, digits: int = DIGITS) -> float:
    """Return a figure rounded to `digits` significant digits.

    >>> rounded(1987.4), rounded(-0.012345), rounded(0.0)
    (1990.0, -0.0123, 0.0)
    """
    return float(f"{figure:.{digits - 1}e}")


def percent(share: float) -> float:
    """Return a share in whole percents, halves to the even one.

    0 and 100 are exactly none and all: what rounds to them is 0.5 and 99.5.

    >>> percent(0.125), percent(0.004), percent(0.996), percent(1.0)
    (12, 0.5, 99.5, 100)
    """
    whole = round(100.0 * share)
    if whole == 0 and share > 0:
        return 0.5
    return 99.5 if whole == 100 and share < 1 else whole


def in_words(percents: float) -> str:
    """Return percents of `percent` as people read them.

    >>> in_words(12), in_words(0.5), in_words(99.5), in_words(100)
    ('12 %', '< 1 %', '> 99 %', '100 %')
    """
    if 0 < percents < 1:
        return "< 1 %"
    return "> 99 %" if 99 < percents < 100 else f"{percents:.0f} %"


def percents(counts: npt.ArrayLike) -> tuple[float, ...]:
    """Return each count (m,) as whole percents of their sum, which is above 0."""
    found = np.asarray(counts)
    return tuple(map(percent, (found / found.sum()).tolist()))


def there(values: npt.ArrayLike) -> F64:
    """Return the values (n,) that are not missing."""
    found = np.asarray(values, np.float64)
    return found[~np.isnan(found)]


def summary(before: npt.ArrayLike, after: npt.ArrayLike) -> Summary | None:
    """Return means and deviations of originals and of a release, (n,) each, rounded.

    Missing values (nan) are left out.  None if fewer than `FEW` originals are present,
    or nothing is released.

    >>> summary(range(10), [4.5] * 10)
    Summary(mean=(4.5, 4.5), deviation=(2.87, 0.0))
    """
    x, y = there(before), there(after)
    if len(x) < FEW or not len(y):
        return None
    means, deviations = (x.mean(), y.mean()), (x.std(), y.std())
    return Summary(
        (rounded(means[0]), rounded(means[1])),
        (rounded(deviations[0]), rounded(deviations[1])),
    )


def correlations(values: npt.ArrayLike) -> F64:
    """Return the correlations (d, d) of attributes (n, d), to two decimals.

    Each correlation uses the records that have both values.  It is nan if these are
    fewer than `FEW`, or one of the two attributes does not vary among them.

    >>> correlations([[j, -j] for j in range(10)])
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    X = np.asarray(values, np.float64)
    d = X.shape[1]
    found = np.full((d, d), np.nan)
    for a, b in combinations_with_replacement(range(d), 2):
        found[a, b] = found[b, a] = _correlation(X[:, a], X[:, b])
    return found


def _correlation(x: F64, y: F64) -> float:
    both = ~(np.isnan(x) | np.isnan(y))
    x, y = x[both], y[both]
    if len(x) < FEW or x.min() == x.max() or y.min() == y.max():
        return float("nan")
    return float(np.round(np.corrcoef(x, y)[0, 1], DECIMALS))
