"""The repair "search": merged, then moved and swapped, each change checked exactly."""

import numpy as np
import pytest
from drawn import examples
from hypothesis import given
from hypothesis import strategies as st
from tables import promising, salaried
from test_privacy_models import ASKED, QIS, paid

import aggopt
import aggopt.repair._methods.search as checked_search_module
from aggopt import partition
from aggopt.core.deadline import Deadline
from aggopt.privacy.models.l_diversity import Diversity
from aggopt.repair._methods.search import MERGED, search_with_checks
from aggopt.repair.merge_until_satisfied import merge_until_satisfied
from aggopt.solvers import Status


def loss(X, labels):
    means = np.stack([np.bincount(labels, x) for x in X.T]) / np.bincount(labels)
    return float(((X - means.T[labels]) ** 2).sum())


@given(st.integers(0, 10**6), st.integers(4, 50), st.integers(1, 4))
@examples(20)
def test_it_never_loses_more_and_keeps_what_held(seed, n, k):
    rng = np.random.default_rng(seed)
    X, values = rng.normal(size=(n, 2)), rng.integers(0, 4, n)
    values[:2] = 0, 1
    values = np.unique(values, return_inverse=True)[1]
    asked = [Diversity("x", values, 2)]
    merged = merge_until_satisfied(X, partition.mdav(X, k), asked)
    found, ended = search_with_checks(X, merged, k, asked, Deadline(None))
    assert ended
    assert loss(X, found) <= loss(X, merged) * (1 + 1e-12)
    assert asked[0].is_satisfied(found)
    assert np.bincount(found).min() >= k


def test_a_record_goes_where_it_belongs_unless_that_breaks_a_requirement():
    X = np.array([[0.0], [0.1], [9.0], [9.1], [9.2], [0.2]])
    labels, same = np.array([0, 0, 1, 1, 1, 1]), np.zeros(6, int)
    found, _ = search_with_checks(X, labels, 2, [], Deadline(None))
    assert found.tolist() == [0, 0, 1, 1, 1, 0]
    codes = np.array([0, 1, 0, 0, 0, 1])
    kept, _ = search_with_checks(
        X, labels, 2, [Diversity("x", codes, 2)], Deadline(None)
    )
    assert Diversity("x", codes, 2).is_satisfied(kept)
    assert (search_with_checks(X, same, 2, [], Deadline(None))[0] == same).all()


def test_when_time_is_up_the_groups_given_come_back():
    X, labels = np.arange(8.0)[:, None], np.array([0, 1] * 4)
    found, ended = search_with_checks(X, labels, 2, [], Deadline(0.0))
    assert (found == labels).all()
    assert not ended


def test_when_time_is_up_no_neighbours_are_looked_up(monkeypatch):
    monkeypatch.delattr(checked_search_module, "find_neighbours")
    labels = np.array([0, 1] * 4)
    given = (np.arange(8.0)[:, None], labels, 2, [], Deadline(0.0))
    assert search_with_checks(*given) == (labels, False)


@pytest.mark.parametrize("name", ASKED)
@pytest.mark.parametrize("method", ["local_search", "blocked"])
def test_searches_keep_what_is_promised_without_a_repair(name, method):
    asked, holds = ASKED[name]
    how = {"method": method, "effort": "fast"}
    release = aggopt.mask(paid(), promising(**asked, partition=how))
    assert holds(release.table[QIS], release.table["salary"])
    assert release.audit.groups > 1
    assert release.audit.holds
    proof = release.manifest()["partition"][0]["certificate"]
    assert proof["solver"] == "merging, then changes checked one by one"
    assert proof["status"] in (Status.LOCAL.value, Status.OPTIMAL.value)
    assert 0 < proof["bound"] <= proof["objective"]
    assert any('by repair = "search"' in note for note in release.notes)


@pytest.mark.parametrize("name", ASKED)
def test_it_loses_no_more_than_merging(name):
    asked, holds = ASKED[name]
    merged, searched = (
        aggopt.mask(paid(), promising(**asked, repair=repair))
        for repair in ("merge", "search")
    )
    assert holds(searched.table[QIS], searched.table["salary"])
    assert searched.measures.sse <= merged.measures.sse * (1 + 1e-9)


def test_groups_that_need_nothing_keep_their_certificate():
    frame = salaried()
    asked = {"l": 2, "partition": {"method": "local_search", "effort": "fast"}}
    plain = aggopt.mask(frame, promising(partition=asked["partition"]))
    release = aggopt.mask(frame, promising(**asked))
    assert release.audit.holds
    assert release.measures.sse <= plain.measures.sse * (1 + 1e-9)


def test_a_time_limit_is_said_to_have_ended_it():
    how = {"method": "search", "time_limit": 1e-9}
    release = aggopt.mask(paid(), promising(p=3, repair=how))
    proof = release.manifest()["partition"][0]["certificate"]
    assert release.audit.holds
    assert proof["status"] == Status.LIMIT.value


def test_progress_is_told_while_groups_are_merged_and_while_they_are_searched():
    told = []
    aggopt.mask(
        paid(),
        promising(p=3, repair="search"),
        progress=lambda step, share: told.append(share) if step == "repair" else None,
    )
    assert told[0] == 0.0
    assert MERGED in told
    assert told == sorted(told)
    assert told[-1] == 1.0


def test_a_job_that_names_a_repair_has_no_other():
    how = {"method": "local_search", "effort": "fast"}
    named = aggopt.mask(paid(), promising(p=3, repair="merge", partition=how))
    assert named.job.privacy.repair.method == "merge"
    assert not any('"search"' in note for note in named.notes)
    plain = aggopt.mask(paid(), promising(partition=how))
    assert plain.job.privacy.repair is None


def test_a_recommended_search_is_repaired_as_a_named_one_is():
    release = aggopt.mask(paid(), promising(p=3, partition={"method": "recommended"}))
    assert release.audit.holds
    assert release.job.partition.method == "local_search"
    assert release.job.privacy.repair.method == "search"
    assert any('by repair = "search"' in note for note in release.notes)
