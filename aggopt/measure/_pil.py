"""How surely the statistics of a release differ from those of the original."""

from collections.abc import Iterator
from dataclasses import asdict, astuple, dataclass

import numpy as np
import numpy.typing as npt

from aggopt.core.validation import Floats
from aggopt.measure._moments import centred, unit_spread
from aggopt.measure._pair import TOLERANCE, Pair
from aggopt.measure._probability import probability
from aggopt.measure._registry import Comparison, Heading, Measure, TypedComparison
from aggopt.measure.types._counts import mean
from aggopt.measure.types._frequencies import cells_moved, levels_moved

_PERCENTS = np.arange(5, 100, 5)
_BINS = 1000  # a density is counted within range / _BINS on either side


@dataclass(frozen=True)
class PilParts:
    """The five parts of the probabilistic information loss, fractions in [0, 1].

    Each is a mean over numeric attributes, or over pairs of them; lower is better.
    Covariances and correlations are None when fewer than two vary, and all of them when
    none does.
    """

    quantiles: float | None = None
    means: float | None = None
    variances: float | None = None
    covariances: float | None = None
    correlations: float | None = None

    @property
    def pil(self) -> float:
        """Mean of the parts that there are."""
        return float(np.mean([part for part in astuple(self) if part is not None]))


@dataclass(frozen=True)
class TypedPilParts(PilParts):
    """The same where attributes are of any types, and what the others' parts are.

    `levels` is the mean of `aggopt.measure.types.pil` over those that vary and are not
    numeric, `pairs` that of the pairs of them; None where there are none.
    """

    levels: float | None = None
    pairs: float | None = None


def pil(original: npt.ArrayLike, released: npt.ArrayLike) -> float:
    """Return the probabilistic information loss, a fraction in [0, 1].

    The mean of the five parts that `pil_parts` returns, or of three when only one
    attribute varies, since there are then no pairs.  0 is no loss; lower is better.

    Raises
    ------
    TableError
        Not matrices of finite numbers, unequal shapes, or no attribute varies.

    Source: Mateo-Sanz, Domingo-Ferrer and Sebé (2005).

    Examples
    --------
    >>> original = [[0.0, 3.0], [2.0, 0.0], [4.0, 5.0], [6.0, 7.0]]
    >>> pil(original, original)
    0.0
    """
    return pil_of(Pair.of(original, released)).pil


def pil_parts(original: npt.ArrayLike, released: npt.ArrayLike) -> PilParts:
    """Return the five parts of the probabilistic information loss.

    For each statistic, the probability that sampling alone moves it by less than the
    release did: erf(|t' - t| / sqrt(2 var)), t and t' on the original and on the
    released records, var the sampling variance of t estimated on the original.

    - quantiles 5, 10, ..., 95 %: the value at position floor((n - 1) q) of the sorted
      n; var = q (1 - q) / (n f^2), f the density counted strictly within 1/1000 of
      the attribute's range on either side
    - means: var = m2 / n
    - variances: var = (m4 - m2^2) / n
    - covariances of each pair: var = (m22 - m11^2) / n
    - correlations r of each pair, u and v standardised:
      var = mean((u v - r (u^2 + v^2) / 2)^2) / n

    All moments have divisor n.  Where var is 0 (as for a perfect correlation), no
    change counts 0 and any change counts 1.  An attribute that is released as a
    constant has correlation 0 with all others.  Attributes constant in the original
    are left out.

    Raises
    ------
    TableError
        Not matrices of finite numbers, unequal shapes, or no attribute varies.

    Source: Mateo-Sanz, Domingo-Ferrer and Sebé (2005).

    Examples
    --------
    >>> original = [[0.0, 3.0], [2.0, 0.0], [4.0, 5.0], [6.0, 7.0]]
    >>> released = [[1.0, 1.5], [1.0, 1.5], [5.0, 6.0], [5.0, 6.0]]
    >>> parts = pil_parts(original, released)
    >>> parts.means, round(parts.correlations, 3)
    (0.0, 0.934)
    """
    return pil_of(Pair.of(original, released))


