"""The models that shift centroids, as separable programs.

With t = c_j - C_j, d_i = x_i - C_j and s_i = alpha / (1 - w_i)^2 the cost of
group j is

    p3m           sum_i s_i ((t - d_i)^2 - delta_i^2)^2 + (1 - alpha) n_j t^2
    p3m_onesided  as p3m, with the sum over the i with |t - d_i| < delta_i only
    satisfaction  price n_j t^2 - sum_i w_i [ |t - d_i| >= delta_i ]

Hard requirements (w_i = 1) leave p3m two points, and bar an interval in p3m_onesided.
Bounds of published values shorten some pieces and remove others.
"""

from functools import singledispatch

import numpy as np

from aggopt.algorithms.lagrangian.program import Separable
from aggopt.core.types import I64, Bool, Floats
from aggopt.models import p3m, p3m_onesided, satisfaction
from aggopt.models.shared.shift_data import Wishes


@singledispatch
def build_separable_program(data: Wishes) -> Separable:
    """Return a model's problem of shifted centroids as a separable program."""
    raise TypeError(f"no separable program for {type(data).__qualname__}")


@build_separable_program.register
def _build_p3m(data: p3m.Data) -> Separable:
    """Return the separable program of P3M; hard wishes leave two points."""
    m = len(data.sizes)
    quartic, terms = compute_quartics(data)
    groups, values = p3m.list_demanded_values(data)
    where, side = np.nonzero(~np.isnan(values))
    free = np.delete(np.arange(m), groups)
    owner = np.concatenate([free, groups[where]])
    points = values[where, side] - data.means[groups[where]]
    low = np.concatenate([np.full(len(free), -np.inf), points])
    high = np.concatenate([np.full(len(free), np.inf), points])
    order = np.lexsort((low, owner))
    owner = owner[order]
    return _assemble_program(
        data, owner, low[order], high[order], quartic[owner], terms
    )


@build_separable_program.register
def _build_p3m_onesided(data: p3m_onesided.Data) -> Separable:
    """Return the separable program of one-sided P3M."""
    base = np.zeros((len(data.sizes), 5))
    base[:, 2] = (1 - data.alpha) * data.sizes
    powers, terms = _expand_deviations(data, data.alpha)
    return _build_piecewise(data, powers, base, terms, barred=data.hard)


@build_separable_program.register
def _build_satisfaction(data: satisfaction.Data) -> Separable:
    """Return the separable program of the satisfaction model."""
    worth = _sum_by_group(data, data.importance)
    base = np.zeros((len(data.sizes), 5))
    base[:, 0] = -worth
    base[:, 2] = data.price * data.sizes
    lost = np.zeros((len(data.x), 5))
    lost[:, 0] = data.importance
    return _build_piecewise(data, lost, base, worth, barred=np.zeros(len(data.x), bool))


def _sum_by_group(data: Wishes, terms: Floats) -> Floats:
    """Return the sum of the records' terms in each group (m,)."""
    return np.bincount(data.labels, terms, len(data.sizes)).astype(np.float64)


def compute_quartics(data: p3m.Data) -> tuple[Floats, Floats]:
    """Return each group's cost as a quartic (m, 5), without hard wishes; and scales.

    Also the sum of the terms' magnitudes in each group (m,).
    """
    powers, terms = _expand_deviations(data, data.alpha)
    quartic = np.stack([_sum_by_group(data, powers[:, k]) for k in range(5)], axis=1)
    quartic[:, 2] += (1 - data.alpha) * data.sizes
    return quartic, terms


def _expand_deviations(data: Wishes, alpha: float) -> tuple[Floats, Floats]:
    """Return each record's squared miss of its wish as a quartic (n, 5), 0 if hard.

    Also the sum of the terms' magnitudes in each group (m,).
    """
    s = alpha / np.where(data.hard, np.inf, 1 - data.importance) ** 2
    d = data.x - data.means[data.labels]
    e = d**2 - data.delta**2
    powers = [s * e**2, -4 * s * d * e, s * (4 * d**2 + 2 * e), -4 * s * d, s]
    terms = s * (d**2 + data.delta**2) ** 2
    return np.stack(powers, axis=1), _sum_by_group(data, terms)


def _build_piecewise(
    data: Wishes, add: Floats, base: Floats, terms: Floats, *, barred: Bool
) -> Separable:
    """Return a separable program whose costs `add` act near records only."""
    from aggopt.algorithms.lagrangian.sweep_line import NearRecords, build_pieces

    d = data.x - data.means[data.labels]
    pieces = build_pieces(NearRecords(data.labels, d, data.delta, add, barred), base)
    return _assemble_program(data, *pieces, terms)


def _assemble_program(
    data: Wishes,
    owner: I64,
    low: Floats,
    high: Floats,
    quartic: Floats,
    terms: Floats,
) -> Separable:
    """Return the separable program of these pieces, cut at the values' bounds."""
    low = np.maximum(low, data.lower - data.means[owner])
    high = np.minimum(high, data.upper - data.means[owner])
    is_piece = low <= high
    owner = owner[is_piece]
    quartic = quartic[is_piece]
    return Separable(
        first=np.searchsorted(owner, np.arange(len(data.sizes) + 1)).astype(np.int64),
        low=np.ascontiguousarray(low[is_piece]),
        high=np.ascontiguousarray(high[is_piece]),
        quartic=np.ascontiguousarray(quartic),
        level=np.zeros(len(owner)),
        sizes=data.sizes,
        centres=data.means,
        terms=terms,
        total=float(data.sizes @ data.means),
        squares=float(len(data.x)),
        cardinality=0.0,
    )
