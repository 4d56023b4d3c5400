"""What local search does that other partitioners need not."""

import _thread
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from partition import exact
from partition.obeyed import ON_ANY_RECORDS, obeys
from refusals import refused

from aggopt.core.deadline import Deadline
from aggopt.core.record_weights import compute_sse
from aggopt.errors import JobError, UnknownNameError
from aggopt.partition import mdav
from aggopt.partition import neighbours as near_module
from aggopt.partition._local_search import local_search as effort
from aggopt.partition._local_search import search as searching
from aggopt.partition._local_search.local_search import local_search
from aggopt.partition._local_search.search import (
    Collection,
    anneal_labels,
    improve_labels,
)
from aggopt.partition.neighbours import find_neighbours
from aggopt.partition.shared.neighbour_bound import loss_bound
from aggopt.solvers import Status

RNG = np.random.default_rng(6)
NORMAL = RNG.normal(size=(150, 4))
EDGES = {
    "normal": NORMAL,
    "n is k": NORMAL[:4],
    "n is 2k - 1": NORMAL[:7],
    "n is 2k": NORMAL[:8],
    "one attribute": NORMAL[:, :1],
    "constant attribute": np.insert(NORMAL, 1, 7.0, axis=1),
    "identical records": np.full((61, 3), 0.1),
    "duplicates by the thousand": RNG.permutation(np.repeat(NORMAL[:3], 1001, axis=0)),
    "grid full of ties": RNG.integers(0, 2, size=(200, 3)).astype(float),
    "tiny beside huge": NORMAL * [1e-12, 1.0, 1e12, 1.0],
    "near the largest float": np.sign(NORMAL) * 8e307,
    "at the smallest float": np.where(NORMAL > 0, 5e-324, 0.0),
    "more attributes than records": RNG.normal(size=(9, 40)),
}


def partitions(n: int, k: int):
    for parts in exact.partitions(list(range(n)), k):
        labels = np.empty(n, int)
        for g, members in enumerate(parts):
            labels[members] = g
        yield labels


def standardised(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


@pytest.mark.parametrize("scale", ["z", "none"])
@pytest.mark.parametrize("edge", EDGES)
def test_at_the_edges(edge, scale) -> None:
    obeys(partial(local_search, effort="fast", scale=scale), EDGES[edge], 4)


@pytest.mark.parametrize("k", [1, 2, 9, 74, 75, 76, 150])
def test_for_any_k(k) -> None:
    obeys(local_search, NORMAL, k, ON_ANY_RECORDS[:2])


@pytest.mark.parametrize(
    "law",
    [
        "container_does_not_matter",
        "copies_stay_together",
        "impossible_k_is_refused",
        "unusable_records_are_refused",
        "constant_attribute_does_not_matter",
    ],
)
def test_laws(law) -> None:
    obeys(local_search, NORMAL[:40], 3, [law])


@pytest.mark.parametrize("seed", range(6))
def test_tiny_tables_are_solved_and_bounded(seed) -> None:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, size=(9, 2)) + (seed % 2) * rng.normal(size=(9, 2))
    for k in (2, 3, 4):
        losses = [compute_sse(X, labels) for labels in partitions(9, k)]
        found = local_search(X, k, effort="best", scale="none").certificate
        assert found.objective == pytest.approx(min(losses), abs=1e-9)
        assert found.bound == pytest.approx(loss_bound(X, k, scale="none"))
        assert 0 <= loss_bound(X, k, scale="none") <= min(losses) + 1e-12


def test_the_bound_is_met_where_records_are_equally_far() -> None:
    assert loss_bound(np.eye(6), 6, scale="none") == pytest.approx(5.0)
    assert loss_bound(np.eye(6), 3, scale="none") == pytest.approx(4.0)
    assert loss_bound(NORMAL, 1) == 0.0
    wide = np.hstack([NORMAL, np.zeros((150, 30))])
    bounds = [loss_bound(records, 5, bound="none") for records in (wide, NORMAL)]
    assert bounds[0] == pytest.approx(bounds[1])


