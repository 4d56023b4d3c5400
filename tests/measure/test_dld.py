"""Records that are nearest to their own: as a loop in whole numbers finds them."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aggopt.measure._dld import compute_dld
from aggopt.measure._pair import Pair


def slowly(z: np.ndarray, released: np.ndarray) -> float:
    """Return the expected share, in whole numbers, over all released records."""
    linked = Fraction(0)
    for i, record in enumerate(z.astype(int).tolist()):
        apart = [
            sum((a - b) ** 2 for a, b in zip(record, row, strict=True))
            for row in released.astype(int).tolist()
        ]
        linked += Fraction(apart[i] == min(apart), apart.count(min(apart)))
    return float(linked / len(z))


def found(z: np.ndarray, released: np.ndarray) -> float:
    """Return what is found of tables that are in coordinates already."""
    varying = np.ones(z.shape[1], dtype=bool)
    return compute_dld(Pair(z, released, released - z, varying, released, 0.0))


WHOLE = st.integers(-2, 2)
ROWS = st.lists(st.tuples(WHOLE, WHOLE, WHOLE, WHOLE), min_size=1, max_size=9)


@settings(deadline=None)
@given(ROWS)
def test_it_is_the_share_of_the_nearest(both) -> None:
    table = np.array(both, float)
    z, released = table[:, :2], table[:, 2:]
    assert found(z, released) == pytest.approx(slowly(z, released), abs=1e-12)


def test_many_coordinates_with_many_ties() -> None:
    rng = np.random.default_rng(1)
    z, released = rng.integers(0, 2, (2, 40, 14)).astype(float)
    released[::3] = z[::3]
    assert found(z, released) == pytest.approx(slowly(z, released), abs=1e-12)


@pytest.mark.parametrize(("away", "share"), [(1e-14, 0.5), (1e-11, 0.0)])
def test_what_rounding_can_make_up_is_a_tie(away: float, share: float) -> None:
    """The first record is nearer to the other row, by a part of its length."""
    z = np.array([[0.0, 1.0], [9.0, 9.0]])
    released = np.array([[1.0, 1.0], [-1.0 + away, 1.0]])
    assert found(z, released) == share / 2  # the second is nearest to the first row


def test_far_rows_change_nothing() -> None:
    z = np.array([[0.0, 1.0], [5.0, 5.0], [9.0, 0.0]])
    released = np.array([[0.0, 1.5], [5.0, 5.0], [1e100, 0.0]])
    assert found(z, released) == pytest.approx(2 / 3)


def test_one_row_is_nearest_to_all() -> None:
    z = np.arange(4.0)[:, None]
    assert found(z, np.zeros_like(z)) == 0.25
