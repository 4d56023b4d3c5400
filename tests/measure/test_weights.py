"""Losses by sampling weights; risks count records."""

from itertools import combinations, pairwise
from math import erf

import numpy as np
import pandas as pd
import pytest

from aggopt import measure
from aggopt.measure import assess
from aggopt.measure._pair import Pair
from aggopt.measure._statistics import (
    _read_quantiles,
    _sort_with_weights,
    compute_quantile_moves,
)
from aggopt.measure.registry import TypedComparison

rng = np.random.default_rng(3)
X = rng.gamma(2.0, size=(30, 3)) * [1.0, 1e4, 1e-3]
Y = X + rng.normal(size=X.shape) * 0.2 * X.std(axis=0)
TIMES = rng.integers(1, 5, 30)
WEIGHTS = np.exp(rng.normal(size=30))
BY_WEIGHT = ("sse", "il", "il1s", "pil")
OF_RECORDS = ("dld", "sdid", "sdid_chance", "linkage", "sl", "average_risk")


@pytest.mark.parametrize("name", BY_WEIGHT)
def test_weights_that_are_alike_are_none(name) -> None:
    of = getattr(measure, name)
    assert of(X, Y, weights=np.full(30, 2.5)) == of(X, Y)


@pytest.mark.parametrize("name", BY_WEIGHT)
def test_neither_scale_nor_order_of_weights_matters(name) -> None:
    of, order = getattr(measure, name), rng.permutation(30)
    found = of(X, Y, weights=WEIGHTS)
    assert of(X, Y, weights=1024 * WEIGHTS) == found
    assert of(X[order], Y[order], weights=WEIGHTS[order]) == pytest.approx(found)
    assert found != pytest.approx(of(X, Y), rel=1e-3)


def test_losses_by_whole_weights_are_of_replicated_records() -> None:
    many = [np.repeat(table, TIMES, axis=0) for table in (X, Y)]
    n, N = 30, int(TIMES.sum())
    assert measure.il(X, Y, weights=TIMES) == pytest.approx(measure.il(*many))
    whole = measure.sse(*many) * n / N
    assert measure.sse(X, Y, weights=TIMES) == pytest.approx(whole)
    of_sample = np.sqrt((n - 1) / n * N / (N - 1))
    il1s = measure.il1s(*many) * of_sample
    assert measure.il1s(X, Y, weights=TIMES) == pytest.approx(il1s)


def slowly(x, y, w):
    """Return shares by which quantiles, mean and variance moved, one at a time."""
    from scipy.stats import norm

    w = w / w.mean()
    n = len(x)
    centre = np.average(x, weights=w)
    spread = np.sqrt(np.average((x - centre) ** 2, weights=w))
    x, y = (x - centre) / spread, (y - centre) / spread
    moved = []
    for q in np.arange(5, 100, 5) / 100:
        one, other = (_quantile(v, w, q) for v in (x, y))
        radius = np.ptp(x) / 1000
        near = w[np.abs(x - one) < radius * (1 - 1e-9)].sum()
        density = near / (2 * radius * n)
        deviation = np.sqrt(q * (1 - q) * np.mean(w**2) / n) / density
        moved.append(1 - 2 * norm.sf(abs(other - one) / deviation))
    u, v = x, y - np.average(y, weights=w)
    gaps = (y - x, v**2 - u**2)
    parts = [
        1 - 2 * norm.sf(abs(w @ gap / n) / np.sqrt(np.sum((w * own) ** 2)) * n)
        for gap, own in zip(gaps, (u, u**2 - w @ u**2 / n), strict=True)
    ]
    return [np.mean(moved), *parts]


def pairwise_slowly(one, other, w):
    """Return shares by which the covariance and the correlation of two moved."""
    w = w / w.mean()
    n = len(w)
    (x, y), (p, q) = one, other
    found = []
    for unit in (False, True):
        a, b, c, e = (z - np.average(z, weights=w) for z in (x, p, y, q))
        if unit:
            a, b, c, e = (
                z / np.sqrt(np.average(z**2, weights=w)) for z in (a, b, c, e)
            )
        r = np.average(a * b, weights=w)
        own = a * b - (r * (a**2 + b**2) / 2 if unit else r)
        gap = np.average(c * e, weights=w) - r
        found.append(erf(abs(gap) / np.sqrt(2 * np.sum((w * own) ** 2)) * n))
    return found


