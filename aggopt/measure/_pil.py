"""Probabilistic information loss: certainty that statistics of a release differ."""

from collections.abc import Iterator
from dataclasses import asdict, astuple, dataclass

import numpy as np
import numpy.typing as npt

from aggopt.core.record_weights import multiply_by_weights
from aggopt.core.types import Floats
from aggopt.measure._pair import Pair
from aggopt.measure._statistics import (
    centre_records,
    compute_means,
    compute_probability,
    compute_quantile_moves,
    scale_to_unit_spread,
)
from aggopt.measure.registry import Comparison, Heading, Measure, TypedComparison
from aggopt.measure.types.frequencies import (
    compute_cell_moves,
    compute_level_moves,
    compute_mean_figure,
)


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
        """Mean of the parts that are not None."""
        return float(np.mean([part for part in astuple(self) if part is not None]))


@dataclass(frozen=True)
class TypedPilParts(PilParts):
    """Parts for attributes of any types: those of numbers, and two of other attributes.

    `levels` is the mean of `aggopt.measure.types.pil` over attributes that vary and are
    not numeric, `pairs` the mean over pairs of them; None without any.
    """

    levels: float | None = None
    pairs: float | None = None


def pil(
    original: npt.ArrayLike,
    released: npt.ArrayLike,
    *,
    weights: npt.ArrayLike | None = None,
) -> float:
    """Return the probabilistic information loss, a fraction in [0, 1].

    The mean of the five parts that `pil_parts` returns, or of three when only one
    attribute varies and no pairs exist.  0 is no loss; lower is better.
    Sampling `weights` (n,) are as in `pil_parts`.

    Raises
    ------
    TableError
        Not matrices of finite numbers, unequal shapes, or no attribute varies; or not
        one weight above 0 for each record.

    Source: Mateo-Sanz, Domingo-Ferrer and Sebé (2005).

    Examples
    --------
    >>> original = [[0.0, 3.0], [2.0, 0.0], [4.0, 5.0], [6.0, 7.0]]
    >>> pil(original, original)
    0.0
    """
    return compute_pil(Pair.of(original, released, weights)).pil


def pil_parts(
    original: npt.ArrayLike,
    released: npt.ArrayLike,
    *,
    weights: npt.ArrayLike | None = None,
) -> PilParts:
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

    All moments have divisor n.  If var is 0 (as for a perfect correlation), no change
    counts 0 and any change counts 1.  An attribute that is released as a constant has
    correlation 0 with all others.  Attributes constant in the original are left out.

    With sampling `weights` w (n,), of any scale, moments and shares are weighted.  Let
    w have the mean 1.  The quantile q is the last value with no more than (n - 1) q of
    the weight below it.  A mean of influences u has var = sum w^2 (u - mean)^2 / n^2,
    which equals the unweighted var if all weights are 1.  For a quantile,
    n / mean(w^2) replaces n.

    Raises
    ------
    TableError
        Not matrices of finite numbers, unequal shapes, or no attribute varies; or not
        one weight above 0 for each record.

    Source: Mateo-Sanz, Domingo-Ferrer and Sebé (2005).

    Examples
    --------
    >>> original = [[0.0, 3.0], [2.0, 0.0], [4.0, 5.0], [6.0, 7.0]]
    >>> released = [[1.0, 1.5], [1.0, 1.5], [5.0, 6.0], [5.0, 6.0]]
    >>> parts = pil_parts(original, released)
    >>> parts.means, round(parts.correlations, 3)
    (0.0, 0.934)
    """
    return compute_pil(Pair.of(original, released, weights))


def compute_pil(pair: Pair) -> PilParts:
    """Return `pil_parts` of tables already paired."""
    by = pair.weights
    u, v = (centre_records(z, by) for z in (pair.original, pair.released))
    one = scale_to_unit_spread(u, by)
    other = scale_to_unit_spread(v, by)
    return PilParts(
        quantiles=float(compute_quantile_moves(pair).mean()),
        means=float(_compute_move_probability(pair.difference, u, by).mean()),
        variances=float(_compute_move_probability(v**2 - u**2, u**2, by).mean()),
        covariances=_compute_mean(_compute_covariance_moves(u, v, by)),
        correlations=_compute_mean(_compute_correlation_moves(one, other, by)),
    )


def _compute_covariance_moves(
    u: Floats, v: Floats, by: Floats | None
) -> Iterator[Floats]:
    """Yield the PIL of the covariances, one array for each distance of columns."""
    for (a, b), (c, e) in zip(_iter_pairs(u), _iter_pairs(v), strict=True):
        yield _compute_move_probability(c * e - a * b, a * b, by)


def _compute_correlation_moves(
    u: Floats, v: Floats, by: Floats | None
) -> Iterator[Floats]:
    """Yield the PIL of the correlations, one array for each distance of columns."""
    for (a, b), (c, e) in zip(_iter_pairs(u), _iter_pairs(v), strict=True):
        r = compute_means(a * b, by)
        influence = a * b - r * (a**2 + b**2) / 2
        yield _compute_move_probability(c * e - a * b, influence, by)


def _iter_pairs(u: Floats) -> Iterator[tuple[Floats, Floats]]:
    """Yield each attribute with all later attributes: (n, 1) and (n, rest)."""
    for j in range(u.shape[1] - 1):
        yield u[:, j : j + 1], u[:, j + 1 :]


def _compute_move_probability(
    gap: Floats, influence: Floats, by: Floats | None
) -> Floats:
    """Return P(|N(0, s^2)| <= mean gap) of each statistic, s its standard error.

    The sampling variance of a statistic is the variance of the influence of one
    record on it, over n: a mean of squares, so that nothing cancels.  With weights
    (n,) of mean 1 each square has that of its weight.
    """
    root = np.sqrt(len(influence))
    if by is None:
        return compute_probability(gap.mean(axis=0), influence.std(axis=0) / root)
    away = multiply_by_weights(centre_records(influence, by), by)
    return compute_probability(
        compute_means(gap, by), np.sqrt((away**2).mean(axis=0)) / root
    )


def _compute_mean(parts: Iterator[Floats]) -> float | None:
    """Return the mean of all entries; None without any."""
    defined = list(parts)
    return float(np.concatenate(defined).mean()) if defined else None


def get_pil_parts(tables: Comparison) -> PilParts:
    """Return `pil_parts` of tables in comparison."""
    if not isinstance(tables, TypedComparison):
        return compute_pil(tables.weighed)
    categories = tables.typed.categories
    numbers = tables.weighed_numbers
    return TypedPilParts(
        **(asdict(compute_pil(numbers)) if numbers else {}),
        levels=compute_mean_figure([compute_level_moves(pair) for pair in categories]),
        pairs=compute_cell_moves(tables),
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
    of=lambda tables: tables.once(get_pil_parts).pil,
    heading=Heading.LITERATURE,
    label="PIL",
    says=lambda result: "mean of the parts below",
    parts=lambda result: asdict(result.pil_parts).items(),
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
    of=lambda tables: tables.once(get_pil_parts),
    excused={"signs_do_not_matter": MIRRORED},
)
