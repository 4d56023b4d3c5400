"""The bound of the pair program: below every partition, and near the best."""

import signal
from contextlib import suppress
from fractions import Fraction
from functools import partial
from threading import Timer
from time import sleep

import closeness as oracle
import numpy as np
import pytest
from partition.weighted import all_partitions
from refusals import refused

from aggopt.algorithms.pair_bound import nearest
from aggopt.core.record_weights import compute_sse
from aggopt.errors import (
    InfeasibleInputError,
    JobError,
    TableError,
    UnknownNameError,
)
from aggopt.partition import in_blocks, local_search, loss_bound, mdav, optimal
from aggopt.privacy import distinct_l, t_closeness

RNG = np.random.default_rng(2)
X = RNG.normal(size=(240, 3)) + 4 * RNG.integers(0, 3, size=(240, 1))
VALUES = np.arange(len(X))


def bound_in_units(x, k, seconds):
    return loss_bound(x, k, scale="none", bound=seconds)


def test_no_partition_of_small_tables_goes_below():
    rng = np.random.default_rng(7)
    shares = []
    for number in range(15):
        k = int(rng.integers(2, 4))
        n = int(rng.integers(2 * k, 10))
        x = rng.normal(size=(n, int(rng.integers(1, 4)))).round(rng.integers(0, 3))
        if number % 4 == 0:
            x[1:3] = x[0]
        if number % 9 == 0:
            x[-1] *= 1e6
        best = min(compute_sse(x, labels) for labels in all_partitions(n, k))
        bound = bound_in_units(x, k, 0.05)
        assert bound <= best * (1 + 1e-15)
        assert bound >= bound_in_units(x, k, "none") * (1 - 1e-11)
        shares.append(bound / best if best else 1.0)
    assert np.median(shares) > 0.99
    assert min(shares) > 0.7


@pytest.mark.parametrize("k", [3, 10])
def test_more_seconds_prove_more_and_the_same_ones_the_same(k):
    budgets = [0.0, 1e-4, 0.02, 0.1, 0.3]
    bounds = [bound_in_units(X, k, seconds) for seconds in budgets]
    assert sorted(bounds) == bounds
    assert bounds[0] == bound_in_units(X, k, "none")
    assert bounds[-1] == bound_in_units(X, k, 0.3)
    assert bounds[0] < bounds[2] < bounds[-1]
    quick = bound_in_units(X, k, "quick")
    groups = local_search(X, k, scale="none")
    assert bounds[2] <= quick <= groups.loss
    assert quick > 0.9 * groups.loss


@pytest.mark.parametrize("unit", [1e-12, 1e-160, 1e12, 1e150])
def test_the_unit_changes_nothing(unit):
    power = 2.0 ** np.round(np.log2(unit))
    assert bound_in_units(power * X, 5, 0.05) == power**2 * bound_in_units(X, 5, 0.05)


@pytest.mark.parametrize(
    "rows",
    [
        np.ones((50, 2)),
        np.repeat(X[:9], 400, axis=0),
        np.repeat(X[:20], 2, axis=0),
        np.column_stack([np.arange(100) % 3, np.zeros(100)]),
        np.vstack([X, 1e9 * X[:1]]),
        np.vstack([1e-9 * X, X[:2]]),
        X[:7],
        X[:, :1],
        np.tile(X, (1, 20)),
    ],
    ids=[
        "one record",
        "thousands of copies",
        "copies of two",
        "equal coordinates",
        "a far record",
        "two far records",
        "fewer than 2k",
        "one attribute",
        "many attributes",
    ],
)
def test_edges(rows):
    k = 4
    bound = bound_in_units(rows, k, 0.1)
    loss = compute_sse(rows, mdav(rows, k, scale="none").labels)
    assert bound_in_units(rows, k, "none") * (1 - 1e-11) <= bound
    assert 0 <= bound <= loss * (1 + 1e-12)


