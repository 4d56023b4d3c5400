"""What every partitioner returns: labels, with what is proven of them."""

import copy
import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pandas as pd
import pytest
from refusals import refused

from aggopt import aggregate, partition, repair
from aggopt.errors import JobError
from aggopt.partition import (
    Partition,
    anonymity_first,
    blocked,
    cbfs,
    closeness_first,
    diverse_vmdav,
    in_blocks,
    individual_ranking,
    local_search,
    loss_bound,
    mdav,
    merge_until_close,
    mhm,
    optimal,
    projection,
    univariate,
    vmdav,
)
from aggopt.partition.registry import PARTITIONERS
from aggopt.partition.shared import evidence
from aggopt.solvers import Certificate, Status

RNG = np.random.default_rng(7)
X = RNG.normal(size=(24, 3))
WAGE = RNG.permutation(24).astype(float)
FOUND = Certificate(Status.LOCAL, 2.0, 1.0, 0.0, "mine", 0.5)
OF_RECORDS = {
    "anonymity_first": lambda X: anonymity_first(X, WAGE, 3, 0.3),
    "blocked": lambda X: blocked(X, 3, effort="fast"),
    "cbfs": lambda X: cbfs(X, 3),
    "closeness_first": lambda X: closeness_first(X, WAGE, 3, 0.3),
    "diverse_vmdav": lambda X: diverse_vmdav(X, WAGE, 2, k=3),
    "local_search": lambda X: local_search(X, 3, effort="fast"),
    "mdav": lambda X: mdav(X, 3),
    "merge_until_close": lambda X: merge_until_close(X, WAGE, 3, 0.3),
    "mhm": lambda X: mhm(X, 3),
    "projection": lambda X: projection(X, 3),
    "vmdav": lambda X: vmdav(X, 3),
}


@pytest.fixture
def counted(monkeypatch):
    """Return a list that grows by one whenever the free bound is worked out."""
    calls, real = [], evidence.prove_promised_loss

    def least_loss(*given, **options):
        calls.append(1)
        return real(*given, **options)

    monkeypatch.setattr(evidence, "prove_promised_loss", least_loss)
    return calls


@pytest.mark.parametrize("name", OF_RECORDS)
def test_the_certificate_is_of_these_very_groups(name):
    found = OF_RECORDS[name](X)
    assert isinstance(found, Partition)
    lost = sum(c.objective for c in aggregate.mean(X, found).certificates)
    assert found.loss == pytest.approx(lost)
    certificate = found.certificate
    assert certificate.objective == found.loss
    if PARTITIONERS[name].guarantees & {"t", "l"}:  # then it is of such groups
        assert loss_bound(X, 3, bound="none") <= certificate.bound <= found.loss
    else:
        assert certificate.bound == pytest.approx(loss_bound(X, 3))
        assert certificate.bound <= optimal(X, 3, gap_tol=0.5).loss
    assert certificate.seconds > 0
    assert certificate.status in (Status.HEURISTIC, Status.LOCAL)


@pytest.mark.parametrize("f", [mdav, cbfs, vmdav, mhm, projection, local_search])
def test_without_standardising_it_is_in_the_units_of_the_records(f):
    wide = X * [1.0, 100.0, 0.01]
    found = f(wide, 3, scale="none")
    Z = aggregate.mean(wide, found).values - wide
    assert found.loss == pytest.approx((Z**2).sum())
    assert found.certificate.bound == pytest.approx(loss_bound(wide, 3, scale="none"))


def test_other_costs_have_no_bound_of_squares():
    for cost in ("sae", "maxdist"):
        found = univariate(X[:, 0], 3, cost=cost).certificate
        assert found.bound == found.objective
        assert found.objective != pytest.approx(univariate(X[:, 0], 3).loss)


def test_the_bound_is_worked_out_when_it_is_looked_at_and_once(counted):
    found = mdav(X, 3)
    assert (found.loss > 0, found.labels.sum() > 0, repr(found) != "") == (True,) * 3
    assert not counted
    assert found.certificate is found.certificate
    assert len(counted) == 1


def test_the_records_may_change_before_the_certificate_is_looked_at():
    mine = X.copy()
    for scale in ("z", "none"):
        found, other = mdav(mine, 3, scale=scale), mdav(X, 3, scale=scale)
        mine[:] = 0.0
        assert found.certificate.objective == other.certificate.objective
        assert found.certificate.bound == other.certificate.bound
        mine[:] = X


def test_where_each_record_comes_k_times_the_groups_are_proven_optimal():
    copies = np.repeat(X[:5], 3, axis=0)
    found = mdav(copies, 3).certificate
    assert (found.status, found.gap) == (Status.OPTIMAL, pytest.approx(0.0))
    assert mdav(X[:5], 3).certificate.status is Status.OPTIMAL  # one group


