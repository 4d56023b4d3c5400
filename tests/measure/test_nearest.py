"""Nearest released rows: the tree, the product and a loop find the same."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aggopt.measure import _nearest, dld
from aggopt.measure._nearest import FEW, own_among_nearest


def slowly(z: np.ndarray, released: np.ndarray) -> list[float]:
    """Return each record's chance, in whole numbers, over all released records."""
    chances = []
    for i, record in enumerate(z.astype(int).tolist()):
        apart = [
            sum((a - b) ** 2 for a, b in zip(record, row, strict=True))
            for row in released.astype(int).tolist()
        ]
        nearest = apart.count(min(apart))
        chances.append(float(Fraction(1, nearest)) if apart[i] == min(apart) else 0.0)
    return chances


def found(z: np.ndarray, released: np.ndarray) -> list[float]:
    rows, own, sizes = np.unique(
        released, axis=0, return_inverse=True, return_counts=True
    )
    return own_among_nearest(z, rows, own.ravel(), sizes).tolist()


def wide(table: np.ndarray, d: int) -> np.ndarray:
    """Return the same records with more attributes, in which none differs."""
    return np.c_[table, np.full((len(table), d - table.shape[1]), 3.0)]


WHOLE = st.integers(-2, 2)
ROWS = st.lists(st.tuples(WHOLE, WHOLE, WHOLE, WHOLE), min_size=1, max_size=9)


@settings(deadline=None)
@given(ROWS)
def test_whichever_way_it_is_found_it_is_the_share_of_the_nearest(both) -> None:
    table = np.array(both, float)
    z, released = table[:, :2], table[:, 2:]
    expected = slowly(z, released)
    for d in (2, FEW, FEW + 1, 40):
        assert found(wide(z, d), wide(released, d)) == expected


@pytest.mark.parametrize("at_once", [1, 7, 60, 2**21])
def test_portions_change_nothing(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_nearest, "_AT_ONCE", at_once)
    rng = np.random.default_rng(1)
    z, released = rng.integers(0, 3, (2, 30, 14)).astype(float)
    released[::3] = z[::3]
    assert found(z, released) == slowly(z, released)


def test_few_attributes_are_found_by_the_tree_and_many_are_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def never(*_: object) -> None:
        raise AssertionError

    X = np.random.default_rng(2).normal(size=(20, FEW + 1))
    monkeypatch.setattr(_nearest, "_by_product", never)
    assert dld(X[:, :FEW], X[:, :FEW]) == 1
    with pytest.raises(AssertionError):
        dld(X, X)
    monkeypatch.undo()
    monkeypatch.setattr(_nearest, "_by_tree", never)
    assert dld(X, X) == 1
    with pytest.raises(AssertionError):
        dld(X[:, :FEW], X[:, :FEW])


@pytest.mark.parametrize("d", [2, FEW + 1])
@pytest.mark.parametrize(("away", "share"), [(1e-14, 0.5), (1e-11, 0.0)])
def test_what_rounding_can_make_up_is_a_tie(d: int, away: float, share: float) -> None:
    """The first record is nearer to the other row, by a part of its length."""
    z = wide(np.array([[0.0, 1.0], [0.0, 0.0]]), d)
    released = wide(np.array([[1.0, 1.0], [-1.0 + away, 1.0]]), d)
    assert found(z, released)[0] == share


@pytest.mark.parametrize("d", [2, FEW + 1])
def test_far_rows_change_nothing(d: int) -> None:
    z = wide(np.array([[0.0, 1.0], [5.0, 5.0], [9.0, 0.0]]), d)
    released = wide(np.array([[0.0, 1.5], [5.0, 5.0], [1e100, 0.0]]), d)
    assert found(z, released) == [1.0, 1.0, 0.0]


@pytest.mark.parametrize("d", [3, FEW + 1])
def test_one_row_is_nearest_to_all(d: int) -> None:
    z = wide(np.arange(4.0)[:, None], d)
    assert found(z, np.zeros_like(z)) == [0.25] * 4


def test_lengths_do_not_hide_differences() -> None:
    """Of records a million away from zero the product loses ten digits."""
    rng = np.random.default_rng(3)
    z = 1e6 + rng.integers(0, 2, (40, 20)).astype(float)
    released = 1e6 + rng.integers(0, 2, (40, 20)).astype(float)
    assert found(z, released) == slowly(z, released)
