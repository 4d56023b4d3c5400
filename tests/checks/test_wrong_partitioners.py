"""Wrong partitioners, each caught by the law that it breaks; right ones are not."""

import time
from dataclasses import replace

import numpy as np
import pytest
from checks.tried import by, caught

from aggopt.checks import Ending, _partitioners, report
from aggopt.core.validation import check_matrix
from aggopt.partition import PARTITIONERS, Partition, mdav
from aggopt.partition.shared.evidence import certify_squares
from aggopt.partition.shared.scaling import scale_records
from aggopt.partition.shared.settings import Grouping
from aggopt.solvers import Certificate, Status


class Careless(Grouping):
    pass


def right(X, k):
    return mdav(X, k).labels


def labels_of(X, k):
    return mdav(X, k).labels.copy()


def a_group_too_small(X, k):
    labels = labels_of(X, k)
    labels[np.flatnonzero(labels == 0)[0]] = labels.max()
    return labels


def groups_from_one(X, k):
    return labels_of(X, k) + 1


def a_number_left_out(X, k):
    return labels_of(X, k) * 2


def shares_of_groups(X, k):
    return labels_of(X, k).astype(float)


def a_record_forgotten(X, k):
    return labels_of(X, k)[1:]


def sorts_the_records(X, k):
    labels = labels_of(X, k)
    np.asarray(X).sort(axis=0)
    return labels


