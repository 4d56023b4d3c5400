"""Groups of records with sampling weights: searches, and dominance."""

import numpy as np
import pytest
from partition.weighted import all_partitions
from refusals import refused

from aggopt.core.record_weights import compute_sse
from aggopt.errors import InfeasibleInputError, JobError, TableError
from aggopt.partition import (
    PARTITIONERS,
    blocked,
    local_search,
    loss_bound,
    mdav,
    optimal,
    recommend,
)
from aggopt.partition._local_search.search import Search
from aggopt.partition._local_search.setup import create_weights
from aggopt.partition.neighbours import find_neighbours
from aggopt.partition.shared.scaling import scale_records
from aggopt.solvers import Status

RNG = np.random.default_rng(4)
X = RNG.normal(size=(40, 2))
W = np.exp(RNG.normal(size=40))
FEW, OWN = X[:16], W[:16]  # soon proven
WEIGHING = [optimal, blocked, local_search]
METHODS = pytest.mark.parametrize("method", WEIGHING, ids=lambda f: f.__name__)


def shares(labels, weights):
    """The largest share of its group's weight that a record has, by group."""
    found = [weights[labels == g] for g in range(max(labels) + 1)]
    return np.array([own.max() / own.sum() for own in found])


@METHODS
@pytest.mark.parametrize("weight", [1.0, 3.0])
def test_equal_weights_make_the_groups_of_none(method, weight):
    plain, same = method(FEW, 3), method(FEW, 3, weights=np.full(16, weight))
    assert (plain.labels == same.labels).all()
    for found, other in zip(plain.certificates, same.certificates, strict=True):
        assert other.objective == found.objective * weight
        assert other.bound == found.bound * weight


@METHODS
def test_the_scale_of_weights_does_not_matter(method):
    one, other = (method(FEW, 3, weights=times * OWN) for times in (1.0, 1024.0))
    assert (one.labels == other.labels).all()
    assert other.certificate.objective == 1024 * one.certificate.objective
    assert other.certificate.bound == pytest.approx(1024 * one.certificate.bound)


@METHODS
def test_less_is_lost_than_by_groups_made_without_weights(method):
    found, Z = method(FEW, 3, weights=OWN), scale_records(FEW, "z", OWN)
    assert np.bincount(found.labels).min() >= 3
    assert found.loss == pytest.approx(compute_sse(Z, found.labels, OWN))
    assert found.loss < compute_sse(Z, method(FEW, 3).labels, OWN)
    free = loss_bound(FEW, 3, weights=OWN)
    assert free * (1 - 1e-9) <= found.certificate.bound <= found.loss


@pytest.mark.parametrize("k", [2, 3, 4])
def test_the_best_of_all_partitions_is_found(k):
    records, weights = X[:9], W[:9]
    best = min(compute_sse(records, each, weights) for each in all_partitions(9, k))
    found = local_search(records, k, scale="none", weights=weights, effort="best")
    assert found.loss == pytest.approx(best)
    assert 0 < found.certificate.bound <= best


def test_where_there_is_one_partition_it_is_optimal():
    alone = compute_sse(X[:5], np.zeros(5, int), W[:5])
    for method in WEIGHING:
        found = method(X[:5], 3, scale="none", weights=W[:5]).certificate
        assert found.status is Status.OPTIMAL
        assert found.objective == pytest.approx(alone)


@pytest.mark.parametrize("annealed", [False, True], ids=["descent", "annealing"])
def test_what_a_search_adds_up_is_what_groups_lose(annealed):
    from aggopt.core.deadline import Deadline

    state = create_weights(W / W.mean(), 40, 3)
    search = Search(X, mdav(X, 3).labels, 3, find_neighbours(X, 12), 0, weights=state)
    before = search.groups.loss.sum()
    if annealed:
        search.anneal(30, Deadline(None))
    else:
        search.descend(np.arange(40), Deadline(None))
    search.perturb(np.arange(40), 5, Deadline(None))
    unit = np.abs(X).max() / np.abs(search.space.Z).max()
    own = compute_sse(X, search.labels, state.values) / unit**2
    assert search._lowest == pytest.approx(own)
    assert search._now == pytest.approx(search.groups.loss.sum())
    assert own < before


