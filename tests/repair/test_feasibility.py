"""Which t is possible: by every partition, and by the messages."""

from fractions import Fraction

import closeness as oracle
import numpy as np
import pytest
from partition.exact import partitions
from refusals import refused

from aggopt import privacy
from aggopt.errors import AggoptError, InfeasibleInputError
from aggopt.repair import closeness, held_t, smallest_t


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("groups", [1, 2, 3])
def test_no_partition_is_closer_than_the_bound(seed, groups):
    k = 2
    _, values = oracle.instance(seed, 7, ties=bool(seed % 2))
    found = smallest_t(values, k, groups=groups)
    best = min(
        privacy.t_closeness(labels, values)
        for parts in partitions(list(range(7)), k)
        if len(parts) >= groups
        for labels in [labelled(parts, 7)]
    )
    assert found.bound <= best + 1e-12
    assert best <= found.t
    assert found.bound <= found.t
    assert np.bincount(found.labels).min() >= k
    assert len(set(found.labels)) == groups


@pytest.mark.parametrize("seed", range(30))
def test_two_groups_reach_the_bound(seed):
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(2, 60)), int(rng.integers(1, 4))
    values = rng.integers(0, 2 + seed, size=max(n, 2 * k))
    values[:2] = 0, 1
    found = smallest_t(values, k)
    assert found.bound <= found.t <= max(found.bound, 0) + 1.0001e-6
    assert np.bincount(found.labels).min() >= k
    assert privacy.t_closeness(found.labels, values) == pytest.approx(found.bound)


def test_three_groups_are_brought_closer_than_dealt():
    found = smallest_t([0, 0, 0, 0, 0, 1, 2, 3], 2, groups=3)
    dealt = np.array([0, 1, 2, 2, 1, 0, 0, 1])
    worst = privacy.t_closeness(dealt, [0, 0, 0, 0, 0, 1, 2, 3])
    assert found.t < worst - 0.01


def labelled(parts, n):
    labels = np.empty(n, int)
    for g, part in enumerate(parts):
        labels[part] = g
    return labels


@pytest.mark.parametrize("seed", range(4))
def test_the_t_that_is_named_can_be_promised_and_less_cannot(seed):
    Z, values = oracle.instance(seed, 30)
    labels = np.arange(30) % 4
    held = held_t(labels, values)
    assert held.records == np.bincount(labels)[held.group]
    assert oracle.holds(values, labels, 2, Fraction(str(held.t)))
    assert not oracle.holds(
        values, labels, 2, Fraction(str(held.t)) - Fraction(1, 10**6)
    )
    alone = np.where(labels == held.group, 0, 1)
    worst = privacy.t_closeness(labels, values)
    assert privacy.t_closeness(alone, values) == pytest.approx(worst)
    found = closeness(Z, values, labels, 2, held.t, method="swap")
    assert found.certificate.violation == 0.0


def test_many_groups_of_distinct_values_reach_what_strata_guarantee():
    n, groups = 1000, 50
    found = smallest_t(np.random.default_rng(0).normal(size=n), 5, groups=groups)
    s = n // groups
    assert found.t <= (n - s) / (2 * (n - 1) * s) + 1e-6
    assert found.bound == pytest.approx((n + s) * (n - s) / (4 * n * (n - 1) * s), 0.02)


def test_a_constant_attribute_and_one_group():
    with pytest.warns(UserWarning, match="one value only"):
        found = smallest_t([3, 3, 3, 3], 2)
    assert found == (1e-6, 0.0, 0, 2, pytest.approx([0, 1, 1, 0]))
    with pytest.warns(UserWarning, match="one value only"):
        assert held_t([0, 0, 1], [3, 3, 3]).t == 1e-6
    assert smallest_t([1, 2, 3], 3, groups=1)[:2] == (1e-6, 0.0)
    t = held_t([0] * 10, range(10)).t  # the smallest that can be promised
    Z = np.arange(10)[:, None]
    assert closeness(Z, range(10), [0] * 10, 2, t).labels.max() == 0
    assert "array" not in repr(smallest_t([1, 2, 3, 4], 2))


def test_refusals_say_what_is_possible():
    with refused(InfeasibleInputError):
        smallest_t(range(7), 2, groups=4)
    with refused(AggoptError):
        smallest_t(range(7), 2, groups=0)
    with refused(AggoptError):
        held_t([[0], [0, 1]], range(2))
    with refused(AggoptError):
        smallest_t([[0], [0, 1]], 1)
    with refused(AggoptError):
        held_t([0] * 7, np.ma.masked_less(range(7), 2))
    with refused(AggoptError):
        held_t([0, 0], range(7))