def test_no_partition_of_weighted_records_goes_below():
    rng = np.random.default_rng(8)
    shares = []
    for number in range(10):
        k = int(rng.integers(2, 4))
        n = int(rng.integers(2 * k, 9))
        x = rng.normal(size=(n, 2)).round(1)
        weights = np.exp(rng.normal(size=n) * rng.choice([0.1, 1.0, 2.0]))
        if number % 3 == 0:
            weights = 1.0 + np.arange(n) % 2  # two weights, many of each
        best = min(compute_sse(x, labels, weights) for labels in all_partitions(n, k))
        bound = loss_bound(x, k, scale="none", weights=weights, bound=0.05)
        assert bound <= best * (1 + 1e-15)
        neighbours = loss_bound(x, k, scale="none", weights=weights, bound="none")
        assert bound >= neighbours
        shares.append(bound / best if best else 1.0)
    assert np.median(shares) > 0.98


def test_a_record_of_weight_2_is_two_records_in_a_group():
    weights = 1.0 + (np.arange(len(X)) % 4 == 0)
    bound = loss_bound(X, 5, weights=weights, scale="none", bound=0.2)
    labels = local_search(X, 5, weights=weights, scale="none").labels
    twice = compute_sse(
        np.repeat(X, weights.astype(int), axis=0),
        np.repeat(labels, weights.astype(int)),
    )
    assert 0.85 * twice < bound <= twice


def test_no_partition_into_close_groups_goes_below():
    shares = []
    free_shares = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        k = int(rng.integers(1, 4))
        t = float(rng.choice([0.1, 0.15, 0.2, 0.3]))
        Z, values = oracle.instance(seed, int(rng.integers(6, 9)), seed % 2 == 0)
        best = float(oracle.least(Z, values, k, Fraction(str(t))))
        bound = loss_bound(Z, k, scale="none", confidential=values, t=t, bound=0.05)
        assert bound <= best * (1 + 1e-12)
        shares.append(bound / best)
        free_shares.append(bound_in_units(Z, k, 0.05) / best)
    assert np.median(shares) > max(0.8, np.median(free_shares))


def test_a_smaller_t_costs_more():
    values = np.argsort(np.argsort(X[:, 0] + RNG.normal(size=len(X)))) // 8
    bounds = [
        loss_bound(X, 3, scale="none", confidential=values, t=t, bound=0.15)
        for t in (0.25, 0.15, 0.08)
    ]
    assert sorted(bounds) == bounds
    assert bound_in_units(X, 3, 0.15) < bounds[0]
    groups = local_search(X, 3, scale="none", confidential=values, t=0.08)
    assert bounds[2] < groups.loss
    two = np.column_stack([values, values[::-1]])
    both = loss_bound(X, 3, scale="none", confidential=two, t=0.15, bound=0.15)
    assert both > bound_in_units(X, 3, 0.15)
    constant = np.ones(len(X))
    with pytest.warns(UserWarning, match="one value"):
        free = loss_bound(X, 3, scale="none", confidential=constant, t=0.1, bound=0.05)
    assert free <= local_search(X, 3, scale="none").loss


TREE = {"low": [0, 1], "high": [2, 3]}


@pytest.mark.parametrize(
    "kind",
    ["equal", "hierarchical", "weights", "l", "alpha", "units", "strata", "dominance"],
)
def test_no_partition_that_satisfies_a_requirement_goes_below(kind):
    rng = np.random.default_rng(11)
    shares = []
    while len(shares) < 4:
        k = int(rng.integers(2, 4))
        n = int(rng.integers(2 * k + 1, 9))
        x = rng.normal(size=(n, 2)).round(1)
        codes = rng.integers(0, 4, n)
        options, is_satisfied = restrict(kind, codes, np.exp(rng.normal(size=n)), k)
        weights = options.get("weights")
        best = min(
            (
                compute_sse(x, labels, weights)
                for labels in all_partitions(n, k)
                if is_satisfied(labels)
            ),
            default=0.0,
        )
        if not best:
            continue
        bound = loss_bound(x, k, scale="none", bound=0.05, **options)
        assert bound <= best * (1 + 1e-12)
        shares.append(bound / best)
        free = loss_bound(x, k, scale="none", bound=0.01, weights=weights)
        assert free <= bound
    assert np.median(shares) > 0.6