@pytest.mark.parametrize("initial", ["cbfs", "mdav", "mhm", "projection", "vmdav"])
def test_no_start_is_made_worse(initial) -> None:
    first = local_search(NORMAL, 3, initial=initial, time_limit=0)
    then = local_search(NORMAL, 3, initial=initial, effort="fast")
    assert first.certificate.status is Status.LIMIT
    assert then.certificate.objective < first.certificate.objective
    assert then.certificate.status is Status.LOCAL
    assert then.certificate.objective == pytest.approx(
        compute_sse(standardised(NORMAL), then.labels)
    )


def test_a_method_and_labels_to_begin_with_are_not_both_taken() -> None:
    with refused(JobError, "'mdav'", "initial_labels"):
        local_search(
            np.arange(12.0)[:, None],
            3,
            initial="mdav",
            initial_labels=np.arange(12) // 3,
        )


def test_the_best_is_kept() -> None:
    best = local_search(NORMAL[:20], 4, effort="best")
    other = best.max() - best.labels
    again = local_search(NORMAL[:20], 4, initial_labels=other)
    assert again.certificate.status is Status.KEPT
    assert (again.labels == best).all()


def test_labels_of_large_groups_are_split() -> None:
    labels = local_search(NORMAL, 3, initial_labels=np.zeros(150, int))
    assert np.bincount(labels).max() < 6


def test_more_effort_loses_less() -> None:
    few = NORMAL[:90]
    losses = [
        compute_sse(few, local_search(few, 9, effort=e, scale="none"))
        for e in ("fast", "default", "best")
    ]
    assert losses == sorted(losses, reverse=True)


def test_labels_are_numbered_by_first_records() -> None:
    labels = local_search(NORMAL, 3)
    _, first = np.unique(labels, return_index=True)
    assert (np.diff(first) > 0).all()


def test_time_is_kept(ticking) -> None:
    shares: list[float] = []
    found = local_search(NORMAL, 9, time_limit=0.2, progress=shares.append)
    assert found.certificate.status is Status.LIMIT
    assert 0.2 <= ticking.at < 0.3
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_ctrl_c_returns_the_best_so_far(monkeypatch) -> None:
    def interrupt(*_) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(searching.Search, "perturb", interrupt)
    with pytest.warns(UserWarning, match="interrupted: these are its best groups"):
        found = local_search(NORMAL, 3)
    assert found.interrupted
    assert found.certificate.status is Status.INTERRUPTED
    assert found.loss < mdav(NORMAL, 3).loss


@pytest.mark.filterwarnings("ignore:The search was interrupted")
def test_ctrl_c_is_heard_within_the_search(ticking) -> None:
    pressed = []

    def once(share: float) -> None:
        if share > 0.01 and not pressed:
            pressed.append(share)
            _thread.interrupt_main()

    found = local_search(NORMAL, 3, time_limit=10, progress=once)
    assert found.certificate.status is Status.INTERRUPTED
    assert ticking.at < 8


