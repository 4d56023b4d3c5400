"""MHM: its paths equal a slow reference, and its groups lose no more than theirs."""

import tracemalloc

import numpy as np
import pytest
from drawn import examples
from hypothesis import given
from hypothesis import strategies as st
from partition import reference
from partition import reference_orders as slow
from partition.test_against_reference import grids
from partition.test_published import loss, z_scores
from refusals import refused

from aggopt.errors import JobError, UnknownNameError
from aggopt.experiments.reproduce import load_study
from aggopt.partition import _mhm as far_pairs
from aggopt.partition import _mhm as orders
from aggopt.partition import _mhm as rings
from aggopt.partition import cbfs, mdav, mhm

ORDERS = "mdav", "cbfs", "md", "npn", "tsp"
GROUPINGS = {
    "npn": lambda X, k: np.arange(len(X)),
    "mdav": reference.mdav,
    "cbfs": reference.cbfs,
    "md": slow.md,
}
MHM = load_study("domingo-ferrer2006").table("IL")
PUBLISHED = {  # k = 3, 5, 10
    (order, name.lower()): figures
    for order in ("mdav", "npn")
    for name, figures in MHM.values(f"{order.upper()}-MHM").items()
}
MEASURED = {  # ours, k = 3, 4, 5, 10
    ("mdav", "tarragona"): (15.9515, 19.4121, 21.8244, 33.1171),
    ("mdav", "census"): (5.5567, 7.3722, 8.8789, 14.0211),
    ("mdav", "eia"): (0.3974, 0.5947, 1.0954, 3.4259),
    ("npn", "tarragona"): (15.8588, 20.7204, 25.1489, 38.4950),
    ("npn", "census"): (6.1687, 8.6473, 10.8248, 18.6539),
    ("npn", "eia"): (0.4633, 0.6570, 0.9546, 2.1459),
}


def unheard(share: float) -> None:
    pass


def paths(X, k: int, order: str, starts: int) -> list[list[int]]:
    found = orders.list_paths(X.astype(float), k, order, starts, unheard)
    return [path.tolist() for path in found]


@pytest.mark.parametrize("order", GROUPINGS)
@given(X=grids(1) | grids(2) | grids(100), data=st.data())
@examples(40)
def test_paths_on_grids_full_of_ties(order: str, X, data) -> None:
    k = data.draw(st.integers(1, 6).filter(lambda k: 2 * k <= max(2, len(X))))
    k = min(k, len(X))
    labels = GROUPINGS[order](X, k)
    assert paths(X, k, order, 3) == slow.nearest_point_next(X, labels, 3)


@pytest.mark.parametrize("order", GROUPINGS)
@pytest.mark.parametrize("widest", [1, 3, 40])
def test_paths_through_many_boxes(order: str, widest: int) -> None:
    X = np.random.default_rng(widest).integers(-widest, widest + 1, size=(250, 3))
    labels = GROUPINGS[order](X, 4)
    assert paths(X, 4, order, 2) == slow.nearest_point_next(X, labels, 2)


