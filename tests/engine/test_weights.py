"""Sampling weights weigh in folders as they do in memory; k counts records."""

import numpy as np
import pandas as pd
import pytest
from folders import QUASI, ROLES, job, masked, persons, put, read
from refusals import refused

import aggopt
from aggopt.engine import run
from aggopt.engine.state.moments import PartMoments
from aggopt.errors import InfeasibleInputError, PrivacyError, TableError

WEIGHED = {**ROLES, "weight": ["w"]}
FULL = {"digits": "full"}


def weighed(n, seed=0):
    """Persons with sampling weights."""
    rng = np.random.default_rng(seed)
    return persons(n, seed).assign(w=1 + rng.gamma(2.0, 10.0, n).round(3))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two files of them."""
    return put(tmp_path_factory.mktemp("weights") / "in", weighed(120), weighed(80, 1))


@pytest.fixture(scope="module")
def release(folder, tmp_path_factory):
    """The release of that folder, which keeps the weighted covariance."""
    asked = job(
        roles=WEIGHED,
        weights={"dominance": 0.5},
        aggregation={"method": "mean", "keep": "covariance"},
        output=FULL,
    )
    return masked(folder, asked, tmp_path_factory.mktemp("weighed") / "out")


def linked(folder, release):
    """Return originals and what is published of them, in one order, and groups."""
    key = read(release.private)
    starts = {"in-0.parquet": 0, "in-1.parquet": 120}
    at = key["input_record"] + key["input_file"].astype(str).map(starts)
    before = read(folder).iloc[at].reset_index(drop=True)
    after = read(release.path).iloc[key["released_record"]].reset_index(drop=True)
    return before, after, pd.factorize(key["group"])[0]


def test_weighted_moments_are_kept(folder, release):
    before, after, _ = linked(folder, release)
    w = before["w"]
    means = [np.average(table[QUASI], axis=0, weights=w) for table in (before, after)]
    assert means[1] == pytest.approx(means[0], rel=1e-12)
    found = [np.cov(table[QUASI].T, aweights=w) for table in (before, after)]
    assert found[1] == pytest.approx(found[0], rel=1e-9)


def test_losses_are_by_weight_as_of_the_same_groups_in_memory(folder, release):
    before, after, labels = linked(folder, release)
    X, w = before[QUASI].to_numpy(float), before["w"].to_numpy()
    il = aggopt.measure.il(X, after[QUASI].to_numpy(), weights=w)
    assert release.measures["information loss"] == pytest.approx(100 * il, rel=1e-9)
    whole = aggopt.aggregate.mean(X, labels, keep="covariance", weights=w)
    ours = release.certificates[", ".join(QUASI)]
    assert ours.objective == pytest.approx(whole.certificates[0].objective, rel=1e-8)
    assert ours.gap <= 1e-9
    away = X - np.average(X, axis=0, weights=w)
    Z = away / np.sqrt(np.average(away**2, axis=0, weights=w))
    means = aggopt.aggregate.mean(Z, labels, weights=w).centroids
    lost = (w / w.mean()) @ ((Z - means[labels]) ** 2)
    of_groups = release.certificates["groups"].objective
    assert of_groups == pytest.approx(lost.sum(), rel=1e-9)


def test_published_weights_are_the_means_of_groups(folder, release):
    before, after, labels = linked(folder, release)
    means = before["w"].groupby(labels).transform("mean")
    assert after["w"].to_numpy() == pytest.approx(means.to_numpy(), rel=1e-12)
    assert release.audit.weight == "w"
    assert "'w' weighs records" in " ".join(release.notes)


def test_no_record_dominates_its_group_by_the_weights_that_it_had(folder, release):
    before, _, labels = linked(folder, release)
    of = before["w"].groupby(labels)
    (check,) = release.audit.promises
    assert 0.5 >= check.found == pytest.approx((of.max() / of.sum()).max())
    assert check.groups == release.audit.groups
    assert "No record is to have more than 0.5" in release.notes[0]


def test_weights_may_be_dropped_and_medians_are_weighted(folder, tmp_path):
    asked = job(
        roles=WEIGHED,
        weights={"published": "drop"},
        aggregation={"method": "median"},
        output=FULL,
    )
    found = masked(folder, asked, tmp_path / "out")
    before, after, labels = linked(folder, found)
    assert list(after) == [*QUASI, "ill", "note"]
    assert found.audit.weight is None
    assert found.audit.identifiers == ()
    X, w = before[QUASI], before["w"]
    expected = aggopt.aggregate.median(X, labels, weights=w).values
    assert after[QUASI].to_numpy() == pytest.approx(expected, rel=1e-9)


def test_the_programs_of_p3m_are_those_of_weighted_groups(folder, tmp_path):
    wish = {"delta": 0.1, "importance": 0.2}
    asked = job(
        roles=WEIGHED, aggregation={"method": "p3m", "margin": 0.0, **wish}, output=FULL
    )
    found = masked(folder, asked, tmp_path / "out")
    before, _, labels = linked(folder, found)
    X, w = before[QUASI], before["w"]
    whole = aggopt.aggregate.p3m(X, labels, weights=w, solver="lagrangian", **wish)
    for name, theirs in zip(QUASI, whole.certificates, strict=True):
        ours = found.certificates[name]
        assert ours.objective == pytest.approx(theirs.objective, rel=1e-8)
        assert ours.violation < 1e-12


def test_equal_weights_weigh_nothing(tmp_path):
    table = persons(100)
    folder = put(tmp_path / "in", table.assign(w=3.7))
    ours = masked(folder, job(roles=WEIGHED), tmp_path / "ours")
    plain = masked(put(tmp_path / "none", table), job(), tmp_path / "out")
    assert read(ours.path).drop(columns="w").equals(read(plain.path))
    assert read(ours.path)["w"].to_numpy() == pytest.approx(3.7, rel=1e-12)


def test_within_strata_groups_are_weighted_too(folder, tmp_path):
    roles = {**WEIGHED, "stratum": ["note"], "other": []}
    found = masked(folder, job(roles=roles, output=FULL), tmp_path / "out")
    before, after, _ = linked(folder, found)
    for stratum in ("a", "b"):
        own = before["note"] == stratum
        w = before["w"][own]
        means = [np.average(t[QUASI][own], axis=0, weights=w) for t in (before, after)]
        assert means[1] == pytest.approx(means[0], rel=1e-12)


def test_the_audit_counts_weights_that_were_not_written(folder, tmp_path, monkeypatch):
    each = run._Run.each

    def meddled(self, step, count, config):
        found = each(self, step, count, config)
        if step == "write":
            path = config.at("weights", 0)
            held = np.load(path)["each"]
            held[7] = held.sum() * 100
            with path.open("wb") as stream:
                np.savez(stream, each=held)
        return found

    monkeypatch.setattr(run._Run, "each", meddled)
    with refused(PrivacyError, "dominance"):
        masked(folder, job(roles=WEIGHED), tmp_path / "out")


def test_weights_of_nobody_are_refused_and_their_file_named(tmp_path):
    table = weighed(20, 1)
    table.loc[3, "w"] = 0.0
    folder = put(tmp_path / "in", weighed(20), table)
    with refused(TableError, "in-1.parquet", "'w'", "20"):
        masked(folder, job(roles=WEIGHED), tmp_path / "out")


def test_weights_that_are_too_far_apart_are_refused(tmp_path):
    light = weighed(20).assign(w=1e-6)
    folder = put(tmp_path / "in", light, weighed(20, 1).assign(w=2.0))
    with refused(TableError, "'w'", "40", "06"):
        masked(folder, job(roles=WEIGHED), tmp_path / "out")


def test_a_weight_that_dominates_all_is_refused(tmp_path):
    table = weighed(20).assign(w=1.0)
    table.loc[3, "w"] = 100.0
    with refused(InfeasibleInputError, "20", "0.6", "'w'"):
        masked(put(tmp_path / "in", table), job(roles=WEIGHED), tmp_path / "out")


def test_moments_by_whole_weights_are_those_of_as_many_records():
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(30, 2)), rng.integers(1, 5, 30).astype(float)
    ours = PartMoments.together(
        [PartMoments.of(X[:9], w[:9]), PartMoments.of(X[9:], w[9:])]
    )
    many = PartMoments.of(np.repeat(X, w.astype(int), axis=0))
    assert (ours.n == many.n).all()
    assert ours.mean == pytest.approx(many.mean)
    assert ours.products == pytest.approx(many.products)


def test_promises_are_counted_among_records_of_equal_published_weights(tmp_path):
    frame = weighed(90).assign(ill=lambda f: f["age"].rank().astype(int) % 5)
    frame["age"] = frame["age"].rank().astype(int) % 3 * 20
    roles = {
        "quasi-identifier": ["age"],
        "confidential": ["ill"],
        "weight": "w",
        "identifier": [n for n in frame if n not in ("age", "ill", "w")],
    }
    privacy = {"k": 5, "l": 2, "repair": "merge"}
    asked = job(roles=roles, privacy=privacy, weights={"dominance": 1.0}, output=FULL)
    release = masked(put(tmp_path / "in", frame), asked, tmp_path / "out")
    published = read(release.path).groupby(["age", "w"])["ill"]
    (found,) = release.audit.promises
    assert found.groups == published.ngroups > 3
    assert found.found == published.nunique().min()
