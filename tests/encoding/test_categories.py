"""Levels of records: counts, and what each candidate costs a group."""

import numpy as np
import pytest
from refusals import refused

from aggopt.encoding.domain import Domain
from aggopt.encoding.levels import Categories
from aggopt.errors import JobError
from aggopt.partition import mdav

TREE = {"a": "low", "b": "low", "c": "high", "low": "any", "high": "any"}
DOMAINS = (Domain.nominal("abc"), Domain.ordinal("abcd"), Domain.hierarchical(TREE))
CODES = np.array([0, 2, 2, 1, 0, 0, 1, 2])
LABELS = np.array([0, 0, 1, 1, 0, 1, 2, 2])


def test_counts_are_those_of_each_group_and_level() -> None:
    found = Categories(DOMAINS[0], CODES).counts(LABELS)
    assert found.tolist() == [[2, 0, 1], [1, 1, 1], [0, 1, 1]]


@pytest.mark.parametrize("domain", DOMAINS, ids=lambda domain: domain.kind)
@pytest.mark.parametrize("nodes", [False, True])
def test_costs_are_sums_of_distances(domain: Domain, nodes: bool) -> None:
    found = Categories(domain, CODES).costs(LABELS, nodes=nodes)
    candidates = len(domain.nodes) if nodes else domain.m
    expected = [
        [
            sum(domain.distances[c, v] for c in CODES[g == LABELS])
            for v in range(candidates)
        ]
        for g in range(3)
    ]
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_equal_costs_are_equal_to_the_last_bit() -> None:
    found = Categories(Domain.ordinal(range(8)), np.arange(8).repeat(3)).costs([0] * 24)
    assert found[0, 3] == found[0, 4] == found.min()


def test_levels_that_no_record_has_are_known() -> None:
    of = Categories(DOMAINS[1], CODES)
    assert of.levels == ("a", "b", "c", "d")
    assert of.observed.tolist() == [True, True, True, False]
    assert of.counts(LABELS).shape == (3, 4)


def test_a_partition_is_taken_for_labels() -> None:
    groups = mdav(CODES[:, None], k=2)
    of = Categories(DOMAINS[0], CODES)
    assert (of.counts(groups) == of.counts(groups.labels)).all()


def test_labels_that_are_none_are_refused() -> None:
    with refused(JobError, "labels have shape"):
        Categories(DOMAINS[0], CODES).counts([0, 1])


def test_no_level_is_shown() -> None:
    assert "QQ" not in repr(Categories(Domain.nominal(["QQ"]), CODES))