@pytest.mark.parametrize("far", [1e16, 1e300])
@pytest.mark.parametrize("f", [mdav, local_search, optimal])
def test_an_attribute_of_one_large_value_changes_nothing_that_is_proven(f, far):
    alone, beside = X[:8, :1], np.column_stack([np.full(8, far), X[:8, 0]])
    free = partition.loss_bound(alone, 2, scale="none")
    assert partition.loss_bound(beside, 2, scale="none") == pytest.approx(free)
    found, least = f(beside, 2, scale="none"), optimal(alone, 2, scale="none").loss
    spread = [((x - x.mean()) ** 2).sum() for x in _members(alone[:, 0], found)]
    assert found.certificate.objective == pytest.approx(sum(spread))
    assert found.certificate.bound <= least
    if found.certificate.status is Status.OPTIMAL:
        assert found.loss == pytest.approx(least)


@pytest.mark.parametrize("f", [mdav, cbfs, local_search, optimal])
def test_groups_far_apart_are_not_optimal_for_that(f):
    far = np.column_stack([np.repeat([0.0, 1e16], 4), X[:8, 0]])
    found = f(far, 2, scale="none").certificate
    assert found.status is not Status.OPTIMAL or found.gap < 1e-5


@pytest.mark.parametrize("k", [3, 6])
@pytest.mark.parametrize("f", [mdav, local_search, optimal])
def test_nothing_is_proven_of_squares_that_no_float_holds(f, k):
    far = np.array([1.0, 2.0, 3.0, 7.0, 8.0, 9.0])[:, None] * 1e160
    found = f(far, k, scale="none").certificate
    assert (found.objective, found.bound, found.gap) == (np.inf, None, None)
    assert found.status is not Status.OPTIMAL


def _members(x, labels):
    return [x[labels.labels == g] for g in range(len(labels.sizes))]


def test_it_is_taken_wherever_labels_are():
    found = mdav(X, 3)
    labels = found.labels
    for taken in (aggregate.mean, aggregate.median):
        assert (taken(X, found).values == taken(X, labels).values).all()
    again = repair.closeness(X, WAGE, found, 3, 0.3, method="swap")
    assert isinstance(again, Partition)
    assert again.certificate.violation == 0.0
    again, same = (local_search(X, 3, initial_labels=of) for of in (found, labels))
    assert (again == same).all()
    frame = pd.DataFrame({"group": found})
    assert (frame["group"] == labels).all()
    assert (X[found == 2] == X[labels == 2]).all()
    assert (np.arange(len(X))[found] == labels).all()


def test_it_is_an_array_of_labels():
    found = mdav(X, 3)
    assert (np.asarray(found) == found.labels).all()
    assert np.asarray(found, dtype=np.int32).dtype == np.int32
    assert np.asarray(found, dtype=np.intp, copy=False) is found.labels
    with pytest.raises(ValueError, match="none is allowed"):
        np.asarray(found, dtype=float, copy=False)
    assert (len(found), found.shape, found.ndim) == (24, (24,), 1)
    assert (found[3], list(found[:2])) == (found.labels[3], list(found.labels[:2]))
    assert list(found) == found.tolist() == found.labels.tolist()
    assert (found == found.labels).all()
    assert not (found != found.labels).any()
    assert (found.labels == found).all()
    assert (found == mdav(X, 3)).all()
    assert (found.min(), found.max()) == (0, len(found.sizes) - 1)
    assert (found.sizes == np.bincount(found)).all()


def test_what_only_arrays_have_is_asked_of_the_labels():
    with pytest.raises(AttributeError, match=r"'reshape', its labels do: .labels.resh"):
        mdav(X, 3).reshape(2, -1)
    with pytest.raises(AttributeError, match="A Partition has no 'bond'"):
        _ = mdav(X, 3).bond


def test_it_cannot_be_changed_and_its_copies_can():
    found = mdav(X, 3)
    for change in (
        lambda: setattr(found, "labels", 0),
        lambda: delattr(found, "labels"),
    ):
        with pytest.raises(FrozenInstanceError):
            change()
    for labels in (found.labels, np.asarray(found)):
        with pytest.raises(ValueError, match="read-only"):
            labels[0] = 1
    np.array(found)[0] = found.copy()[0] = 1
    assert copy.deepcopy(found) is copy.copy(found) is found
    mine = np.zeros(3, int)
    own = Partition(mine, FOUND)
    mine[:] = 9
    assert own.tolist() == [0, 0, 0]


@pytest.mark.parametrize("looked", [False, True])
def test_a_pickle_has_the_certificate_and_no_record(looked):
    found = mdav(X, 3)
    if looked:
        _ = found.certificate
    data = pickle.dumps(found)
    again = pickle.loads(data)
    assert (again == found).all()
    assert again.certificate == found.certificate
    for records in (X, (X - X.mean(axis=0)) / X.std(axis=0)):
        assert not any(value.tobytes() in data for value in records.ravel())


