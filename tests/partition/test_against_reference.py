"""MDAV and CBFS equal their slow reference, tie for tie."""

from functools import partial

import numpy as np
import pytest
from drawn import examples
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from partition import reference

from aggopt.core.standardise import Scale
from aggopt.partition import _unassigned_pool as unassigned
from aggopt.partition import cbfs, mdav

PAIRS = [
    pytest.param(mdav, reference.mdav, id="mdav"),
    pytest.param(
        partial(mdav, ending="nearest"),
        partial(reference.mdav, ending="nearest"),
        id="mdav-nearest",
    ),
    pytest.param(cbfs, reference.cbfs, id="cbfs"),
]


def grids(widest: int) -> st.SearchStrategy[np.ndarray]:
    shapes = array_shapes(min_dims=2, max_dims=2, max_side=40).map(
        lambda shape: (shape[0], 1 + shape[1] % 4)
    )
    return arrays(np.int64, shapes, elements=st.integers(-widest, widest))


@pytest.mark.parametrize(("f", "slow"), PAIRS)
@given(X=grids(1) | grids(2) | grids(100), data=st.data())
@examples(100)
def test_on_grids_full_of_ties(f, slow, X, data) -> None:
    k = data.draw(st.integers(1, min(len(X), 8)), label="k")
    assert (f(X, k, scale="none") == slow(X, k)).all()


@pytest.mark.parametrize(("n", "k"), [(1500, 1), (1500, 7), (2000, 300), (1025, 512)])
@pytest.mark.parametrize(("f", "slow"), PAIRS)
def test_on_large_grids_full_of_ties(f, slow, n, k) -> None:
    X = np.random.default_rng(n + k).integers(-3, 4, size=(n, 3))
    assert (f(X, k, scale="none") == slow(X, k)).all()


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize(("f", "slow"), PAIRS)
def test_on_normal_records(f, slow, seed) -> None:
    rng = np.random.default_rng(seed)
    n, d = rng.integers(5, 300), rng.integers(1, 12)
    X, k = rng.lognormal(size=(n, d)), int(rng.integers(1, 6))
    assert (f(X, k, scale="none") == slow(X, k)).all()
    assert (f(X, k) == slow(Scale.of(X).standardise(X), k)).all()


@pytest.mark.parametrize(("f", "slow"), PAIRS)
def test_a_look_at_ctrl_c_after_each_turn_changes_nothing(
    f, slow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unassigned, "CHUNK", 0)
    X = np.random.default_rng(0).integers(0, 3, size=(100, 2))
    assert (f(X, 3, scale="none") == slow(X, 3)).all()


def test_outliers_leave_no_rounding_behind_them() -> None:
    # added to 1e17 as floats, the small records would vanish from the sum
    rng, k = np.random.default_rng(1), 4
    small = rng.integers(-9, 10, size=(97, 2))
    X = np.vstack([small, np.full((k, 2), 10**17)])
    labels = cbfs(X, k, scale="none")
    assert (labels[97:] == 0).all()
    assert (labels[:97] == reference.cbfs(small, k) + 1).all()