@pytest.mark.parametrize(
    "options",
    [
        {"initial": "mdva"},
        {"initial": mdav(NORMAL, 5)},
        {"effort": "bets"},
        {"scale": "zz"},
        {"time_limit": -1},
        {"time_limit": np.nan},
        {"time_limit": 10**5000},
        {"progress": 3},
        {"time_limit": True},
        {"time_limit": 1, "effort": "best"},
        {"seed": -1},
        {"seed": 0.5},
        {"initial_labels": np.arange(150) // 2},
        {"initial_labels": np.zeros(3, int)},
    ],
)
def test_what_cannot_be_used_is_refused(options) -> None:
    with refused((JobError, UnknownNameError)):
        local_search(NORMAL, 3, **options)


def test_neighbours_are_the_nearest_others() -> None:
    for Z in (NORMAL, np.hstack([NORMAL, RNG.normal(size=(150, 20))])):
        apart = ((Z[:, None] - Z) ** 2).sum(axis=2) + np.diag(np.full(150, np.inf))
        assert (find_neighbours(Z, 7) == apart.argsort(axis=1)[:, :7]).all()


@pytest.mark.parametrize("count", [1, 5, 12, 600])
def test_neighbours_lead_away_from_duplicates(count) -> None:
    Z = RNG.permutation(np.repeat(NORMAL[:30], 100, axis=0))
    near = find_neighbours(Z, count)
    assert near.shape == (3000, count)
    assert (near != np.arange(3000)[:, None]).all()
    places = {len(np.unique(Z[row], axis=0)) for row in near[:50]}
    assert min(places) >= min(30, -(-count // 2))


def test_groups_of_a_search_are_collected_once() -> None:
    near, pool = find_neighbours(NORMAL, 10), Collection(150)
    labels = improve_labels(
        NORMAL,
        mdav(NORMAL, 4),
        4,
        near,
        perturbations=30,
        seed=0,
        clock=Deadline(None),
        pool=pool,
    )
    start, who = pool.groups()
    met = [tuple(who[a:b]) for a, b in pairwise(start)]
    assert len(set(met)) == len(pool) > 60
    assert all(4 <= len(g) < 8 and sorted(set(g)) == list(g) for g in met)
    pool.add(labels)
    again = Collection(150)
    again.add(labels)
    again.add(labels)
    assert len(again) == labels.max() + 1


def test_a_collection_grows() -> None:
    pool = Collection(40_000)
    for shift in range(3):
        pool.add((np.arange(40_000) + shift) % 20_000)
    assert len(pool) == 60_000 - 40_000  # the same groups each time
    pool.add(np.arange(40_000) // 2)
    assert len(pool) == 40_000
    start, who = pool.groups()
    assert (np.diff(start) == 2).all()
    assert (who[-2:] == [39_998, 39_999]).all()


def test_annealing_keeps_sizes_and_repeats_itself() -> None:
    near = find_neighbours(NORMAL, 10)
    found = [
        anneal_labels(
            NORMAL,
            mdav(NORMAL, 9),
            9,
            near,
            proposals=300,
            seed=s,
            clock=Deadline(None),
        )
        for s in (0, 0, 1)
    ]
    assert (found[0] == found[1]).all()
    assert (found[0] != found[2]).any()
    assert {*np.bincount(found[0])} <= {*range(9, 18)}
    assert compute_sse(NORMAL, found[0]) < compute_sse(NORMAL, mdav(NORMAL, 9))


def many(n=6000, d=3):
    X = np.random.default_rng(3).normal(size=(n, d))
    X[-50:] = X[:50]
    return X


def test_neighbours_of_many_are_nearly_the_nearest(monkeypatch) -> None:
    found = find_neighbours(many(), 12)
    monkeypatch.setattr(near_module, "EXACT", 10_000)
    exact = find_neighbours(many(), 12)
    shared = [len({*a} & {*b}) / 12 for a, b in zip(found, exact, strict=True)]
    assert found.shape == exact.shape
    assert np.mean(shared) > 0.98
    assert (found[:50, 0] == np.arange(5950, 6000)).all()


@pytest.mark.parametrize("n", [4000, 6000])
def test_without_time_for_neighbours_the_start_is_returned(n) -> None:
    X, start = many(n), np.arange(n) // 4
    none = find_neighbours(X, 5, Deadline(0.0))
    assert (none == np.arange(n)[:, None]).all(axis=1).mean() > 0.8
    assert none.min() >= 0
    found = local_search(X, 3, initial_labels=start, time_limit=1e-9).certificate
    assert found.status is Status.LIMIT
    assert found.objective == pytest.approx(compute_sse(standardised(X), start))


def test_neighbours_keep_the_time(ticking) -> None:
    X, start = many(20_000, 15), np.arange(20_000) // 4
    local_search(X, 3, initial_labels=start, time_limit=0.02)
    assert 0.02 <= ticking.at < 0.2


@pytest.mark.filterwarnings("ignore:The search was interrupted")
@pytest.mark.parametrize("step", ["find_neighbours", "Search", "compute_sse"])
def test_ctrl_c_after_the_start_returns_groups(step, monkeypatch) -> None:
    pressed, real = [], getattr(effort, step)

    def interrupt(*given, **options):
        if not pressed:
            pressed.append(step)
            raise KeyboardInterrupt
        return real(*given, **options)

    monkeypatch.setattr(effort, step, interrupt)
    start = np.arange(150) // 3
    found = local_search(NORMAL, 3, initial_labels=start)
    assert found.certificate.status is Status.INTERRUPTED
    assert pressed
    assert compute_sse(NORMAL, found.labels) <= compute_sse(NORMAL, start)
