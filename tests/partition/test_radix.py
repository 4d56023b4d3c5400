"""Sorting by bits gives what NumPy's stable sort gives."""

import numpy as np
import pytest
from drawn import examples
from hypothesis import given
from hypothesis import strategies as st

from aggopt.partition import _radix_sort_kernels as radix_sort

RNG = np.random.default_rng(1)
VALUES = {
    "none": np.zeros(0),
    "one": np.ones(1),
    "normal": RNG.normal(size=5000),
    "ties": RNG.integers(-3, 3, 5000).astype(float),
    "one value": np.full(5000, -2.5),
    "close": 1e9 + RNG.normal(size=5000),
    "closer": 1e300 * (1 + RNG.integers(0, 5000, 5000) * 2.0**-52),
    "close, and one far away": np.append(1 + RNG.permutation(5000) * 2.0**-52, 1e300),
    "all scales": RNG.choice([-1, 1], 5000) * 10.0 ** RNG.uniform(-300, 300, 5000),
    "zeros of both signs": RNG.choice([0.0, -0.0, 1.0], 5000),
    "the smallest": RNG.integers(-9, 9, 5000) * 5e-324,
    "reversed": np.arange(5000.0)[::-1],
}


def agrees(x: np.ndarray) -> None:
    before = x.copy()
    values, order = radix_sort.sort_values(x)
    expected = np.argsort(x, kind="stable")
    assert (order == expected).all()
    assert (values == x[expected]).all()
    assert (x == before).all()
    labels = np.arange(len(x))
    back = np.empty_like(labels)
    radix_sort.restore_order(labels, order, back)
    assert (back[expected] == labels).all()


@pytest.mark.parametrize("name", VALUES)
def test_on_values_of_every_kind(name) -> None:
    agrees(VALUES[name])


@given(st.lists(st.floats(allow_nan=False), max_size=60))
@examples(300)
def test_on_values_at_random(x) -> None:
    agrees(np.array(x, dtype=float))
