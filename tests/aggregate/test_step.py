"""How far the possible values of an attribute lie apart."""

import numpy as np
import pytest

from aggopt.aggregate.secret_margins import find_step

RNG = np.random.default_rng(0)
NORMAL = RNG.normal(size=400)
COUNTS = RNG.poisson(4, 400).astype(float)


@pytest.mark.parametrize(
    ("values", "step"),
    [
        ([1.0, 4, 9, 11], 1),
        ([1e9 + 1, 1e9 + 4, 1e9 + 9], 1),
        ([-1500.0, 500, 2000], 500),
        ([1e-300, 2e-300, 4e-300, 9e-300], 1e-300),
        ([1e300, -1e300, 4e300], 1e300),
        ([0.0, 1.0], 1),
        ([7.0, 7.0], 0),
        ([0.25, 0.5, 1.75], 0.25),  # the gap: of round numbers it is 0.05
        ([0.333, 0.667, 1, 1.333, 2], 0.333),
        (np.exp(8 + 0.6 * NORMAL).round(2), 0.01),
        (np.exp(8 + 0.6 * NORMAL).round(2).astype(np.float32), 0.01),
        (NORMAL, 0),
        (COUNTS * 200, 200),
        (COUNTS / 2.2046, 1 / 2.2046),
        ((COUNTS - COUNTS.mean()) / COUNTS.std(), 1 / COUNTS.std()),
        (np.append(np.zeros(380), NORMAL[:20]), 0),  # zeros tell no step
        (np.append(np.arange(90.0) * 500, NORMAL[:9] * 1000), 500),
        (np.append(np.arange(50.0) * 500, np.exp(8 + NORMAL[:20]).round(2)), 0.01),
    ],
)
def test_the_step_of_values(values, step) -> None:
    found = find_step(np.asarray(values, dtype=float))
    assert found == pytest.approx(step, rel=1e-2 if step == 0.01 else 1e-9)


def test_steps_below_the_least_are_not_looked_for() -> None:
    cents = np.exp(8 + 0.6 * NORMAL).round(2)
    assert find_step(cents, 0.01) == 0.01
    assert find_step(cents, 0.011) == 0
    assert find_step(COUNTS, 1.5) == 0


def test_nine_in_ten_values_are_enough_and_fewer_are_not() -> None:
    odd = 0.37 * np.arange(1.0, 11) + 0.001 * np.arange(10) ** 2
    assert find_step(np.append(np.arange(1.0, 91) * 1000, odd)) == 1000
    assert find_step(np.append(np.arange(1.0, 90) * 1000, odd)) <= 1