def _quantile(x, w, q):
    order = np.argsort(x)
    ends = [0.0, *np.cumsum(w[order])]
    below = (len(x) - 1) * q
    for value, (low, high) in zip(x[order], pairwise(ends), strict=True):
        if low <= below < high:
            return value
    raise AssertionError


def test_probabilistic_loss_by_weight_is_that_by_hand() -> None:
    found = measure.pil_parts(X, Y, weights=WEIGHTS)
    by_hand = np.mean([slowly(x, y, WEIGHTS) for x, y in zip(X.T, Y.T, strict=True)], 0)
    assert [found.quantiles, found.means, found.variances] == pytest.approx(
        by_hand.tolist(), abs=1e-9
    )
    columns = zip(X.T, Y.T, strict=True)
    pairs = [pairwise_slowly(*two, WEIGHTS) for two in combinations(columns, 2)]
    assert [found.covariances, found.correlations] == pytest.approx(
        np.mean(pairs, axis=0).tolist(), abs=1e-9
    )
    assert measure.pil_parts(X, Y, weights=np.ones(30)) == measure.pil_parts(X, Y)


@pytest.mark.parametrize(("n", "tied"), [(2, 1), (21, 1), (30, 2)])
def test_quantiles_by_weight_are_those_by_hand_where_first_or_last_weigh_most(
    n, tied
) -> None:
    x = rng.permutation(np.arange(n) // tied * 1.0)
    for heavy in (None, x.argmin(), x.argmax()):
        w = np.ones(n)
        if heavy is not None:
            w[heavy] = n
        w /= w.mean()
        at = _read_quantiles(*_sort_with_weights(x, w))
        assert at.tolist() == [_quantile(x, w, q / 100) for q in range(5, 100, 5)]


def test_each_quantile_of_each_attribute_has_a_probability() -> None:
    assert compute_quantile_moves(Pair.of(X, Y)).shape == (19, 3)


def test_an_assessment_weighs_losses_and_no_risk() -> None:
    found, plain = assess(X, Y, weights=WEIGHTS), assess(X, Y)
    for name in BY_WEIGHT:
        assert found[name] == getattr(measure, name)(X, Y, weights=WEIGHTS)
    for name in OF_RECORDS:
        assert getattr(found, name) == getattr(plain, name)
    assert found.sst == pytest.approx(plain.sst)
    assert found.si == pytest.approx((found.dr + found.pil) / 2)


def typed(values: np.ndarray) -> pd.DataFrame:
    """Return numbers, and beside them names and numbers cut into names."""
    cut = np.digitize(values[:, 1], [1e4, 2e4]).astype(str)
    return pd.DataFrame({"x": values[:, 0], "y": values[:, 2], "level": cut})


TYPED_LOSSES = ("embedded_il", "embedded_within", "distance")


def test_losses_of_names_by_whole_weights_are_of_replicated_records() -> None:
    one, other = typed(X), typed(np.round(Y, 1))
    found = assess(one, other, weights=TIMES)
    rows = np.repeat(np.arange(30), TIMES)
    many = assess(one.iloc[rows], other.iloc[rows])
    assert found.il == pytest.approx(many.il)
    assert found.sse / 30 == pytest.approx(many.sse / len(rows))
    for name in TYPED_LOSSES:
        assert found.types[name] == pytest.approx(many.types[name])
    for name in ("il", "within"):
        assert found.types[name] == pytest.approx(many.types[name])
    numbers = assess(X[:, [0, 2]], np.round(Y, 1)[:, [0, 2]], weights=TIMES)
    assert found.il1s == pytest.approx(numbers.il1s)
    assert found.pil_parts.means == pytest.approx(numbers.pil_parts.means)


def test_risks_of_names_count_records() -> None:
    one, other = typed(X), typed(Y)
    assert TypedComparison.of(one, other).typed_by_weight is None
    found, plain = assess(one, other, weights=WEIGHTS), assess(one, other)
    alike = assess(one, other, weights=np.full(30, 3.0))
    assert alike == plain
    for name in OF_RECORDS:
        assert getattr(found, name) == getattr(plain, name)
    for name in ("dld", "kappa", "sdid", "unchanged"):
        assert found.types[name] == plain.types[name]
    assert found.types["il"] != plain.types["il"]
