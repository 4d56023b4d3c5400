"""Sampling weights where categories are published: sums of weights for counts."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused

import aggopt
from aggopt.aggregate import frequencies, medoids, plurality, wish
from aggopt.errors import AggoptError

LEVELS = ["low", "middle", "high"]
TREE = {"ends": ["low", "high"], "rest": ["middle"]}
WAYS = {"names": {}, "an order": {"order": LEVELS}, "a tree": {"tree": TREE}}
ORDER = {level: j / 2 for j, level in enumerate(LEVELS)}


def apart(way, a, b):
    """Return the distance of two levels, by hand."""
    if way == "an order":
        return abs(ORDER[a] - ORDER[b])
    near = way == "a tree" and {a, b} == {"low", "high"}
    return 0.5 if near else float(a != b)


def survey(seed, n=24, k=3):
    """Return a column (n,), groups of k and weights (n,)."""
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.arange(n) // k)
    return rng.choice(LEVELS, n), labels, np.exp(rng.normal(size=n))


def sums(column, w):
    """Return the weight of each level, those of mean 1."""
    return pd.Series(w / w.mean()).groupby(column).sum().reindex(LEVELS, fill_value=0.0)


@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 99))
def test_the_level_at_the_least_weighted_distance_is_published(way, seed):
    column, labels, w = survey(seed)
    made = plurality(column, labels, weights=w, **WAYS[way])
    total = 0.0
    for group, level in enumerate(made.centroids):
        rows = labels == group
        costs = [
            sum(w[rows] * [apart(way, a, b) for a in column[rows]]) for b in LEVELS
        ]
        there = {b: cost for b, cost in zip(LEVELS, costs, strict=True)}
        assert there[level] <= min(there[b] for b in {*column}) * (1 + 1e-9)
        total += there[level]
    proof = made.certificate
    assert proof.objective == proof.bound == pytest.approx(total / w.mean())


def test_nodes_are_chosen_by_weight_too():
    column, labels = ["low", "high", "middle"], [0, 0, 0]
    node = partial(plurality, column, labels, tree=TREE, publish="node")
    assert node(weights=[9.0, 9.0, 1.0]).centroids.tolist() == ["ends"]
    assert node(weights=[1.0, 1.0, 9.0]).centroids.tolist() == ["middle"]
    true_of_all = partial(plurality, column, labels, tree=TREE, publish="ancestor")
    root = true_of_all(weights=[9.0, 1.0, 1.0]).choice
    assert root.tolist() == true_of_all().choice.tolist()


def test_whole_weights_weigh_as_replicated_records():
    column, labels, _ = survey(1)
    times = np.random.default_rng(2).integers(1, 5, 24)
    found = plurality(column, labels, weights=times)
    many = plurality(np.repeat(column, times), np.repeat(labels, times))
    cost = found.certificate.objective * times.mean()
    assert cost == pytest.approx(many.certificate.objective)


ALIKE = {
    "plurality": partial(plurality),
    "frequencies": partial(frequencies, slack=3),
    "wish": partial(wish, slack=3, importance=np.arange(24) / 24),
}


@pytest.mark.parametrize("name", ALIKE)
def test_weights_that_are_alike_and_their_scale_change_nothing(name):
    column, labels, w = survey(3)
    combine = ALIKE[name]
    alike = combine(column, labels, weights=np.full(24, 7.0))
    plain = combine(column, labels)
    assert alike.choice.tolist() == plain.choice.tolist()
    assert alike.certificate.objective == plain.certificate.objective
    one, other = (combine(column, labels, weights=w * by) for by in (1, 1024))
    assert one.choice.tolist() == other.choice.tolist()


def test_sums_of_weights_are_kept_within_a_slack_of_mean_weight():
    column, labels, w = survey(4, 36)
    before, slack = sums(column, w), 2.5
    found = frequencies(column, labels, weights=w, slack=slack)
    off = (sums(found.values, w) - before).abs()
    assert off.max() <= slack + 1e-6
    free = plurality(column, labels, weights=w)
    assert (sums(free.values, w) - before).abs().max() > slack
    proof = found.certificate
    assert free.certificate.objective <= proof.bound <= proof.objective + 1e-9
    unlike = (w / w.mean())[found.values != column].sum()
    assert proof.objective == pytest.approx(unlike)


def test_a_table_with_a_column_beside_is_kept_by_weight():
    column, labels, w = survey(5, 36)
    beside = np.random.default_rng(0).choice(["f", "m"], 36)
    found = frequencies(column, labels, with_=beside, price=1.0, weights=w)
    own = w / w.mean()
    off = 0.0
    for value in ("f", "m"):
        rows = beside == value
        parts = [
            pd.Series(own[rows]).groupby(x[rows]).sum() for x in (column, found.values)
        ]
        off += parts[0].sub(parts[1], fill_value=0.0).abs().sum()
    unlike = own[found.values != column].sum()
    assert found.certificate.objective == pytest.approx(unlike + off)


def test_the_record_at_the_least_weighted_distance_is_published():
    rng = np.random.default_rng(6)
    frame = pd.DataFrame({"a": rng.choice(LEVELS, 12), "b": rng.choice(["x", "y"], 12)})
    labels, w = np.arange(12) // 4, np.exp(rng.normal(size=12))
    made = medoids(aggopt.encode(frame), labels, weights=w)
    total, rows = 0.0, frame.to_numpy()
    for group in range(3):
        own = labels == group
        costs = [(w[own, None] * (rows[own] != row)).sum() for row in rows[own]]
        total += min(costs)
    assert made.certificate.objective == pytest.approx(total / w.mean())


def test_a_wish_counts_once_whatever_its_record_weighs():
    column, labels, w = survey(7, 36)
    much = np.where(np.arange(36) % 5 == 0, 1.0, 0.1)
    found = wish(column, labels, importance=much, slack=4, weights=w)
    missed = much[found.values == column].sum()
    assert found.certificate.objective == pytest.approx(missed)
    assert (sums(found.values, w) - sums(column, w)).abs().max() <= 4 + 1e-6


@pytest.mark.parametrize("combine", [frequencies, wish], ids=["frequencies", "wish"])
def test_sums_of_weights_are_not_kept_to_the_last_digit(combine):
    column, labels, w = survey(8)
    with refused(AggoptError):
        combine(column, labels, slack="exact", weights=w)


@pytest.mark.parametrize("combine", [plurality, frequencies, wish])
def test_weights_that_are_none_are_refused(combine):
    column, labels, _ = survey(9)
    with refused(AggoptError, "24"):
        combine(column, labels, weights=[0.0, *[1.0] * 23])
