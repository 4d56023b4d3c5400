"""Repairs of groups of records with sampling weights."""

import numpy as np
import pytest
from refusals import refused

from aggopt.core.deadline import Deadline
from aggopt.core.record_weights import compute_sse
from aggopt.errors import JobError
from aggopt.partition import loss_bound, mdav
from aggopt.partition.shared.scaling import scale_records
from aggopt.privacy.dominance import Dominance
from aggopt.privacy.models.t_closeness import Closeness
from aggopt.privacy.ordered_attribute import Ordered
from aggopt.repair._methods.search import search_with_checks
from aggopt.repair.registry import REPAIRS, RepairInput

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
    assert proof.bound == pytest.approx(loss_bound(X, 3, weights=W))
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
