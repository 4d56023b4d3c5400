"""Standardise and undo: the textbook formula, kept exact far from zero."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from refusals import refused

from aggopt.core.standardise import Scale
from aggopt.errors import TableError

matrices = arrays(
    np.float64,
    st.tuples(st.integers(1, 12), st.integers(1, 3)),
    elements=st.integers(-50, 50).map(float),
)


def exact(x: list[float]) -> tuple[float, float]:
    """Mean and population standard deviation by rational arithmetic."""
    values = [Fraction(v) for v in x]
    mean = sum(values) / len(values)
    variance = sum((v - mean) ** 2 for v in values) / len(values)
    return float(mean), float(variance) ** 0.5


@given(matrices)
def test_equals_exact_arithmetic(X):
    scale = Scale.of(X)
    for j, column in enumerate(X.T):
        mean, spread = exact(column.tolist())
        assert scale.mean[j] == pytest.approx(mean, rel=1e-14, abs=1e-14)
        assert scale.spread[j] == pytest.approx(spread, rel=1e-14)


@given(matrices)
def test_undo_returns_the_original(X):
    scale = Scale.of(X)
    assert scale.undo(scale.standardise(X)) == pytest.approx(X, abs=1e-12)


@given(matrices, st.sampled_from([1e-12, 1e-3, 1e12]), st.sampled_from([0.0, 1e9]))
def test_z_scores_have_no_unit(X, unit, offset):
    moved = np.round(X) + offset  # exact in floating point
    Z = Scale.of(X).standardise(X)
    assert Scale.of(moved).standardise(moved) == pytest.approx(Z, abs=1e-9)
    assert Scale.of(X * unit).standardise(X * unit) == pytest.approx(Z, abs=1e-12)


def test_a_constant_attribute_gets_zeros_and_comes_back():
    X = np.array([[3.1, 1.0], [3.1, 2.0]])
    scale = Scale.of(X)
    assert scale.constant.tolist() == [True, False]
    assert scale.standardise(X)[:, 0].tolist() == [0.0, 0.0]
    assert scale.undo(scale.standardise(X))[:, 0].tolist() == [3.1, 3.1]


@pytest.mark.parametrize("unit", [1e-300, 1e300])
def test_extreme_scales_neither_overflow_nor_vanish(unit):
    X = np.array([[0.0], [1.0], [5.0]])
    assert Scale.of(X * unit).standardise(X * unit) == pytest.approx(
        Scale.of(X).standardise(X), rel=1e-12
    )


def test_a_range_beyond_floats_is_refused():
    with refused(TableError):
        Scale.of(np.array([[0.0, -1.7e308], [1.0, 1.7e308]]))
