"""Steps within strata: coordinates that part them, distances in their own units."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from refusals import refused
from stratified import within

import aggopt
from aggopt.aggregate import Aggregation
from aggopt.core.standardise import Scale
from aggopt.errors import InfeasibleInputError
from aggopt.models.shared.shift_data import FARTHEST
from aggopt.pipeline.aggregate import by_stratum as steps
from aggopt.pipeline.aggregate.by_stratum import (
    _rescale_distances,
    _sum_certificates,
    aggregate_by_stratum,
)
from aggopt.pipeline.aggregate.by_stratum import notes as by_stratum_notes
from aggopt.pipeline.partition import strata
from aggopt.pipeline.partition.strata import (
    partition_within_strata,
    repair_within_strata,
    separate_strata,
)
from aggopt.solvers import Certificate, Status
from aggopt.solvers.certificate import sum_certificates


def test_strata_are_farther_apart_than_any_two_records() -> None:
    whole = aggopt.encode(pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [1.0, 4.0, 2.0]}))
    records = replace(whole, coordinates=np.array([[0.0, 0.0], [3.0, 4.0], [1.0, 1.0]]))
    assert separate_strata(records, None) is records
    parts = SimpleNamespace(labels=np.array([0, 2, 1]))
    found = separate_strata(records, parts).coordinates
    assert found.tolist() == [[0.0, 0.0, 0.0], [3.0, 4.0, 12.0], [1.0, 1.0, 6.0]]


def test_a_repair_within_strata_tells_how_far_it_is(monkeypatch) -> None:
    made, heard = object(), []
    monkeypatch.setattr(strata, "repair_block", lambda *of: heard.append(of) or made)
    monkeypatch.setattr(strata, "separate_strata", lambda *of: of)
    parts = SimpleNamespace(labels=np.array([0, 0, 1]))
    of = ("block", "records", parts, "job", "held", "told", "weights")
    assert repair_within_strata(*of) is made
    ((*of, more, weights),) = heard
    assert of == ["block", ("records", parts), "job", "held", "told"]
    assert weights == "weights"
    (inside,) = more
    assert (inside.model, inside.strata is parts.labels) == ("strata", True)


def test_distances_are_told_in_deviations_of_the_stratum() -> None:
    own = np.array([[0.0, 5.0, 0.0], [1.0, 5.0, 6.0]])  # deviations of 1/2, 0 and 3
    delta = np.array([[0.5, 0.25, 1.0], [0.0, 0.5, 0.5]])
    found = _rescale_distances(delta, np.array([2.0, 2.0, 2.0]), own)
    expected = [[2.0, 0.25, 2 / 3], [0.0, 0.5, 1 / 3]]
    assert found.ravel() == pytest.approx(np.ravel(expected))
    far = _rescale_distances(
        np.array([[FARTHEST], [2 * FARTHEST]]), np.array([2.0]), own[:, :1]
    )
    assert far.tolist() == [[FARTHEST], [2 * FARTHEST]]
    one, weights = np.array([[0.0], [1.0]]), np.array([0.5, 1.5])  # 3 / 16 apart
    found = _rescale_distances(delta[:, :1], np.array([2.0]), one, weights)
    assert found[:, 0] == pytest.approx([4 / 3**0.5, 0.0])


def test_strata_are_parts_of_which_every_value_is_there(monkeypatch) -> None:
    heard = []
    monkeypatch.setattr(strata, "partition_within", lambda *of: heard.append(of))
    parts = SimpleNamespace(labels=np.array([0, 1, 0]))
    columns = ((0, 2), (1,))
    partition_within_strata(
        ["one", "two", "three"], parts, columns, 3, "how", "names", 2
    )
    ((records, seen, made, k, how, names, jobs),) = heard
    assert (records, seen, k) == (["one", "two", "three"], columns, 3)
    assert (how, names, jobs) == ("how", "names", 2)
    assert [part.held.tolist() for part in made] == [[[True] * 2] * 3, [[True]] * 3]
    assert {part.held.dtype for part in made} == {np.dtype(bool)}
    assert all(part.labels is parts.labels for part in made)
    partition_within_strata(["one"], parts, columns, 3, "how", "names")
    assert heard[1][-1] == 1


def test_it_is_said_that_strata_are_aggregated_by_themselves() -> None:
    kept, plain = within(aggregation={"method": "mean", "keep": "variance"}), within()
    three = SimpleNamespace(sizes=np.array([3, 4, 5]))
    assert by_stratum_notes(kept, None) == by_stratum_notes(plain, three) == []
    assert by_stratum_notes(kept, three) == [
        "Numbers are aggregated in each of 3 strata by themselves, so that what is "
        "kept is kept in each; a certificate is the sum of theirs, each on z-scores of "
        "its own stratum."
    ]


# --- what is made of each stratum

ROWS = [np.array([0, 2, 4]), np.array([1, 5]), np.array([3])]
STRATA = SimpleNamespace(members=ROWS)
X = np.array([[0.0, 1], [9, 2], [2, 0], [5, 5], [4, 2], [7, 8]])
LABELS = np.array([2, 0, 2, 1, 2, 0])
PROOF = Certificate(Status.OPTIMAL, 2.0, 1.5, 0.0, "somebody", 0.25)


@pytest.fixture
def combine():
    """Return an aggregation that notes what it is told, and publishes the first."""
    heard = []

    def noting(X, labels, *, progress, **settings):
        heard.append((X, labels, settings))
        progress(0.5)
        first = np.unique(labels, return_index=True)[1]
        return Aggregation(X[first], labels, (PROOF, PROOF))

    noting.heard = heard
    return noting


def test_each_stratum_is_aggregated_as_a_table_of_its_own(combine) -> None:
    shares = []
    settings = {
        "delta": np.full((6, 2), 0.5),
        "importance": np.arange(12.0).reshape(6, 2),
        "start": np.array([[10.0, 11], [20, 21], [30, 31]]),
        "lower": np.array([0.0, 1.0]),
        "upper": np.array([8.0, 9.0]),
        "time_limit": 12.0,
        "alpha": 0.5,
        "progress": shares.append,
    }
    made = aggregate_by_stratum(combine, X, LABELS, settings, STRATA)
    assert shares == pytest.approx([1.5 / 6, 4 / 6, 5.5 / 6])
    for (own, labels, told), rows, group, limit in zip(
        combine.heard, ROWS, (2, 0, 1), (6.0, 4.0, 2.0), strict=True
    ):
        assert own.tolist() == X[rows].tolist()
        assert labels.tolist() == [0] * len(rows)
        assert told["importance"].tolist() == settings["importance"][rows].tolist()
        assert told["start"].tolist() == settings["start"][[group]].tolist()
        assert (told["lower"].tolist(), told["upper"].tolist()) == ([0, 1], [8, 9])
        assert (told["time_limit"], told["alpha"]) == (pytest.approx(limit), 0.5)
        in_own = _rescale_distances(settings["delta"][rows], X.std(axis=0), X[rows])
        assert told["delta"] == pytest.approx(in_own)
    assert made.centroids.tolist() == [[9.0, 2], [5, 5], [0, 1]]
    assert made.centroids.dtype == np.float64
    assert made.labels is LABELS
    assert made.together == ((0,), (1,))
    assert [(c.objective, c.bound) for c in made.certificates] == [(6.0, 4.5)] * 2


def test_several_processes_share_the_strata(monkeypatch) -> None:
    heard = []

    def first(X, labels, **settings):
        assert settings == {"alpha": 0.5}
        rows = np.unique(labels, return_index=True)[1]
        return Aggregation(X[rows], labels, (PROOF, PROOF))

    def shared(task, parts, jobs, told):
        heard.append((len(parts), jobs, told))
        return [task(part) for part in parts]

    monkeypatch.setattr(steps, "map_in_processes", shared)
    shares = []
    for more in ({"progress": shares.append}, {}):
        made = aggregate_by_stratum(first, X, LABELS, {"alpha": 0.5, **more}, STRATA, 2)
        assert made.centroids.tolist() == [[9.0, 2], [5, 5], [0, 1]]
    (*of, told), (*_, silent) = heard
    assert (of, told) == ([3, 2], shares.append)
    assert silent(0.5) is None
    one = SimpleNamespace(members=[np.arange(6)])
    aggregate_by_stratum(first, X, LABELS, {"alpha": 0.5}, one, 2)
    aggregate_by_stratum(first, X, LABELS, {"alpha": 0.5}, STRATA)
    assert len(heard) == 2


def test_deviations_of_table_and_stratum_are_by_weight(combine) -> None:
    w, delta = np.array([0.5, 0.5, 2, 1, 1, 1]), np.full((6, 2), 0.25)
    settings = {"delta": delta, "weights": w, "progress": lambda share: None}
    aggregate_by_stratum(combine, X, LABELS, settings, STRATA)
    spread = Scale.of(X, w).spread
    for (own, _, told), rows in zip(combine.heard, ROWS, strict=True):
        assert told["weights"].tolist() == w[rows].tolist()
        assert told["delta"] == pytest.approx(
            _rescale_distances(delta[rows], spread, own, w[rows])
        )


def test_each_attribute_of_a_stratum_has_groups_of_its_own(combine) -> None:
    labels = np.stack([LABELS, np.array([2, 1, 3, 0, 2, 1])], axis=1)
    start = np.arange(8.0).reshape(4, 2)

    def first(X, labels, *, start):
        combine.heard.append((labels, start))
        m = labels.max() + 1
        centroids = np.full((m, 2), np.nan)
        for j, own in enumerate(labels.T):
            there = np.unique(own, return_index=True)[1]
            centroids[: len(there), j] = X[there, j]
        return Aggregation(centroids, labels, (PROOF, PROOF))

    made = aggregate_by_stratum(first, X, labels, {"start": start}, STRATA)
    (own, told), *_ = combine.heard
    assert own.tolist() == [[0, 0], [0, 1], [0, 0]]
    assert told.ravel() == pytest.approx([4.0, 5.0, np.nan, 7.0], nan_ok=True)
    expected = [[9.0, 5.0], [5.0, 2.0], [0.0, 1.0], [np.nan, 0.0]]
    assert made.centroids.ravel() == pytest.approx(np.ravel(expected), nan_ok=True)


def test_an_error_of_a_stratum_says_that_it_is_of_one() -> None:
    def refuse(X, labels):
        raise InfeasibleInputError("There are too few.", fix="ask for less.")

    with refused("In one stratum: There are too few.", "ask for less."):
        aggregate_by_stratum(refuse, X, LABELS, {}, STRATA)


def test_certificates_are_of_all_attributes_where_strata_differ() -> None:
    def made(together, count):
        return Aggregation(X[:1], LABELS, (PROOF,) * count, together)

    alone = made((), 2), made(((0,), (1,)), 2)
    assert _sum_certificates(alone, 2) == (
        ((0,), (1,)),
        (sum_certificates([PROOF] * 2),) * 2,
    )
    both = made(((0, 1),), 1)
    assert _sum_certificates([both, both], 2) == (
        ((0, 1),),
        (sum_certificates([PROOF] * 2),),
    )
    assert _sum_certificates([*alone, both], 2) == (
        ((0, 1),),
        (sum_certificates([PROOF] * 5),),
    )
