"""Groups merged until they keep any promise."""

import numpy as np
import pytest
from drawn import examples
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused

from aggopt import partition, privacy
from aggopt.core.deadline import Deadline
from aggopt.core.record_weights import compute_sse
from aggopt.errors import JobError
from aggopt.measure import il
from aggopt.partition import loss_bound, mdav
from aggopt.partition.shared.scaling import scale_records
from aggopt.privacy.dominance import Dominance
from aggopt.privacy.models.l_diversity import Diversity
from aggopt.privacy.models.t_closeness import Closeness
from aggopt.privacy.nested import Nested
from aggopt.privacy.ordered_attribute import Ordered
from aggopt.repair._methods.search import search_with_checks
from aggopt.repair.merge_until_satisfied import merge_until_satisfied
from aggopt.repair.registry import REPAIRS, RepairInput


def close(values, t, made=Ordered.of):
    return Closeness("x", made(values), t)


@given(
    st.integers(0, 10**6),
    st.integers(2, 60),
    st.integers(1, 4),
    st.sampled_from([0.05, 0.1, 0.3, 0.6]),
)
@examples(60)
def test_all_promises_hold_and_groups_are_only_merged(seed, n, k, t):
    rng = np.random.default_rng(seed)
    X, values = rng.normal(size=(n, 2)), rng.integers(0, 5, n)
    values[:2] = 0, 1  # not constant, of which the measure warns
    values = np.unique(values, return_inverse=True)[1]
    labels = partition.mdav(X, min(k, n))
    least = min(2, len(set(values)))
    promises = [
        close(values, t),
        close(values, t, Nested.equal),
        Diversity("x", values, least),
    ]
    merged = merge_until_satisfied(X, labels, promises)
    assert privacy.t_closeness(merged, values) <= t
    assert privacy.t_closeness(merged, values, distance="equal") <= t
    assert privacy.distinct_l(merged, values) >= least
    together = [set(merged[labels == g]) for g in range(labels.max() + 1)]
    assert all(len(groups) == 1 for groups in together)
    assert sorted(set(merged)) == list(range(merged.max() + 1))


def test_groups_that_keep_the_promise_are_left_alone():
    X, values = np.arange(12.0)[:, None], np.tile([0, 1, 2], 4)
    labels = np.arange(12) // 3
    promise = close(values, 0.01)
    assert (merge_until_satisfied(X, labels, [promise]) == labels).all()


def test_it_loses_less_than_one_group_and_takes_the_near_ones():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(400, 2))
    values = np.unique(X[:, 0].round(1), return_inverse=True)[1]
    labels = partition.mdav(X, 5)
    merged = merge_until_satisfied(X, labels, [close(values, 0.2)])
    means = np.stack([X[merged == g].mean(axis=0) for g in merged])
    assert merged.max() > 10
    assert il(X, means) < 0.8
    # groups 0 and 1 are near each other and complete each other; 2 and 3 as well
    X = np.array([[0.0], [0.1], [9.0], [9.1]]).repeat(2, axis=0)
    pairs = merge_until_satisfied(
        X, np.arange(8) // 2, [close(np.arange(8) // 2 % 2, 0.1)]
    )
    assert pairs.tolist() == [0, 0, 0, 0, 1, 1, 1, 1]


def test_a_farther_group_is_taken_where_the_nearest_does_not_help():
    X = np.array([[0.0], [1.0], [3.0], [5.0]]).repeat(2, axis=0)
    promise = close(np.array([0, 0, 1, 1]).repeat(2), 0.1)
    merged = merge_until_satisfied(X, np.arange(8) // 2, [promise])
    assert merged.reshape(4, 2).tolist() == [[0, 0], [1, 1], [0, 0], [1, 1]]


def test_progress_and_one_group():
    told = []
    X, values = np.arange(8.0)[:, None], np.arange(8)
    merged = merge_until_satisfied(
        X, np.arange(8) // 2, [close(values, 0.001)], progress=told.append
    )
    assert (merged == 0).all()
    assert told == sorted(told)
    assert told[-1] == 1.0


@pytest.mark.parametrize("seed", range(3))
def test_a_round_does_not_depend_on_the_order_of_records(seed):
    rng = np.random.default_rng(seed)
    X, values = rng.normal(size=(60, 2)), rng.integers(0, 9, 60)
    labels = partition.mdav(X, 3)
    order = rng.permutation(60)
    promise, moved = close(values, 0.1), close(values[order], 0.1)
    one, other = (
        merge_until_satisfied(X, labels, [promise]),
        merge_until_satisfied(X[order], labels[order], [moved]),
    )
    assert (one[order] == other).all()


# --- repairs of groups of records with sampling weights


RNG = np.random.default_rng(8)
X = RNG.normal(size=(60, 2)) * [1.0, 50.0]
W = np.exp(RNG.normal(size=60))
Z = scale_records(X, "z", W)
LABELS = mdav(X, 3).labels
ASKED = Dominance(W, 0.5)


def repaired(name, *asked, weights=W):
    method = REPAIRS[name]
    given = RepairInput(X, 3, asked or (ASKED,), None, None, weights)
    return method.function(given, LABELS, method.settings())


@pytest.mark.parametrize("name", ["merge", "search"])
def test_dominance_is_kept_and_squares_are_weighted(name):
    assert ASKED.find_broken(np.argsort(LABELS), np.arange(0, 61, 3)).any()
    found = repaired(name)
    assert ASKED.is_satisfied(found.labels)
    assert found.sizes.min() >= 3
    proof = found.certificate
    assert proof.objective == pytest.approx(compute_sse(Z, found.labels, W))
    free = loss_bound(X, 3, weights=W, bound="quick")
    assert free < proof.bound <= proof.objective
    kept = loss_bound(X, 3, weights=W, bound="quick", dominance=ASKED.share)
    assert proof.bound == pytest.approx(kept)
    assert proof.violation == 0.0


def test_a_search_loses_less_by_weights():
    merged, searched = (repaired(name) for name in ("merge", "search"))
    assert searched.loss < merged.loss
    plain = repaired("search", weights=None)
    assert searched.loss < compute_sse(Z, plain.labels, W)


def test_each_change_gains_what_it_says_and_one_more_gains_nothing():
    found, ended = search_with_checks(Z, LABELS, 3, [], Deadline(None), W)
    assert ended
    best = compute_sse(Z, found, W)
    assert best < compute_sse(Z, LABELS, W)
    sizes = np.bincount(found)
    for i in range(60):
        for j in range(60):
            swapped = found.copy()
            swapped[i], swapped[j] = found[j], found[i]
            apart = ((Z[i] - Z) ** 2).sum(axis=1)
            near = np.argsort(apart)[1:13]
            if j in near:
                assert compute_sse(Z, swapped, W) >= best * (1 - 1e-9)
                moved = found.copy()
                moved[i] = found[j]
                if sizes[found[i]] > 3:
                    assert compute_sse(Z, moved, W) >= best * (1 - 1e-9)


def test_equal_weights_scale_what_is_proven():
    plain, same = (repaired("search", weights=w) for w in (None, np.full(60, 5.0)))
    assert (plain.labels == same.labels).all()
    assert same.certificate.objective == pytest.approx(5 * plain.certificate.objective)
    assert same.certificate.bound == pytest.approx(5 * plain.certificate.bound)


@pytest.mark.parametrize("name", ["merge-ilp", "swap", "sweep"])
def test_what_counts_without_weights_is_refused(name):
    close = Closeness("x", Ordered.of(np.arange(60)), 0.3)
    with refused(JobError):
        repaired(name, close)
