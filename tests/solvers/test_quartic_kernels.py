"""Kernels of solver `stiefel`: minima, smoothed, and passes over centroids."""

import numpy as np
import pytest
from joint_instances import instance

from aggopt.algorithms.stiefel.cost import Cost, evaluate_quartics
from aggopt.algorithms.stiefel.kernels import (
    Cells,
    Penalty,
    descend_quartics,
    smooth_quartics,
)

seeds = pytest.mark.parametrize("seed", range(5))


def one_cell(a: np.ndarray, *allowed: float) -> Cells:
    """Return one group's quartic about 0, of one record among five."""
    values = np.reshape(allowed or (np.nan, np.nan), (2, 1, 1))
    return Cells(
        a.reshape(5, 1, 1), np.zeros((1, 1)), values, np.ones(1), np.full(1, 2.0)
    )


def least_of(cells: Cells, soft: float = 1e-9) -> tuple[float, float, float]:
    first, second = np.empty((1, 1)), np.empty((1, 1))
    value = smooth_quartics(cells, np.zeros((1, 1)), np.zeros(1), soft, first, second)
    return value, first.item(), second.item()


@seeds
def test_minima_are_the_least_of_the_roots(seed):
    rng = np.random.default_rng(seed)
    for _ in range(40):
        a = rng.normal(size=5) * [1, 5, 5, 1, 1]
        a[4] = abs(a[4]) + 0.1
        t = np.roots([4 * a[4], 3 * a[3], 2 * a[2], a[1]])
        real = t[abs(t.imag) < 1e-9].real
        least = min(evaluate_quartics(a, t) for t in real)
        value, c, square = least_of(one_cell(a))
        assert value == pytest.approx(least, rel=1e-9)
        assert (evaluate_quartics(a, c), c**2) == (
            pytest.approx(least),
            pytest.approx(square),
        )


def test_a_tie_of_two_minima_is_smoothed():
    value, c, square = least_of(one_cell(np.array([1.0, 0, -2, 0, 1])), soft=0.5)
    assert value == pytest.approx(-0.5 * np.log(2))
    assert (c, square) == (pytest.approx(0), pytest.approx(1))


def test_minima_where_no_quartic_is_left():
    assert least_of(one_cell(np.array([1.0, -4, 2, 0, 0]))) == (-1, 1, 1)
    value, _, square = least_of(one_cell(np.array([1.0, 1, -1, 0, 0])))
    assert (value, square) == (-5, 4)  # the end that the variance leaves


def test_demanded_centroids_have_one_of_their_values():
    a = np.array([0.0, 0, 1, 0, 1])
    assert least_of(one_cell(a, 0.5, -0.25)) == (
        evaluate_quartics(a, -0.25),
        -0.25,
        0.0625,
    )


@seeds
def test_a_pass_never_costs_more_and_keeps_its_sums(seed):
    data = instance(seed, n=40, d=3, m=10)
    rng = np.random.default_rng(seed)
    cost, n, S = Cost.of(data), data.sizes[:, None], data.covariance
    c, L, mu = data.means.copy(), rng.normal(size=(3, 3)), rng.normal(size=3)
    L, rho = L + L.T, 0.3

    def parts(c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return c.T @ (n * c) - S, np.sum(n * c, axis=0)

    def all_in(c: np.ndarray) -> float:
        off, mean = parts(c)
        penalty = rho / 2 * (np.sum(off**2) + np.sum(mean**2))
        return cost.value(c) + np.sum(L * off) + mu @ mean + penalty

    for _ in range(4):
        before, begun = all_in(c), c.copy()
        price = Penalty(*parts(c), L, mu, rho)
        descend_quartics(cost.cells, c, price, rng.permutation(c.size)[:1])
        assert price.off == pytest.approx(parts(c)[0], abs=1e-9)
        assert price.mean == pytest.approx(parts(c)[1], abs=1e-9)
        assert all_in(c) <= before
        (j,), (a,) = np.nonzero(c != begun)
        for other in np.linspace(-4, 4, 101):  # no other value of it is better
            moved = c.copy()
            moved[j, a] = other
            assert all_in(c) <= all_in(moved) + 1e-9
