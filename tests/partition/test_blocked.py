"""Blocks of records, and the search across their borders: small ones, by force."""

import signal
import warnings
from _thread import interrupt_main
from functools import partial
from itertools import count
from time import sleep

import numpy as np
import pytest
from partition.obeyed import obeys
from refusals import refused
from scipy.spatial import cKDTree

from aggopt.core.deadline import Deadline
from aggopt.core.parallel import ThreadPool
from aggopt.errors import InfeasibleInputError, JobError, UnknownNameError
from aggopt.partition import _blocked_search as improve
from aggopt.partition import blocked, local_search, mdav
from aggopt.partition._blocked_search import (
    GroupMap,
    find_first_records,
    search_regions,
)
from aggopt.partition._local_search.search import anneal_labels
from aggopt.partition.spatial_order import find_near, sort_in_space, split_in_parts
from aggopt.solvers import Status

RNG = np.random.default_rng(6)
X = RNG.normal(size=(300, 4)) + 4 * RNG.integers(0, 3, size=(300, 1))
small = partial(blocked, block_size=40, effort="fast")


def sse(X, labels):
    Z = (X - X.mean(axis=0)) / np.where(np.ptp(X, axis=0) > 0, X.std(axis=0), 1.0)
    groups = (Z[labels == g] for g in range(labels.max() + 1))
    return sum(((group - group.mean(axis=0)) ** 2).sum() for group in groups)


@pytest.fixture
def regions_of_70(monkeypatch):
    monkeypatch.setattr(improve, "REGION", 70)
    monkeypatch.setattr(improve, "REGIONS", 1000)


@pytest.mark.parametrize("k", [2, 3, 9, 20])
def test_laws_on_any_records(k, regions_of_70):
    obeys(small, X, k)
    obeys(small, np.floor(X), k)


@pytest.mark.parametrize(
    "law",
    [
        "container_does_not_matter",
        "impossible_k_is_refused",
        "unusable_records_are_refused",
    ],
)
def test_laws_without_near_ties(law):
    obeys(small, X, 3, [law])


@pytest.mark.parametrize(
    "law",
    [
        "order_of_attributes_does_not_matter",
        "units_do_not_matter",
        "constant_attribute_does_not_matter",
    ],
)
def test_laws_of_blocks_alone(law):
    # the search keeps what is not worse, of which rounding has a say
    obeys(partial(blocked, block_size=40, time_limit=0), X, 3, [law])


@pytest.mark.parametrize("k", [3, 8])
def test_neither_jobs_nor_a_second_run_change_the_groups(k, regions_of_70):
    labels = small(X, k, seed=5)
    for jobs in (1, 2, 3):
        assert (small(X, k, seed=5, jobs=jobs) == labels).all()
    assert (small(X, k, seed=6) != labels).any()


@pytest.mark.parametrize(
    ("inner", "k"),
    [
        *[("mdav", k) for k in (2, 3, 5, 8, 12)],
        *[(inner, 3) for inner in ("cbfs", "projection", "vmdav")],
    ],
)
def test_a_search_loses_less_than_blocks_and_mdav(inner, k, regions_of_70):
    blocks, fast, more = (
        sse(X, blocked(X, k, inner=inner, block_size=40, **how))
        for how in ({"time_limit": 0}, {"effort": "fast"}, {"effort": "default"})
    )
    assert fast < blocks
    assert more < min(1.02 * fast, blocks, sse(X, mdav(X, k)))


def test_groups_that_a_border_cuts_are_mended(regions_of_70):
    place = 100.0 * RNG.normal(size=(33, 3))  # 99 halved and halved: no part is whole
    order = RNG.permutation(99)
    clustered = np.repeat(place, 3, axis=0)[order] + RNG.normal(size=(99, 3))
    assert sse(clustered, blocked(clustered, 3, block_size=12, time_limit=0)) > 1.0
    assert sse(clustered, blocked(clustered, 3, block_size=12)) < 0.1


def test_labels_are_numbered_in_the_order_of_first_records():
    labels = small(X, 3)
    _, first = np.unique(labels, return_index=True)
    assert (np.diff(first) > 0).all()


