"""Wrong aggregators, each caught by the law that it breaks; right ones are not."""

import time
from dataclasses import replace

import numpy as np
import pytest
from checks.tried import caught

from aggopt.aggregate import AGGREGATORS, mean, median
from aggopt.checks import Ending, _aggregators, report
from aggopt.solvers import Status


def right(X, labels):
    return mean(X, labels)


def with_centroids(X, labels, change):
    found = mean(X, labels)
    return replace(found, centroids=change(found.centroids.copy()))


def bare_values(X, labels):
    return mean(X, labels).values


def a_group_without_a_value(X, labels):
    def lost(c):
        c[0, 0] = np.nan
        return c

    return with_centroids(X, labels, lost)


def an_attribute_less(X, labels):
    return with_centroids(X, labels, lambda c: c[:, 1:])


def rounded(X, labels):
    return with_centroids(X, labels, np.round)


def the_first_record(X, labels):
    X, labels = np.asarray(X, float), np.asarray(labels)
    first = np.unique(labels, return_index=True)[1]
    return replace(mean(X, labels), centroids=X[first])


def by_group_number(X, labels):
    def stretched(c):
        return c * (1 + 0.01 * np.arange(len(c)))[:, None] * (np.ptp(c, axis=0) > 0) + (
            c * (np.ptp(c, axis=0) == 0)
        )

    return with_centroids(X, labels, stretched)


def in_one_scale(X, labels):
    def mixed(c):
        return c + 0.01 * np.std(np.asarray(X, float)) * (np.ptp(c, axis=0) > 0)

    return with_centroids(X, labels, mixed)


def constants_moved(X, labels):
    return with_centroids(X, labels, lambda c: c * (1 + 1e-12))


def with_certificates(X, labels, **what):
    found = mean(X, labels)
    return replace(
        found, certificates=tuple(replace(c, **what) for c in found.certificates)
    )


def lying_bound(X, labels):
    return with_certificates(X, labels, bound=100.0, status=Status.LIMIT)


def optimal_without_proof(X, labels):
    return with_certificates(X, labels, bound=None, status=Status.OPTIMAL)


def missed_by_far(X, labels):
    return with_certificates(X, labels, violation=0.5)


def sorts(X, labels):
    found = mean(X, labels)
    X.sort(axis=0)
    return found


def by_chance(X, labels):
    return with_centroids(X, labels, lambda c: c + np.random.normal(size=c.shape))


def holes_left_out(X, labels):
    return mean(np.nan_to_num(X), labels)


def takes_its_time(X, labels, *, time_limit=None):
    time.sleep(0.3 if time_limit else 0.0)
    return mean(X, labels)


WRONG = [
    (bare_values, "one_value_for_a_group_and_attribute"),
    (a_group_without_a_value, "one_value_for_a_group_and_attribute"),
    (an_attribute_less, "one_value_for_a_group_and_attribute"),
    (rounded, "units_do_not_matter"),
    (the_first_record, "order_of_records_does_not_matter"),
    (by_group_number, "numbers_of_groups_do_not_matter"),
    (in_one_scale, "each_attribute_is_aggregated_by_itself"),
    (constants_moved, "a_constant_attribute_is_kept"),
    (lying_bound, "certificates_agree_with_themselves"),
    (optimal_without_proof, "certificates_agree_with_themselves"),
    (missed_by_far, "certificates_agree_with_themselves"),
    (sorts, "records_are_left_alone"),
    (by_chance, "repeats_itself"),
]


@pytest.mark.parametrize(
    ("wrong", "law"), WRONG, ids=lambda x: getattr(x, "__name__", x)
)
def test_a_wrong_aggregator_is_caught(wrong, law):
    caught(law, wrong)


def test_one_that_fills_holes_in_silence_is_caught():
    wrong = replace(AGGREGATORS["median"], function=holes_left_out)
    caught("what_cannot_be_aggregated_is_refused", wrong)


def test_one_that_ignores_its_limit_is_caught(monkeypatch):
    monkeypatch.setattr(_aggregators, "SOON", 0.1)
    caught("a_time_limit_is_kept", takes_its_time)


def careless(X, labels, **how):
    return median(X, labels)


def test_one_that_says_it_keeps_what_it_does_not_is_caught():
    wrong = replace(AGGREGATORS["mean"], function=careless)
    assert "the mean" in caught("it_keeps_what_it_says", wrong)


def test_a_right_one_is_not_blamed():
    blamed = [str(v) for v in report(right) if v.ending is Ending.BROKEN]
    assert blamed == []