@pytest.mark.parametrize("order", GROUPINGS)
def test_a_look_at_ctrl_c_after_each_step_changes_nothing(
    order: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    X = np.random.default_rng(0).integers(0, 3, size=(100, 2))
    whole = paths(X, 3, order, 2)
    monkeypatch.setattr(orders, "CHUNK", 0)
    monkeypatch.setattr(far_pairs, "LOOKS", 1)
    assert paths(X, 3, order, 2) == whole


def md(X, k: int):
    return far_pairs.partition_by_md(X.astype(float), k, unheard)


@given(X=grids(1) | grids(2) | grids(100), data=st.data())
@examples(60)
def test_md_on_grids_full_of_ties(X, data) -> None:
    k = data.draw(st.integers(1, max(1, min(len(X) // 2, 8))))
    assert (md(X, k) == slow.md(X, k)).all()


@pytest.mark.parametrize("seed", range(6))
def test_md_on_large_grids_full_of_ties(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.integers(-1 - seed, 2 + seed, size=(200, 2))
    assert (md(X, 1 + seed) == slow.md(X, 1 + seed)).all()


@pytest.mark.parametrize("seed", range(3))
def test_md_on_skewed_records(seed: int) -> None:
    X = np.random.default_rng(seed).lognormal(sigma=2, size=(200, 4))
    assert (md(X, 3) == slow.md(X, 3)).all()


def tour(X):
    """The places of records, the path that a tour came from, and the tour."""
    before = np.array(slow.nearest_point_next(X, np.arange(len(X)), 1)[0])
    near = rings.find_places(X, before)
    return near, before, rings.shorten_tour(near, before)


TOURED = {
    "normal": np.random.default_rng(0).normal(size=(40, 3)),
    "clusters": np.random.default_rng(1).normal(size=(40, 2)) ** 5,
    "grid": np.random.default_rng(2).integers(0, 6, size=(60, 2)) + 0.0,
    "line": np.random.default_rng(3).permutation(40)[:, None] + 0.0,
    **{
        f"{n} records": np.random.default_rng(n).normal(size=(n, 2))
        for n in range(2, 9)
    },
}


@pytest.mark.parametrize("neighbours", [2, 10])
@pytest.mark.parametrize("name", TOURED)
def test_no_small_change_shortens_a_tour(
    name: str, neighbours: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rings, "NEAR", neighbours)
    near, before, path = tour(TOURED[name])
    order = near.place_of[path][np.append(True, np.diff(near.place_of[path]) != 0)]
    least = slow.length(order, near.records)
    assert sorted(path) == list(range(len(before)))
    assert sorted(order) == list(range(len(near.records)))
    assert least <= slow.length(before, TOURED[name]) * (1 + 1e-12)
    for other in slow.shorter(order, near.records, near.near):
        assert sorted(other) == sorted(order)
        assert slow.length(other, near.records) > least - 1e-8


def test_a_tour_is_much_shorter_than_its_path() -> None:
    X = np.random.default_rng(0).normal(size=(300, 2))
    _, before, path = tour(X)
    assert slow.length(path, X) < 0.9 * slow.length(before, X)


def test_places_are_joined_to_their_nearest() -> None:
    X = np.random.default_rng(0).integers(0, 12, size=(900, 3)) + 0.0
    near, _, _ = tour(X)
    distances = ((near.records[:, None] - near.records) ** 2).sum(axis=2)
    np.fill_diagonal(distances, np.inf)
    nearest = distances.argsort(axis=1, kind="stable")
    assert len(np.unique(near.records, axis=0)) == len(near.records) > 500
    assert (near.near == nearest[:, : near.near.shape[1]]).all()


@pytest.mark.parametrize("order", ORDERS)
def test_duplicates_by_the_thousand(order: str) -> None:
    X = np.random.default_rng(0).integers(0, 3, size=(3000, 2)) + 0.0
    labels = mhm(X, 7, order=order)
    assert np.bincount(labels).min() >= 7
    if order in ("npn", "tsp"):
        assert loss(X, labels) == 0.0
    else:  # a group of the heuristic may hold the last copies of one record and others
        assert loss(X, labels) < 0.4


@pytest.mark.parametrize("starts", [1, 3])
@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize(("order", "f"), [("mdav", mdav), ("cbfs", cbfs)])
def test_no_more_is_lost_than_with_the_groups_on_the_path(
    order: str, f, k: int, starts: int
) -> None:
    for seed in range(15):
        rng = np.random.default_rng(seed)
        X = rng.integers(0, 9, size=(rng.integers(2 * k, 120), 3)) + 0.0
        ours = loss(X, mhm(X, k, order=order, starts=starts, scale="none"))
        assert ours <= loss(X, f(X, k, scale="none")) * (1 + 1e-12)


@pytest.mark.parametrize("order", ORDERS)
def test_more_starts_lose_no_more(order: str) -> None:
    X = np.random.default_rng(0).normal(size=(200, 3))
    one, two, eight = (loss(X, mhm(X, 3, order=order, starts=s)) for s in (1, 2, 8))
    assert eight <= two <= one
    assert (mhm(X, 3, order=order) == mhm(X, 3, order=order, starts=8)).all()


@pytest.mark.parametrize("at", range(3), ids=["k3", "k5", "k10"])
@pytest.mark.parametrize(("order", "name"), PUBLISHED)
def test_less_is_lost_than_published(order: str, name: str, at: int) -> None:
    Z, k = z_scores(name), (3, 5, 10)[at]
    assert loss(Z, mhm(Z, k, order=order)) < PUBLISHED[order, name][at]


@pytest.mark.parametrize("at", range(4), ids=["k3", "k4", "k5", "k10"])
@pytest.mark.parametrize(("order", "name"), MEASURED)
def test_as_much_is_lost_as_measured(order: str, name: str, at: int) -> None:
    Z, k = z_scores(name), (3, 4, 5, 10)[at]
    expected = pytest.approx(MEASURED[order, name][at], abs=5.1e-5)
    assert loss(Z, mhm(Z, k, order=order)) == expected


@pytest.mark.parametrize("name", ["tarragona", "census", "eia"])
def test_the_tour_loses_much_less_at_k3(name: str) -> None:
    Z = z_scores(name)
    assert loss(Z, mhm(Z, 3, order="tsp")) < 0.92 * loss(Z, mdav(Z, 3))


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("n", [2, 10, 1000])
def test_progress_grows_to_one_in_few_calls(order: str, n: int) -> None:
    shares: list[float] = []
    X = np.random.default_rng(0).normal(size=(n, 2))
    mhm(X, 2, order=order, progress=shares.append)
    assert shares == sorted(shares)
    assert shares[0] >= 0.0
    assert shares[-1] == 1.0
    assert len(shares) <= 40


def test_progress_changes_nothing_and_may_stop_the_work() -> None:
    def stop(share: float) -> None:
        raise KeyboardInterrupt

    X = np.random.default_rng(0).normal(size=(100, 2))
    assert (mhm(X, 3, progress=unheard) == mhm(X, 3)).all()
    for order in ORDERS:
        with pytest.raises(KeyboardInterrupt):
            mhm(X, 3, order=order, progress=stop)


@pytest.mark.parametrize("order", ORDERS)
def test_memory_grows_as_the_records_and_not_as_their_pairs(order: str) -> None:
    X = np.random.default_rng(0).normal(size=(4000, 5))
    mhm(X[:100], 50, order=order, starts=1)  # compiles
    tracemalloc.start()
    mhm(X, 50, order=order, starts=1)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 12 * X.nbytes
    assert 12 * X.nbytes < 4000**2 * 8 / 50


@pytest.mark.parametrize("starts", [0, -1, 2.0, True, "8"])
def test_unusable_starts_are_refused(starts) -> None:
    with refused(JobError):
        mhm([[1.0], [2.0]], 1, starts=starts)


@pytest.mark.parametrize("option", [{"order": "tps"}, {"order": None}, {"scale": "zz"}])
def test_unknown_names_are_refused(option: dict[str, str]) -> None:
    with refused(UnknownNameError):
        mhm([[1.0], [2.0]], 1, **option)
