"""What the screen tells of distances holds for the exact ones."""

from fractions import Fraction

import numpy as np
import pytest
from from_python import from_python

from aggopt.partition import _screened_distances as screens
from aggopt.partition import _screened_distances_kernels as kernels

exact_of, least_of, most_of, next_within, draw, measure = map(
    from_python,
    (
        kernels.measure_exactly,
        kernels.compute_lower_limit,
        kernels.compute_upper_limit,
        kernels.find_next,
        kernels.fill_screen,
        kernels.measure_screen,
    ),
)

SPREADS = {
    "even": lambda rng, shape: rng.uniform(-1, 1, shape),
    "one far out": lambda rng, shape: np.tanh(rng.standard_cauchy(shape) / 1e4),
    "alike": lambda rng, shape: 0.9 + rng.uniform(0, 1e-9, shape),
    "tied": lambda rng, shape: rng.integers(-2, 3, shape) / 2.0,
}


@pytest.mark.parametrize("d", [1, 4, 7])
@pytest.mark.parametrize("spread", SPREADS)
def test_no_exact_distance_is_beyond_its_bounds(spread, d) -> None:
    rng = np.random.default_rng(d)
    records = SPREADS[spread](rng, (d, 100))
    screen = measured(records, records[:, 7], 3.0)
    for j in range(100):
        exact = sum(
            (3 * Fraction(x) - Fraction(p)) ** 2
            for x, p in zip(records[:, j], screen.point, strict=True)
        )
        assert exact_of(screen, records, j) == pytest.approx(float(exact), 1e-12)
        least, most = (f(screen, float(exact)) for f in (least_of, most_of))
        assert least <= screen.near[j] <= most


def test_only_near_enough_columns_are_found() -> None:
    rng = np.random.default_rng(0)
    screen = measured(rng.uniform(-1, 1, (2, 199)), np.zeros(2), 1.0)
    for at, end, least, most in ((0, 199, 0, 0.05), (20, 150, 0.5, 0.6), (5, 5, 0, 9)):
        found, j = [], at - 1
        while (j := next_within(screen, j + 1, end, least, most)) < end:
            found.append(j)
        inside = (screen.near[at:end] >= least) & (screen.near[at:end] <= most)
        assert found == (at + np.flatnonzero(inside)).tolist()


def test_what_is_no_point_is_infinitely_far() -> None:
    screen = measured(np.zeros((3, 65)), np.zeros(3), 1.0)
    assert (screen.near[:65] == 0).all()
    assert (screen.near[65:] == np.inf).all()
    assert next_within(screen, 65, 128, 0, kernels.LARGEST) == 128


def measured(records, point, factor):
    screen = screens.create_screen(*records.shape)
    screen.point[:], screen.factor[0] = factor * point, factor
    draw(screen, records, records.shape[1])
    measure(screen, records.shape[1])
    return screen
