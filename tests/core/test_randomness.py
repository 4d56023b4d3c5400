"""What comes from the secret of a release: uniform, repeatable, one for a purpose."""

import numpy as np
import pytest

from aggopt.core.randomness import (
    derive_secret,
    draw_permutation,
    draw_uniforms,
    make_secret,
)


def test_secrets_differ_and_have_128_bits() -> None:
    assert len({make_secret() for _ in range(100)}) == 100
    assert len(bytes.fromhex(make_secret())) == 16
    assert derive_secret(3) == derive_secret(3) != derive_secret(4)
    assert derive_secret(None) != derive_secret(None)


def test_numbers_are_uniform_and_each_purpose_has_its_own() -> None:
    u, v = draw_uniforms("s", "one", 20_000), draw_uniforms("s", "two", 20_000)
    for numbers in (u, v):
        counts = np.histogram(numbers, bins=10, range=(0, 1))[0]
        assert ((counts - 2000) ** 2 / 2000).sum() < 27.9  # chi square, 0.1 %
    assert abs(np.corrcoef(u, v)[0, 1]) < 0.03
    assert (u == draw_uniforms("s", "one", 20_000)).all()
    assert (u[:5] == draw_uniforms("s", "one", 5)).all()


@pytest.mark.parametrize("n", [1, 2, 1000])
def test_an_order_has_every_place_once(n) -> None:
    assert sorted(draw_permutation("s", "order", n)) == list(range(n))


def test_orders_of_three_are_equally_frequent() -> None:
    orders = [tuple(draw_permutation(str(i), "order", 3)) for i in range(6000)]
    counts = np.unique(orders, axis=0, return_counts=True)[1]
    assert len(counts) == 6
    assert ((counts - 1000) ** 2 / 1000).sum() < 20.5  # chi square, 0.1 %
