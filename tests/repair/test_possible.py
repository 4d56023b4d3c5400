"""Which t is possible: by every partition, and by the messages."""

from fractions import Fraction

import closeness as oracle
import numpy as np
import pytest
from partition.exact import partitions

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
    assert smallest_t([3, 3, 3, 3], 2) == (0.0, 0.0, 0, 2, pytest.approx([0, 1, 1, 0]))
    assert smallest_t([1, 2, 3], 3, groups=1)[:2] == (0.0, 0.0)
    assert "array" not in repr(smallest_t([1, 2, 3, 4], 2))


def test_refusals_say_what_is_possible():
    with pytest.raises(InfeasibleInputError, match="at most 3 groups, or a k of at mo"):
        smallest_t(range(7), 2, groups=4)
    with pytest.raises(AggoptError, match="whole number from 1 up"):
        smallest_t(range(7), 2, groups=0)
    with pytest.raises(AggoptError, match="one group number per record"):
        held_t([0, 0], range(7))