@pytest.mark.parametrize("n", [1, 2, 5, 6, 7, 11, 12])
@pytest.mark.parametrize("k", [1, 2, 3, 6])
def test_few_records(n, k):
    if k > n:
        return
    sizes = np.bincount(blocked(X[:n], k, block_size=2 * k))
    assert k <= sizes.min() <= sizes.max() <= 2 * k - 1
    assert len(sizes) == 1 or n >= 2 * k


def test_k_of_half_the_records_and_more():
    assert np.bincount(blocked(X, 150)).tolist() == [150, 150]
    assert (blocked(X, 151) == 0).all()
    assert blocked(X, 151).certificate.status is Status.OPTIMAL
    with refused(InfeasibleInputError, "k = 301", "300"):
        blocked(X, 301)


def test_copies_by_the_thousand_and_constant_attributes():
    assert np.bincount(blocked(np.ones((5000, 3)), 3, effort="fast")).max() <= 5
    copies = np.repeat([[0.0, 1.0, 7.0], [1.0, 1.0, 7.0], [5.0, 0.0, 7.0]], 999, axis=0)
    labels = blocked(copies, 3, effort="fast", block_size=100)
    assert sse(copies, labels) < 1e-3 * copies.size


def test_time_that_is_over_leaves_the_blocks():
    found = blocked(X, 3, block_size=80, time_limit=0)
    assert found.certificate.status is Status.LIMIT
    with ThreadPool(1) as threads:
        Z = (X - X.mean(axis=0)) / X.std(axis=0)
        rows, who = sort_in_space(Z, 64, threads)
    for part in split_in_parts(300, 80):
        of_block = found.labels[who[part]]
        by_itself = mdav(rows[part], 3, scale="none")
        assert (
            find_first_records(np.unique(of_block, return_inverse=True)[1])
            == find_first_records(by_itself)
        ).all()


@pytest.mark.parametrize("k", [3, 9])
def test_the_search_goes_on_while_there_is_time(k, regions_of_70, ticking):
    found = blocked(X, k, block_size=80, time_limit=1.0, jobs=1)
    assert found.certificate.status is Status.LIMIT
    assert 1.0 <= found.certificate.seconds < 1.2
    assert found.certificate.objective <= sse(X, small(X, k))


@pytest.mark.parametrize(
    ("k", "n", "size", "seconds"), [(3, 1000, 200, 0.6), (9, 800, 200, 1.0)]
)
def test_a_short_time_is_shared_by_all_regions(
    k, n, size, seconds, regions_of_70, monkeypatch, ticking
):
    rows = np.random.default_rng(n).normal(size=(n, 4))
    monkeypatch.setitem(improve.LARGE, "best", improve.RegionEffort(1, 8, 10**6))
    annealed, real = set(), improve.anneal_and_descend_region

    def noted(*given):
        annealed.update(map(tuple, given[-1].rows.tolist()))
        return real(*given)

    monkeypatch.setattr(improve, "anneal_and_descend_region", noted)
    found = blocked(rows, k, block_size=size, time_limit=seconds, jobs=1)
    assert found.certificate.status is Status.LIMIT
    blocks = sse(rows, blocked(rows, k, block_size=size, time_limit=0))
    assert found.certificate.objective < (0.9 if k < 8 else 0.95) * blocks
    assert len(annealed) < n if k < 8 else len(annealed) == n


def test_regions_are_cut_anew_while_they_are_annealed(monkeypatch, regions_of_70):
    best = {"k": 8, "block_size": 40, "effort": "default"}
    often = [sse(X, blocked(X, seed=seed, **best)) for seed in range(3)]
    monkeypatch.setattr(improve, "ROUND", 10**6)
    once = [sse(X, blocked(X, seed=seed, **best)) for seed in range(3)]
    assert sum(often) < 0.99 * sum(once)