def pil_of(pair: Pair) -> PilParts:
    """Return `pil_parts` of tables already paired."""
    u, v = centred(pair.original), centred(pair.released)
    return PilParts(
        quantiles=float(_quantiles_moved(pair).mean()),
        means=float(_moved(pair.difference.mean(axis=0), u).mean()),
        variances=float(_moved((v**2 - u**2).mean(axis=0), u**2).mean()),
        covariances=_mean(_covariances_moved(u, v)),
        correlations=_mean(_correlations_moved(unit_spread(u), unit_spread(v))),
    )


def _quantiles_moved(pair: Pair) -> Floats:
    z, w = np.sort(pair.original, axis=0), np.sort(pair.released, axis=0)
    n, q = pair.n, _PERCENTS[:, None] / 100
    at = (n - 1) * _PERCENTS // 100
    radius = (z[-1] - z[0]) / _BINS
    density = _counts(z, z[at], radius * (1 - TOLERANCE)) / (2 * radius * n)
    return probability(w[at] - z[at], np.sqrt(q * (1 - q) / n) / density)


def _counts(z: Floats, centres: Floats, radius: Floats) -> Floats:
    """Return how many of the sorted z (n, v) lie strictly within reach of centres."""
    counts = np.empty_like(centres)
    for j, column in enumerate(z.T):
        above = np.searchsorted(column, centres[:, j] + radius[j], side="left")
        below = np.searchsorted(column, centres[:, j] - radius[j], side="right")
        counts[:, j] = above - below
    return counts


def _covariances_moved(u: Floats, v: Floats) -> Iterator[Floats]:
    for (a, b), (c, e) in zip(_pairs(u), _pairs(v), strict=True):
        yield _moved((c * e - a * b).mean(axis=0), a * b)


def _correlations_moved(u: Floats, v: Floats) -> Iterator[Floats]:
    for (a, b), (c, e) in zip(_pairs(u), _pairs(v), strict=True):
        r = (a * b).mean(axis=0)
        influence = a * b - r * (a**2 + b**2) / 2
        yield _moved((c * e - a * b).mean(axis=0), influence)


def _pairs(u: Floats) -> Iterator[tuple[Floats, Floats]]:
    """Yield each attribute with all those after it: (n, 1) and (n, rest)."""
    for j in range(u.shape[1] - 1):
        yield u[:, j : j + 1], u[:, j + 1 :]


def _moved(gap: Floats, influence: Floats) -> Floats:
    """Return the probabilities of gaps (p,) in statistics with influence (n, p).

    The sampling variance of a statistic is the variance of the influence of one
    record on it, over n: a mean of squares, so that nothing cancels.
    """
    return probability(gap, influence.std(axis=0) / np.sqrt(len(influence)))


def _mean(parts: Iterator[Floats]) -> float | None:
    found = list(parts)
    return float(np.concatenate(found).mean()) if found else None


def parts_of(tables: Comparison) -> PilParts:
    """Return `pil_parts` of tables in comparison."""
    if not isinstance(tables, TypedComparison):
        return pil_of(tables.pair)
    categories = tables.typed.categories
    return TypedPilParts(
        **(asdict(pil_of(tables.numbers)) if tables.numbers else {}),
        levels=mean([levels_moved(pair) for pair in categories]),
        pairs=cells_moved(tables),
    )


_MOMENTS = "Mateo-Sanz, Domingo-Ferrer and Sebe (2005)"

MIRRORED = "quantiles of values are not those of the values with their sign turned"

PIL = Measure(
    name="pil",
    when="how surely an analyst sees that quantiles and moments moved",
    rank=140,
    function=pil,
    range="0..1",
    better="lower",
    source=_MOMENTS,
    of=lambda tables: tables.once(parts_of).pil,
    heading=Heading.LITERATURE,
    label="PIL",
    says=lambda found: "mean of the parts below",
    parts=lambda found: asdict(found.pil_parts).items(),
    excused={"signs_do_not_matter": MIRRORED},
)

PARTS = Measure(
    name="pil_parts",
    when="which of quantiles, means, variances, covariances and correlations moved",
    rank=150,
    function=pil_parts,
    range="0..1",
    better="lower",
    source=_MOMENTS,
    of=lambda tables: tables.once(parts_of),
    excused={"signs_do_not_matter": MIRRORED},
)
