"""A tree finds the groups that plain scans find, ties and rounding included."""

from collections.abc import Iterator

import numpy as np
import pytest
from drawn import examples
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from aggopt.core.validation import Floats, Labels
from aggopt.partition import _box_tree_kernels, cbfs, mdav
from aggopt.partition import _radix_sort_kernels as radix_sort
from aggopt.partition import _unassigned_pool as unassigned
from aggopt.partition._box_tree import BRANCHING, LEAF, ROWS, fit_axes, project_records
from aggopt.partition._box_tree_kernels import build_tree
from aggopt.partition._unassigned_state import Pool

NEVER = 10**9


@pytest.fixture(params=[unassigned.STAYS, 0.0], ids=["rebuilt", "built once"])
def forced(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a tree do all turns but those that are left to few records."""
    monkeypatch.setattr(unassigned, "TURNS", 1)
    monkeypatch.setattr(unassigned, "PAYS", 1e9)
    monkeypatch.setattr(unassigned, "STAYS", request.param)


def both(f, X: Floats, k: int, **options: str) -> tuple[Labels, Labels]:
    """Return the labels by a tree, and by plain scans alone."""
    found = f(X, k, **options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(unassigned, "TURNS", NEVER)
        return found, f(X, k, **options)


def kinds(rng: np.random.Generator, n: int, d: int) -> Iterator[Floats]:
    """Yield records that are hard in different ways."""
    normal = rng.normal(size=(n, d))
    yield normal
    yield normal + 20 * rng.integers(0, 3, size=(n, 1))  # clusters
    yield rng.standard_cauchy(size=(n, d))
    yield np.exp(3 * normal)
    yield rng.integers(0, 3, size=(n, d)).astype(float)  # ties
    yield rng.permutation(np.repeat(normal[: n // 40 + 1], 40, axis=0)[:n])
    yield np.round(normal, 1)
    yield 1e9 + np.sign(normal)
    yield np.vstack([normal[1:], np.full((1, d), 1e15)])
    yield normal * 1e-170  # whose squares are below the smallest float
    yield np.zeros((n, d))


@pytest.mark.usefixtures("forced")
@pytest.mark.parametrize("scale", ["z", "none"])
@pytest.mark.parametrize("ending", ["3k", "nearest"])
@pytest.mark.parametrize("d", [1, 2, 3, 10, 15])
def test_mdav_is_the_same(d: int, ending: str, scale: str) -> None:
    rng = np.random.default_rng(d)
    for n, k in [(20, 3), (200, 3), (300, 7)]:
        for X in kinds(rng, n, d):
            found, expected = both(mdav, X, k, ending=ending, scale=scale)
            assert (found == expected).all()


@pytest.mark.usefixtures("forced")
@pytest.mark.parametrize("ending", ["3k", "nearest"])
@pytest.mark.parametrize("k", [1, 4, 30])
def test_around_2k_and_3k(k: int, ending: str) -> None:
    rng = np.random.default_rng(k)
    for n in {2 * k - 1, 2 * k, 3 * k - 1, 3 * k, 5 * k, 5 * k + 1} - {0}:
        for X in kinds(rng, n, 3):
            found, expected = both(mdav, X, k, ending=ending)
            assert (found == expected).all()


@pytest.mark.usefixtures("forced")
@pytest.mark.parametrize("d", [1, 4])
def test_cbfs_is_the_same(d: int) -> None:
    for X in kinds(np.random.default_rng(d), 600, d):
        found, expected = both(cbfs, X, 3)
        assert (found == expected).all()


def test_many_records_are_taken_by_a_tree_and_few_by_scans(monkeypatch) -> None:
    built = []
    monkeypatch.setattr(
        _box_tree_kernels,
        "build_tree",
        lambda pool: built.append(0) or build_tree(pool),
    )
    X = np.random.default_rng(0).normal(size=(12_000, 2))
    assert mdav(X[:1000], 3).sizes.min() >= 3
    assert built == []
    found, expected = both(mdav, X, 3)
    assert (found == expected).all()
    assert len(built) > 1


def test_a_tree_that_does_not_pay_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    scans: list[int] = []
    scan = unassigned.scan

    def counted(pool: Pool, k: int, **options) -> None:
        before = pool.remaining
        scan(pool, k, **options)
        scans.append(before - pool.remaining)

    monkeypatch.setattr(unassigned, "scan", counted)
    monkeypatch.setattr(unassigned, "TURNS", 1)
    monkeypatch.setattr(unassigned, "TRIAL", 1)
    X = np.random.default_rng(0).normal(size=(4000, 40))
    found, expected = both(mdav, X, 3)
    assert (found == expected).all()
    assert scans[0] > 1000


def test_a_look_at_ctrl_c_between_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unassigned, "TURNS", 1)
    monkeypatch.setattr(unassigned, "CHUNK", 0)
    shares: list[float] = []

    def stop(share: float) -> None:
        shares.append(share)
        if share > 0.5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        mdav(np.random.default_rng(0).normal(size=(400, 2)), 3, progress=stop)
    assert 10 < len(shares) < 40


@pytest.mark.parametrize(
    "n", [1, LEAF, LEAF + 1, BRANCHING * LEAF + 1, BRANCHING**2 * LEAF + 7]
)
def test_boxes_are_drawn_around_what_they_hold(n: int) -> None:
    pool = unassigned.create_pool(np.random.default_rng(n).normal(size=(n, 2)))
    tree = build_tree(pool)
    held = [tree.ids[leaf, :m] for leaf, m in enumerate(tree.waiting)]
    assert sorted(np.concatenate(held)) == list(range(n))
    for leaf, ids in enumerate(held):
        branch, b = divmod(tree.above + leaf - 1, BRANCHING)
        seen = project_records(tree.axes, pool.records[:, ids])
        assert_allclose(tree.sides[branch, 0, :, b], seen.min(axis=1), atol=1e-6)
        assert_allclose(tree.sides[branch, 1, :, b], seen.max(axis=1), atol=1e-6)
        assert tree.first[branch, b] == ids.min()
        assert (tree.records[leaf, :, : len(ids)] == pool.records[:, ids]).all()


@pytest.mark.parametrize("d", [1, 3, ROWS - 1, ROWS, 40])
def test_axes_keep_lengths_and_nothing_of_one_far_record_turns_them(d: int) -> None:
    X = np.random.default_rng(d).normal(size=(500, d)).T
    view = fit_axes(X)
    seen = project_records(view, X).astype(float)
    gaps = X - view.origin[:, None]
    assert_allclose((seen**2).sum(axis=0), (gaps**2).sum(axis=0), rtol=1e-5)
    X[:, 0] = 1e9
    assert np.abs(fit_axes(X).origin).max() < 1


def test_repr_shows_no_record() -> None:
    pool = unassigned.create_pool(np.array([[123.0], [456.0]]))
    assert repr(build_tree(pool)) == f"Tree(2 of {LEAF} places hold a record)"


# --- sorting by bits gives what NumPy's stable sort gives


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