def test_once_looked_at_it_lets_go_of_the_records():
    found = mdav(X, 3)
    _ = found.certificate
    assert all(proof._ways is None for proof in found.evidence)


def test_one_of_each_attribute_has_a_certificate_of_each():
    found = individual_ranking(X, 3)
    parts = [univariate(x, 3) for x in X.T]
    assert found.shape == (24, 3)
    assert [c.objective for c in found.certificates] == [p.loss for p in parts]
    assert found.certificate.objective == pytest.approx(sum(p.loss for p in parts))
    assert found.certificate.status is Status.OPTIMAL
    assert found.sizes.sum(axis=0).tolist() == [24, 24, 24]
    said = "Partition: 24 records, each of 3 attributes in groups of "
    assert repr(found).startswith(said)


def test_blocks_have_a_certificate_each_and_own_functions_one_on_z_scores():
    found = in_blocks(X, 3, [[0, 2], [1]])
    assert found.shape == (24, 3)
    parts = mdav(X[:, [0, 2]], 3), mdav(X[:, [1]], 3)
    assert [c.objective for c in found.certificates] == [p.loss for p in parts]
    mine = in_blocks(X, 3, [[0, 2], [1]], method=lambda X, k: mdav(X, k).labels)
    assert [c.objective for c in mine.certificates] == [p.loss for p in parts]
    assert mine.certificate.bound == pytest.approx(found.certificate.bound)


def test_a_certificate_of_several_blocks_is_no_better_than_the_worst():
    unproven = Certificate(Status.LIMIT, 1.0, None, 0.0, "yours", 0.25)
    both = Partition(np.zeros((4, 2), int), [FOUND, unproven]).certificate
    assert both == Certificate(Status.LIMIT, 3.0, None, 0.0, "mine, yours", 0.75)


def test_what_is_shown_names_sizes_and_no_record():
    found = Partition([0, 0, 1, 1, 1], FOUND, merging=FOUND)
    assert repr(found) == "Partition: 5 records in 2 groups of 2 to 3"
    shown = found._repr_html_()
    assert "5 records in 2 groups of 2 to 3" in shown
    assert "merging" in shown
    assert shown.count("locally optimal") == 2


def test_a_notebook_does_not_wait_for_the_bound_of_many_records(counted):
    many = RNG.normal(size=(20_001, 1))
    assert ".certificate" in mdav(many, 3)._repr_html_()
    assert not counted


@pytest.mark.parametrize("name", ["local_search", "blocked", "univariate"])
def test_the_twins_are_refused_by_the_name_of_the_one(name):
    with pytest.raises(ImportError, match=f"{name} itself returns a Partition"):
        getattr(partition, f"{name}_certified")


@pytest.mark.parametrize(
    "labels",
    [
        [],
        3,
        np.zeros((2, 2, 2), int),
        np.zeros((4, 0), int),
        [0.0, 1.0],
        [True, False],
        ["a", "b"],
        [0, 2, 2],
        [1, 1],
        [0, -1],
        [[0, 0], [0, 2]],
        np.array([0, 2**63], np.uint64),
    ],
)
def test_labels_that_name_no_groups_make_no_partition(labels):
    proof = mdav(X, 3).certificate
    with refused(JobError) as error:
        partition.Partition(labels, proof)
    assert "pass" in error.value.fix or "number the groups" in error.value.fix


@pytest.mark.parametrize("proof", [None, "optimal", 3.0, (), [None], {"gap": 0.0}])
def test_what_is_no_certificate_makes_no_partition(proof):
    with refused(JobError):
        partition.Partition([0, 0, 1, 1], proof)


def test_labels_of_a_partition_are_a_copy_that_cannot_be_written_to():
    labels = np.array([0, 0, 1, 1])
    made = partition.Partition(labels, mdav(X, 3).certificate)
    labels[:] = 0
    assert made.tolist() == [0, 0, 1, 1]
    assert not made.labels.flags.writeable
    with pytest.raises(ValueError, match="WRITEABLE"):
        made.labels.flags.writeable = True
    assert partition.Partition(made, made.certificate).tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize("blocks", [[[0, 1]], [[0], [1]]])
def test_its_largest_and_smallest_groups_are_those_of_its_labels(blocks):
    found = partition.in_blocks(X[:, :2], 3, blocks)
    for of in (np.max, np.min):
        assert of(found) == of(found.labels)
        np.testing.assert_array_equal(of(found, axis=0), of(found.labels, axis=0))
        kept = of(found, keepdims=True)
        np.testing.assert_array_equal(kept, of(found.labels, keepdims=True))
    assert type(found.max()) is type(found.min()) is int