def restrict(kind, codes, weights, k):
    """Return arguments of `loss_bound`, and whether groups satisfy them."""
    values = np.array(["a", "b", "c", "d"])[codes]
    if kind in ("equal", "hierarchical"):
        options = {"confidential": codes, "t": 0.3, "distance": kind}
        if kind == "hierarchical":
            options["tree"] = TREE
        measured = {name: options[name] for name in options if name[0] == "d"}
        tree = options.get("tree")
        return (
            options,
            lambda labels: t_closeness(labels, codes, tree=tree, **measured) <= 0.3,
        )
    if kind == "weights":
        options = {"confidential": codes, "t": 0.25, "weights": weights}
        return options, lambda labels: t_closeness(labels, codes) <= 0.25
    if kind == "l":
        options = {"confidential": values, "l": 2}
        return options, lambda labels: distinct_l(labels, values) >= 2
    if kind == "units":
        return {"units": values}, lambda labels: distinct_l(labels, values) >= k
    if kind == "strata":
        if min(np.bincount(codes % 2, minlength=2)) < k:
            return {}, lambda labels: False

        def is_within(labels):
            return all(np.ptp(codes[labels == g] % 2) == 0 for g in np.unique(labels))

        return {"strata": codes % 2}, is_within
    if kind == "alpha":

        def is_spread(labels):
            return all(
                np.bincount(codes[labels == g]).max() <= 0.5 * (labels == g).sum()
                for g in np.unique(labels)
            )

        enough = np.bincount(codes).max() <= 0.5 * len(codes)
        if not enough:
            return {}, lambda labels: False
        return {"confidential": codes, "alpha": 0.5}, is_spread

    def is_even(labels):
        return all(
            weights[labels == g].max() <= 0.5 * weights[labels == g].sum()
            for g in np.unique(labels)
        )

    return {"weights": weights, "dominance": 0.5}, is_even