def by_chance(X, k):
    n = len(check_matrix(X))
    return np.random.permutation(np.minimum(np.arange(n) // k, n // k - 1))


def in_own_units(X, k):
    return mdav(X, k, scale="none").labels


def as_they_come(X, k):
    n = len(check_matrix(X))
    return np.minimum(np.arange(n) // k, n // k - 1)


def along(values, k):
    n, labels = len(values), np.empty(len(values), np.intp)
    labels[np.argsort(values, kind="stable")] = as_they_come(values[:, None], k)
    assert n
    return labels


def by_the_first_attribute(X, k):
    return along(check_matrix(X)[:, 0], k)


def by_the_count_of_attributes(X, k):
    X = check_matrix(X)
    return mdav(X, k, ending="nearest" if X.shape[1] > 3 else "3k").labels


def one_group(X, k):
    return np.zeros(len(check_matrix(X)), np.intp)


def arrays_alone(X, k):
    return mdav(X[:, :], k).labels


def by_memory(X, k):
    return mdav(X, k, ending="nearest" if X.flags.f_contiguous else "3k").labels


def copies_apart(X, k):
    labels = labels_of(X, k)
    if k > 1 and labels.max():
        one, other = (np.flatnonzero(labels == g)[0] for g in (0, 1))
        labels[one], labels[other] = labels[other], labels[one]
    return labels


def far_from_each_other(X, k):
    X = check_matrix(X)
    m = max(1, len(X) // k)
    labels = np.empty(len(X), np.intp)
    labels[np.argsort(X.sum(axis=1), kind="stable")] = np.arange(len(X)) % m
    return labels


def any_k(X, k):
    n = len(X)
    return mdav(X, min(max(int(k or 1), 1), n)).labels


def holes_filled(X, k):
    X = np.asarray(X)
    return mdav(np.nan_to_num(X) if X.dtype.kind == "f" else X, k).labels


def certified(labels, objective, bound):
    made = Certificate(Status.OPTIMAL, objective, bound, 0.0, "claimed", 0.0)
    return Partition(labels, made)


def lying_bound(X, k):
    found = mdav(X, k)
    return certified(found.labels, found.loss, 1.5 * found.loss)


def half_the_loss(X, k):
    found = mdav(X, k)
    return certified(found.labels, found.loss / 2, 0.0)


def takes_its_time(X, k, *, time_limit=None):
    time.sleep(0.3 if time_limit else 0.0)
    return mdav(X, k).labels


def by_weight(X, k, weights=None):
    found = mdav(X, k)
    if weights is None or np.ptp(weights) == 0:
        return found
    Z = scale_records(X, "z", weights)
    evidence = certify_squares(
        Z, found.labels, k, by="right", seconds=0.0, weights=weights
    )
    return Partition(found.labels, evidence)


def ones_are_weights(X, k, weights=None):
    return mdav(X if weights is None else X[:, :1] * [1.0, 0.0, 0.0], k)


def weights_of_a_hundred(X, k, weights=None):
    heavy = weights is not None and weights.max() > 100
    return by_weight(X[:, :1] if heavy else X, k, weights)


def losses_of_another_scale(X, k, weights=None):
    return by_weight(X, k, None if weights is None else weights / weights.mean())


def losses_without_weights(X, k, weights=None):
    return mdav(X, k)


def a_bound_of_equal_weights(X, k, weights=None):
    found = by_weight(X, k, weights)
    return certified(found.labels, found.loss, 10 * found.loss)


WRONG_BY_WEIGHT = [
    (ones_are_weights, "equal_weights_change_nothing"),
    (weights_of_a_hundred, "scale_of_weights_does_not_matter"),
    (losses_of_another_scale, "scale_of_weights_does_not_matter"),
    (losses_of_another_scale, "whole_weights_are_replicated_records"),
    (losses_without_weights, "whole_weights_are_replicated_records"),
    (a_bound_of_equal_weights, "whole_weights_are_replicated_records"),
]


@pytest.mark.parametrize(
    ("wrong", "law"), WRONG_BY_WEIGHT, ids=lambda x: getattr(x, "__name__", x)
)
def test_one_that_weighs_wrongly_is_caught(wrong, law):
    caught(law, wrong)
    assert by(law, by_weight).ending is Ending.KEPT
    assert by(law, right).ending is Ending.NOT_TRIED


WRONG = [
    (a_group_too_small, "groups_have_k_records"),
    (groups_from_one, "groups_have_k_records"),
    (a_number_left_out, "groups_have_k_records"),
    (shares_of_groups, "groups_have_k_records"),
    (a_record_forgotten, "groups_have_k_records"),
    (sorts_the_records, "records_are_left_alone"),
    (by_chance, "repeats_itself"),
    (in_own_units, "units_do_not_matter"),
    (in_own_units, "doubled_and_negated_units_do_not_matter"),
    (as_they_come, "order_of_records_does_not_matter"),
    (by_the_first_attribute, "order_of_attributes_does_not_matter"),
    (by_the_count_of_attributes, "constant_attribute_does_not_matter"),
    (one_group, "no_group_could_be_split"),
    (by_memory, "container_does_not_matter"),
    (copies_apart, "copies_stay_together"),
    (far_from_each_other, "groups_lose_less_than_chance"),
    (lying_bound, "certificate_is_true"),
    (half_the_loss, "certificate_is_true"),
]


@pytest.mark.parametrize(
    ("wrong", "law"), WRONG, ids=lambda x: getattr(x, "__name__", x)
)
def test_a_wrong_partitioner_is_caught(wrong, law):
    caught(law, wrong)


@pytest.mark.parametrize(
    ("wrong", "law"),
    [
        (arrays_alone, "container_does_not_matter"),
        (any_k, "impossible_k_is_refused"),
        (holes_filled, "unusable_records_are_refused"),
    ],
    ids=lambda x: getattr(x, "__name__", x),
)
def test_a_wrong_method_is_caught(wrong, law):
    method = replace(PARTITIONERS["mdav"], function=wrong, settings=Careless)
    caught(law, method)


def test_one_that_ignores_its_limit_is_caught(monkeypatch):
    monkeypatch.setattr(_partitioners, "SOON", 0.1)
    assert "it took" in caught("a_time_limit_is_kept", takes_its_time)


def test_one_that_guarantees_what_it_does_not_keep_is_caught():
    method = PARTITIONERS["diverse_vmdav"]

    def careless(X, confidential, k, l):  # noqa: E741
        return mdav(X, k)

    wrong = replace(method, name="careless", function=careless, settings=Careless)
    why = caught("it_keeps_what_it_guarantees", wrong)
    assert "a group with 1 values, l = 2" in why


def test_a_right_one_is_not_blamed():
    blamed = [str(v) for v in report(right) if v.ending is Ending.BROKEN]
    assert blamed == []