@pytest.mark.parametrize(
    ("proposals", "several", "limit", "rounds"),
    [
        (0, True, None, 0),
        (1, True, None, 1),
        (64, True, None, 1),
        (65, True, None, 2),
        (1000, True, None, 16),
        (1000, False, None, 1),
        (1000, True, 60.0, 1),
        (0, True, 60.0, 0),
    ],
    ids=[
        "no annealing",
        "one proposal",
        "one round",
        "one more",
        "default",
        "one region",
        "a limit of time",
        "a limit and no annealing",
    ],
)
def test_rounds_of_64_proposals(proposals, several, limit, rounds):
    how = improve.RegionEffort(0, 8, proposals)
    assert improve._count_rounds(how, several, Deadline(limit)) == rounds


@pytest.mark.parametrize("ends", ["well", "interrupted"])
def test_annealing_that_makes_it_worse_is_taken_back(ends, monkeypatch, regions_of_70):
    def worse(*given):
        n = len(given[-1].rows)
        return np.arange(n) % (n // 8)

    def stopped(*given):
        raise KeyboardInterrupt

    last = worse if ends == "well" else stopped
    monkeypatch.setattr(improve, "anneal_region", worse)
    monkeypatch.setattr(improve, "anneal_and_descend_region", last)
    monkeypatch.setattr(improve, "descend_region", lambda *given: given[-1].labels)
    first = mdav(X, 8).labels
    with warnings.catch_warnings(action="ignore"):
        found = blocked(X, 8, effort="fast", initial_labels=first)
    assert sse(X, found.labels) == pytest.approx(sse(X, first))
    assert found.interrupted == (ends == "interrupted")


def test_groups_are_loosened_before_they_are_annealed():
    rows = RNG.normal(size=(2000, 3))
    with ThreadPool(1) as threads:
        near = find_near(rows, 8, threads)
    tight, how = np.arange(2000) // 10, {"seed": 1, "clock": Deadline(None)}
    for spare, groups in ((0.0, 200), (0.25, 195), (1.0, 181)):
        found = anneal_labels(rows, tight, 10, near, proposals=1, spare=spare, **how)
        assert np.bincount(found).min() >= 10
        assert found.max() + 1 == groups


def test_the_certificate_holds():
    found = blocked(X, 3, block_size=40, effort="fast")
    assert (found.labels == small(X, 3)).all()
    certificate = found.certificate
    assert certificate.status is Status.LOCAL
    assert certificate.objective == pytest.approx(sse(X, found.labels))
    assert 0 < certificate.bound < certificate.objective
    copies = blocked(np.repeat(X[:9], 3, axis=0), 3).certificate
    assert copies.status is Status.OPTIMAL


@pytest.mark.parametrize("unit", [2.0**-600, 2.0**900])
def test_very_small_and_very_large_units(unit):
    labels = small(X, 3, scale="none")
    assert (small(unit * X, 3, scale="none") == labels).all()


def test_progress_grows_to_the_end():
    progress = []
    blocked(X, 3, block_size=40, progress=progress.append)
    assert progress == sorted(progress)
    assert progress[-1] == 1.0
    assert 5 < len(progress) < 50


def test_an_interrupt_returns_the_best_so_far():
    def interrupt(share):
        if share > 0.5:
            raise KeyboardInterrupt

    blocks = sse(X, blocked(X, 3, block_size=40, time_limit=0))
    with pytest.warns(UserWarning, match="interrupted: these are its best groups"):
        found = blocked(X, 3, block_size=40, progress=interrupt)
    assert found.sizes.min() >= 3
    assert sse(X, found) < blocks
    assert found.interrupted
    assert found.certificate.status is Status.INTERRUPTED


def test_an_interrupt_before_there_are_groups_and_errors_of_a_listener_go_through():
    for error, after in ((KeyboardInterrupt, 0.0), (ZeroDivisionError, 0.5)):

        def listener(share, error=error, after=after):
            if share > after:
                raise error

        with pytest.raises(error):
            blocked(X, 3, block_size=40, progress=listener)


@pytest.mark.filterwarnings("ignore:The search was interrupted")
def test_ctrl_c_at_any_moment_leaves_groups_or_is_raised():
    rows = RNG.normal(size=(2000, 4))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    ended = []
    try:
        for moment in (0, 1, 5, 9):
            looks = count()

            def press(share, looks=looks, moment=moment):
                if next(looks) == moment:
                    interrupt_main()

            try:
                certified = blocked(rows, 3, effort="best", progress=press)
                sizes = np.bincount(certified.labels)
                assert (sizes.sum(), sizes.min(), sizes.max() < 6) == (2000, 3, True)
                ended.append(certified.certificate.status)
            except KeyboardInterrupt:
                ended.append(None)
    finally:
        signal.signal(signal.SIGINT, before)
    assert ended[0] is None  # while there were no groups
    assert ended[-1] is Status.INTERRUPTED
    assert set(ended) == {None, Status.INTERRUPTED}


@pytest.mark.parametrize(
    "wrong",
    [
        {"block_size": 5},
        {"block_size": 40.0},
        {"jobs": 0},
        {"jobs": -1},
        {"seed": -1},
        {"time_limit": -1},
        {"time_limit": np.inf},
        {"time_limit": "1"},
        {"time_limit": 1, "effort": "fast"},
    ],
)
def test_wrong_options_say_what_to_do(wrong):
    with refused(JobError):
        blocked(X, 3, **wrong)


@pytest.mark.parametrize(
    "wrong", [{"inner": "mdva"}, {"effort": "high"}, {"scale": "y"}]
)
def test_unknown_names_say_what_is_known(wrong):
    with refused(UnknownNameError):
        blocked(X, 3, **wrong)


@pytest.mark.parametrize("n", [1, 2, 63, 64, 65, 1000])
@pytest.mark.parametrize("size", [1, 10, 64])
def test_parts_are_halves_of_halves(n, size):
    found = split_in_parts(n, size)
    assert np.concatenate([np.arange(n)[p] for p in found]).tolist() == list(range(n))
    lengths = [p.stop - p.start for p in found]
    assert max(lengths) <= size
    assert len(found) == 1 or min(lengths) >= size // 2


@pytest.mark.parametrize("turns", [0, 8])
def test_the_order_in_space_brings_near_records_together(turns):
    rows = RNG.normal(size=(1024, 2))
    with ThreadPool(2) as threads:
        moved, who = sort_in_space(rows, 16, threads, turns=turns)
    assert sorted(who) == list(range(1024))
    assert (moved == rows[who]).all()
    spread = np.mean([np.ptp(moved[p], axis=0).max() for p in split_in_parts(1024, 16)])
    assert spread < 0.3 * np.ptp(rows, axis=0).mean()


def test_near_ones_are_the_nearest_with_few_exceptions():
    with ThreadPool(2) as threads:
        rows, _ = sort_in_space(RNG.normal(size=(3000, 5)), 64, threads)
        near = find_near(rows, 8, threads, part=256)
        few = find_near(rows[:4], 8, threads)
    exact = cKDTree(rows).query(rows, 9)[1][:, 1:]
    right = [len(set(a) & set(b)) for a, b in zip(near, exact, strict=True)]
    assert np.mean(right) > 0.85 * 8
    assert (near != np.arange(3000)[:, None]).all()
    assert all(set(row) == set(range(4)) for row in few)


def test_lists_of_copies_lead_elsewhere():
    rows = np.repeat([[0.0], [1.0], [3.0]], 50, axis=0)
    with ThreadPool(1) as threads:
        near = find_near(rows, 6, threads)
    assert all(set(rows[row, 0]) == {0.0, 1.0, 3.0} for row in near)


def piles(n: int) -> np.ndarray:
    """Return records at 36 places, few of them with most of the records."""
    draw = np.random.default_rng(0).choice
    sizes = ([0.7, 0.2, 0.1], [0.6, 0.25, 0.1, 0.05], [0.8, 0.15, 0.05])
    return np.column_stack([draw(len(p), n, p=p) for p in sizes]).astype(float)


def test_piles_of_equal_records_are_searched_by_place():
    rows = piles(4000)
    found = blocked(rows, 5)
    whole = local_search(rows, 5, effort="fast")
    assert found.loss <= 1.05 * whole.loss
    assert mdav(rows, 5).loss > 4 * whole.loss  # who cuts through piles


@pytest.mark.parametrize("times", [1.5, 1.9, 2.0, 6.0])
def test_places_are_searched_from_two_records_a_place_on(times, monkeypatch):
    asked = []

    def near(rows, *given, **named):
        asked.append(len(rows))
        return find_near(rows, *given, **named)

    monkeypatch.setattr(improve, "find_near", near)
    places = RNG.normal(size=(60, 2))
    rows = places[np.arange(int(60 * times)) % 60]
    found = blocked(rows, 3)
    assert asked == [60 if times >= 2 else len(rows)]
    assert found.sizes.min() >= 3


def test_each_record_has_one_turn_in_a_sweep():
    turns = []

    def search(region):
        turns.extend(region.rows[region.turn, 2])
        assert (region.near < len(region.rows)).all()
        assert len(region.rows) < 250
        return region.labels

    rows = np.column_stack([RNG.normal(size=(1000, 2)), np.arange(1000)])
    with ThreadPool(1) as threads:
        near = find_near(rows[:, :2].copy(), 5, threads)
        first = np.arange(1000) // 4 * 4
        where = GroupMap(rows, near, first.copy())
        search_regions(where, (search, search), threads, size=100, seed=3)
    assert sorted(turns) == list(range(1000))
    assert (where.first == first).all()


def test_a_crew_keeps_the_order_and_ends_with_an_error():
    with ThreadPool(3) as threads:
        assert threads.map(lambda part: part**2, range(50)) == [p**2 for p in range(50)]
    begun = []

    def task(part):
        begun.append(part)
        if part == 0:
            raise ZeroDivisionError
        while not threads.clock.over:
            sleep(0.01)

    with ThreadPool(2) as threads:
        with pytest.raises(ZeroDivisionError):
            threads.map(task, range(500))
        assert len(begun) < 10
        assert threads.clock.over


@pytest.mark.parametrize("codes", [1e8, 1e12])
def test_neighbours_beside_codes_are_the_nearest(codes):
    rng = np.random.default_rng(0)
    X = codes * rng.integers(0, 9, (500, 1)) + rng.integers(0, 5000, (500, 2))
    with ThreadPool(1) as threads:
        near = find_near(X / np.abs(X).max(), 5, threads)
    apart = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    np.fill_diagonal(apart, np.inf)
    found = np.take_along_axis(apart, near, axis=1).sum(axis=1)
    np.testing.assert_allclose(found, np.sort(apart, axis=1)[:, :5].sum(axis=1))


def test_a_search_sets_out_from_labels_that_are_given():
    start = mdav(X, 5).labels
    found = blocked(X, 5, effort="fast", initial_labels=start)
    assert sse(X, found.labels) < sse(X, start)
    assert 5 <= np.bincount(found.labels).min() <= np.bincount(found.labels).max() < 10
    best = blocked(X, 5, effort="best")
    again = blocked(X, 5, effort="fast", initial_labels=best)
    assert sse(X, again.labels) <= sse(X, best.labels) < sse(X, found.labels)


def test_large_groups_that_are_given_are_split():
    found = blocked(X, 5, initial_labels=np.zeros(len(X), int))
    assert 5 <= np.bincount(found.labels).min() <= np.bincount(found.labels).max() < 10


@pytest.mark.parametrize(
    "asked",
    [
        {"initial_labels": np.arange(300) // 2},
        {"initial_labels": np.zeros(3, int)},
        {"initial_labels": np.zeros(300, int), "block_size": 40},
        {"initial_labels": np.zeros(300, int), "inner": "cbfs"},
    ],
    ids=["small groups", "too few", "a size of blocks", "an inner method"],
)
def test_labels_to_set_out_from_that_cannot_be_are_refused(asked):
    with refused(JobError):
        blocked(X, 3, **asked)


@pytest.mark.usefixtures("regions_of_70")
def test_larger_regions_have_fewer_borders_and_lose_less():
    one, several = small(X, 3, region_size=300), small(X, 3)
    assert sse(X, one.labels) < sse(X, several.labels)


@pytest.mark.parametrize(
    "size", [0, 2.5, True], ids=["none", "a part", "a truth value"]
)
def test_regions_of_no_whole_number_are_refused(size):
    with pytest.raises(JobError, match=f"region_size = {size}"):
        blocked(X, 3, region_size=size)