@pytest.mark.parametrize(
    ("options", "error", "names"),
    [
        ({"confidential": VALUES}, JobError, ["confidential"]),
        ({"t": 0.1}, JobError, ["t", "confidential"]),
        ({"confidential": VALUES, "t": 1.5}, JobError, ["t"]),
        ({"confidential": VALUES, "l": 0}, JobError, ["l"]),
        ({"confidential": VALUES, "l": 300}, InfeasibleInputError, ["300"]),
        ({"confidential": VALUES, "alpha": 0}, JobError, ["alpha"]),
        ({"confidential": VALUES // 200, "alpha": 0.6}, InfeasibleInputError, ["0.6"]),
        ({"confidential": VALUES[1:], "t": 0.1}, TableError, ["239", "240"]),
        ({"confidential": VALUES, "l": 2, "distance": "equal"}, JobError, ["distance"]),
        ({"confidential": VALUES, "t": 0.1, "distance": "hierarchical"}, JobError, []),
        ({"units": VALUES // 120}, InfeasibleInputError, ["3", "2"]),
        ({"units": VALUES[1:]}, TableError, ["units"]),
        ({"strata": VALUES // 238}, InfeasibleInputError, ["3"]),
        ({"dominance": 0.5}, JobError, ["dominance"]),
        ({"dominance": 2, "weights": VALUES + 1.0}, JobError, ["dominance"]),
        ({"confidential": VALUES, "t": 0.1, "bound": "none"}, JobError, ["budget"]),
    ],
)
def test_requirements_that_cannot_be_bounded_are_refused(options, error, names):
    with refused(error, *names):
        loss_bound(X, 3, **{"bound": 0.1, **options})


def test_progress_rises_to_1_and_an_interrupt_leaves_a_bound():
    shares = []
    loss_bound(X, 3, bound=0.05, progress=shares.append)
    assert sorted(shares) == shares
    assert shares[-1] <= 1.0


def test_ctrl_c_in_any_phase_leaves_the_best_bound_so_far(monkeypatch):
    monkeypatch.setattr(nearest, "PORTION", 4e3)  # several parts of a search

    def bound_until(call):
        calls = iter(range(call + 1))

        def interrupt(share):
            if next(calls) == call:
                raise KeyboardInterrupt

        return loss_bound(X, 3, bound=0.2, progress=interrupt)

    bounds = [bound_until(call) for call in range(12)]
    assert sorted(bounds) == bounds
    neighbours = loss_bound(X, 3, bound="none")
    assert 0 < bounds[0] < neighbours < bounds[-1] <= loss_bound(X, 3, bound=0.2)


def test_a_signal_at_any_time_leaves_a_bound_or_is_raised():
    whole = loss_bound(X, 3, bound=0.2)
    came = []  # no event: a handler that sets what its own thread waits for never ends

    def interrupt(number, frame):
        came.append(number)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        for delay in (0.001, 0.01, 0.03, 0.1):
            came.clear()
            with suppress(KeyboardInterrupt):  # which may come at once under load
                Timer(delay, signal.raise_signal, [signal.SIGINT]).start()
                assert 0 <= loss_bound(X, 3, bound=0.2) <= whole
                while not came:
                    sleep(0.001)
            assert came
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("seconds", [1e-9, 1e-5])
def test_a_budget_for_the_nearest_records_only_is_reported(seconds):
    with pytest.warns(UserWarning, match="suffices for the nearest records only"):
        bound = loss_bound(X, 3, bound=seconds)
    assert bound == loss_bound(X, 3, bound="none") == loss_bound(X, 3, bound=0)
    with pytest.warns(UserWarning, match="suffices for the nearest records only"):
        assert mdav(X, 3).with_bound(seconds).certificate.bound == bound


def test_a_budget_beyond_all_progress_ends_by_itself():
    rows = X[:40]
    assert loss_bound(rows, 3, bound=1e9) >= loss_bound(rows, 3, bound=1.0)


def test_weights_of_zero_are_refused():
    with refused(TableError, "weights"):
        loss_bound(X, 3, weights=np.arange(len(X)))


def test_a_certificate_has_the_budget_that_it_is_given():
    for method in (mdav, partial(local_search, effort="fast")):
        gaps = [
            method(X, 5).with_bound(bound).certificate.gap
            for bound in ("none", 0.01, "quick", 0.5)
        ]
        assert sorted(gaps, reverse=True) == gaps
        assert method(X, 5).certificate.gap == gaps[2]
        assert gaps[3] < gaps[1] < gaps[0]
    groups = mdav(X, 5)
    assert groups.certificate.bound == loss_bound(X, 5)
    with refused(JobError, "with_bound"):
        groups.with_bound("none")
    with refused(JobError, "with_bound"):
        optimal(X[:12], 3).with_bound(1.0)
    with refused(UnknownNameError, "'quic'"):
        mdav(X, 5).with_bound("quic")


def test_blocks_of_attributes_share_a_budget():
    apart = in_blocks(X, 4, [[0], [1, 2]], method="mdav").with_bound(0.2)
    alone = [
        mdav(X[:, columns], 4).with_bound(0.1).certificate.bound
        for columns in ([0], [1, 2])
    ]
    assert [each.bound for each in apart.certificates] == alone


@pytest.mark.parametrize("bound", [-1, np.nan, np.inf, True, None, [1]])
def test_other_budgets_are_refused(bound):
    with pytest.raises(JobError, match='pass "quick", "none" or a number of seconds'):
        loss_bound(X, 3, bound=bound)
    with pytest.raises(UnknownNameError, match="did you mean 'quick'"):
        loss_bound(X, 3, bound="quic")
