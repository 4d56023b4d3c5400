"""What groups of records with sampling weights lose, and lose at least."""

import numpy as np
import pytest
from drawn import examples
from hypothesis import given
from hypothesis import strategies as st
from partition.weighted import all_partitions
from refusals import refused

from aggopt.algorithms.pair_bound import nearest as search
from aggopt.core.record_weights import compute_sse, group_sse
from aggopt.errors import TableError
from aggopt.partition import loss_bound
from aggopt.partition.shared.evidence import certify_squares
from aggopt.partition.shared.scaling import Weighing, scale_records

RNG = np.random.default_rng(4)
X = RNG.normal(size=(40, 2))
W = np.exp(RNG.normal(size=40))
LABELS = np.arange(40) // 3 % 13


def pairwise_loss(records, labels, weights):
    """The pair identity: sum of w_i w_l |x_i - x_l|^2 / W over pairs of a group."""
    apart = ((records[:, None] - records) ** 2).sum(axis=2) * np.outer(weights, weights)
    groups = [np.flatnonzero(labels == g) for g in range(max(labels) + 1)]
    return sum(apart[np.ix_(g, g)].sum() / 2 / weights[g].sum() for g in groups)


def test_the_loss_is_that_of_pairs_and_of_replicated_records():
    labels, whole = LABELS, RNG.integers(1, 6, 40).astype(float)
    lost = compute_sse(X, labels, whole)
    assert group_sse(X, labels, whole) == pytest.approx(lost)
    assert lost == pytest.approx(pairwise_loss(X, labels, whole))
    times = whole.astype(int)
    again, copies = np.repeat(X, times, axis=0), np.repeat(labels, times)
    assert lost == pytest.approx(compute_sse(again, copies))
    Z = scale_records(X, "z", whole)
    assert np.repeat(Z, times, axis=0) == pytest.approx(scale_records(again))
    proof = certify_squares(Z, labels, 3, by="", seconds=0.0, weights=whole).certificate
    other = certify_squares(
        scale_records(again), copies, 3, by="", seconds=0.0
    ).certificate
    assert proof.objective == pytest.approx(other.objective)
    assert proof.bound < proof.objective


@pytest.mark.parametrize("weight", [1.0, 3.0])
def test_equal_weights_scale_what_is_proven(weight):
    plain = certify_squares(X, LABELS, 3, by="", seconds=0.0)
    same = certify_squares(
        X, LABELS, 3, by="", seconds=0.0, weights=np.full(40, weight)
    )
    assert same.certificate.objective == plain.certificate.objective * weight
    assert same.certificate.bound == plain.certificate.bound * weight
    assert loss_bound(X, 3, weights=np.full(40, weight)) == loss_bound(X, 3) * weight


@given(st.integers(0, 10**6), st.sampled_from([(5, 2), (6, 2), (7, 3), (5, 3)]))
@examples(15)
def test_no_partition_goes_below_the_bound(seed, size):
    (n, k), rng = size, np.random.default_rng(seed)
    records, weights = rng.normal(size=(n, 2)), np.exp(2 * rng.normal(size=n))
    best = min(compute_sse(records, each, weights) for each in all_partitions(n, k))
    assert loss_bound(records, k, scale="none", weights=weights) <= best


@pytest.mark.parametrize("nearest", [4, 39])
def test_beyond_some_records_the_bound_is_of_the_nearest_and_no_higher(
    nearest, monkeypatch
):
    free = loss_bound(X, 2, weights=W**2, bound="none")
    monkeypatch.setattr(search, "CANDIDATES", nearest)
    few = loss_bound(X, 2, weights=W**2, bound="none")
    assert 0.5 * free < few <= free * (1 + 1e-12)
    assert (few == pytest.approx(free)) == (nearest == 39)


def test_the_bound_is_the_least_ratio_over_others_of_each_record():
    records, weights = X[:8], W[:8]
    apart = ((records[:, None] - records) ** 2).sum(axis=2)
    total = 0.0
    for i in range(8):
        ratios = []
        for bits in range(2**8):
            others = [j for j in range(8) if bits >> j & 1 and j != i]
            if bits >> i & 1 and 2 <= len(others) <= 4:
                own = weights[others]
                ratios.append(own @ apart[i, others] / (weights[i] + own.sum()))
        total += weights[i] * min(ratios) / 2
    bound = loss_bound(records, 3, scale="none", weights=weights, bound="none")
    assert bound == pytest.approx(total)
    assert bound <= loss_bound(records, 3, scale="none", weights=weights)


def test_one_group_is_its_own_bound():
    alone = compute_sse(X[:5], np.zeros(5, int), W[:5])
    assert loss_bound(X[:5], 3, scale="none", weights=W[:5]) == pytest.approx(alone)
    assert loss_bound(X[:5], 1, weights=W[:5]) == 0.0


@pytest.mark.parametrize("unit", [1e-300, 1e300])
def test_weights_may_be_as_small_or_large_as_floats(unit):
    known = Weighing.read(unit * W, 40)
    assert known.values == pytest.approx(W / W.mean())
    assert known.unit == pytest.approx(unit * W.mean())


@pytest.mark.parametrize(
    "weights",
    [-W, W[1:], np.where(X[:, 0] > 0, np.nan, 1.0), np.where(X[:, 0] > 0, 2e6, 1.0)],
    ids=["negative", "too few", "missing", "too far apart"],
)
def test_weights_that_cannot_be_used_are_refused(weights):
    with refused(TableError):
        loss_bound(X, 3, weights=weights)