@pytest.mark.parametrize("ratio", [1e3, 9e5])
def test_a_search_ends_however_heavy_some_records_are(ratio):
    weights = np.where(np.arange(40) % 7, 1.0, ratio)
    found = local_search(X, 3, weights=weights, effort="fast")
    assert found.loss <= compute_sse(
        scale_records(X, "z", weights), mdav(X, 3).labels, weights
    )


@pytest.mark.parametrize("share", [0.35, 0.5, 0.6])
@pytest.mark.parametrize("k", [2, 3])
def test_dominance_is_never_broken(k, share):
    found = local_search(X, k, weights=W, dominance=share, effort="fast")
    assert shares(found.labels, W).max() <= share * (1 + 1e-9)
    assert np.bincount(found.labels).min() >= k
    assert found.max() > 1
    free = local_search(X, k, weights=W, effort="fast")
    assert shares(free.labels, W).max() > share
    bound = found.certificate.bound
    assert bound == pytest.approx(loss_bound(X, k, weights=W, dominance=share))
    assert free.certificate.bound < bound <= found.loss


def test_dominance_is_kept_at_the_least_loss():
    records, weights = X[:8], W[:8]
    kept = [
        compute_sse(records, labels, weights)
        for labels in all_partitions(8, 2)
        if shares(labels, weights).max() <= 0.6
    ]
    found = local_search(
        records, 2, scale="none", weights=weights, dominance=0.6, effort="best"
    )
    assert found.loss == pytest.approx(min(kept))


def test_dominance_of_equal_weights_is_a_size():
    found = local_search(X, 2, weights=np.ones(40), dominance=0.26, effort="fast")
    assert np.bincount(found.labels).min() == 4
    for share in (0.5, 1.0):
        same = local_search(X, 2, weights=np.full(40, 7.0), dominance=share)
        assert (same.labels == local_search(X, 2).labels).all()
    alone = local_search(X, 1, weights=W, dominance=0.9, effort="fast")
    assert np.bincount(alone.labels).min() >= 2


@pytest.mark.slow
def test_dominance_and_diversity_are_kept_together():
    levels = np.arange(40) % 3
    found = local_search(
        X,
        3,
        weights=W,
        dominance=0.6,
        confidential=levels,
        l=2,
        levels="values",
        effort="fast",
    )
    assert shares(found.labels, W).max() <= 0.6 * (1 + 1e-9)
    assert min(len({*levels[found.labels == g]}) for g in range(found.max() + 1)) > 1


def test_a_start_that_breaks_dominance_is_refused():
    labels = mdav(X, 3).labels
    broken = int((shares(labels, W) > 0.5).sum())
    with pytest.raises(JobError, match=f"keep dominance = 0.5: {broken} of 13 groups"):
        local_search(X, 3, weights=W, dominance=0.5, initial_labels=labels)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"dominance": 0.6}, JobError),
        ({"dominance": 0.0}, JobError),
        ({"dominance": 1.1}, JobError),
        ({"dominance": True}, JobError),
        ({"weights": -W}, TableError),
        ({"weights": W[1:]}, TableError),
        ({"weights": np.where(X[:, 0] > 0, np.nan, 1.0)}, TableError),
        ({"weights": np.where(X[:, 0] > 0, 2e6, 1.0)}, TableError),
    ],
    ids=lambda x: str(x)[:24] if isinstance(x, str) else None,
)
def test_what_cannot_be_used_is_refused(options, error):
    with refused(error):
        local_search(X, 3, **{"weights": None, **options})


def test_no_groups_keep_a_dominance_that_one_record_breaks_of_all():
    weights = np.where(np.arange(40) == 7, 60.0, 1.0)
    with refused(InfeasibleInputError, "40") as error:
        local_search(X, 3, weights=weights, dominance=0.6)
    assert "60" not in str(error.value)


def test_methods_say_whether_they_take_weights():
    weighing = {name for name, method in PARTITIONERS.items() if method.weighs}
    of_squares = {method.__name__ for method in WEIGHING}
    assert weighing == of_squares | {"generalising"}  # whose loss is another
    assert [n for n, m in PARTITIONERS.items() if m.dominates] == ["local_search"]


def test_runs_are_not_recommended_for_an_attribute_with_weights():
    assert recommend(100, 1, 3).method == "univariate"
    assert recommend(100, 1, 3, weighted=True).method == "local_search"
    assert recommend(100, 2, 3, weighted=True) == recommend(100, 2, 3)
