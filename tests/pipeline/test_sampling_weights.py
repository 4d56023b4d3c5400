"""Sampling weights of a job: what is weighed, published, kept and refused."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from drawn import examples
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused
from surveys import QUASI, ROLES, heavy, largest_share, masked, sample, survey

import aggopt
from aggopt import Job
from aggopt.core.record_weights import scale_to_mean_one
from aggopt.data.table import Table
from aggopt.errors import AggoptError, PrivacyError
from aggopt.measure import il
from aggopt.pipeline.finish.published_values import publish_weights
from aggopt.pipeline.review.review_release import assess_release
from aggopt.release.audit.audit import audit_release

P3M = {"method": "p3m", "delta": 0.2}


@pytest.fixture(scope="module")
def release():
    return masked(sample())


def weighted_means(X, labels, w):
    groups = [labels == j for j in range(labels.max() + 1)]
    return np.array([np.average(X[g], axis=0, weights=w[g]) for g in groups])[labels]


def test_dropped_weights_leave_no_trace() -> None:
    job, frame = survey(weights={"published": "drop"}), sample()
    table = replace(Table.of(frame, job.roles), codebooks={"age": "a", "w": "b"})
    found = publish_weights(table, np.arange(48) // 3, frame["w"].to_numpy(), job)
    assert found.frame.columns == ["age", "note", "income"]
    assert found.codebooks == {"age": "a"}
    assert found.roles == job.released_roles != table.roles


# --- what is weighed


def test_groups_publish_weighted_means(release) -> None:
    frame, labels = sample(), release.labels
    means = weighted_means(frame[QUASI].to_numpy(), labels, frame["w"].to_numpy())
    assert release.table[QUASI].to_numpy() == pytest.approx(means)
    assert min(np.bincount(labels)) >= 3


def test_the_certificate_of_groups_is_of_the_weighted_loss(release) -> None:
    frame = sample()
    w = scale_to_mean_one(frame["w"].to_numpy())
    X = frame[QUASI].to_numpy()
    spread = np.sqrt(np.cov(X.T, aweights=w, ddof=0).diagonal())
    away = (release.table[QUASI].to_numpy() - X) / spread
    proof = release.blocks[0].certificate
    assert proof.objective == pytest.approx(w @ (away**2).sum(axis=1))
    assert 0 < proof.bound < proof.objective
    assert release.measures.il == pytest.approx(proof.objective / (2 * len(frame)))
    assert release.measures.il == il(X, release.table[QUASI], weights=w)
    note = "'mdav' makes groups without weights, of which the certificate says"
    assert any(note in each for each in release.notes)


def test_groups_are_made_on_weighted_z_scores(release) -> None:
    frame = sample()
    encoded = aggopt.encode(frame[QUASI], sampling_weights=frame["w"])
    own = aggopt.partition.mdav(encoded, 3)
    assert np.array_equal(own.labels, release.labels)
    mean, square = (
        np.average(np.asarray(encoded) ** power, axis=0, weights=frame["w"])
        for power in (1, 2)
    )
    assert (mean, square) == (pytest.approx([0, 0], abs=1e-9), pytest.approx([1, 1]))


@pytest.mark.parametrize(
    "how", [{"method": "mean", "keep": "variance"}, P3M], ids=["means", "p3m"]
)
def test_weighted_mean_and_variance_are_kept(how) -> None:
    frame = sample()
    after, w = masked(frame, aggregation=how).table, frame["w"]
    for name in QUASI:
        one, other = frame[name], after[name]
        assert np.average(other, weights=w) == pytest.approx(np.average(one, weights=w))
        assert np.cov(other, aweights=w) == pytest.approx(np.cov(one, aweights=w))


def test_the_covariance_is_kept_by_weight() -> None:
    frame = sample()
    after = masked(frame, aggregation={"method": "mean", "keep": "covariance"}).table
    one, other = (np.cov(t[QUASI].T, aweights=frame["w"]) for t in (frame, after))
    assert other == pytest.approx(one)


def test_a_distance_is_in_weighted_standard_deviations() -> None:
    frame = sample(w=np.where(np.arange(48) < 40, 1.0, 3.0))
    asked = {"method": "satisfaction", "delta": 0.4, "margin": 0}
    made = masked(frame, aggregation=asked)
    X = frame[QUASI].to_numpy()
    spread = np.sqrt(np.cov(X.T, aweights=frame["w"], ddof=0).diagonal())
    far = np.abs(made.table[QUASI].to_numpy() - X) / spread >= 0.4 * (1 - 1e-9)
    assert made.measures.sl == pytest.approx(far.mean())


@pytest.mark.parametrize("how", [{}, P3M], ids=["means", "p3m"])
def test_weights_that_are_alike_change_nothing(how) -> None:
    section = {"aggregation": {"method": "mean", **how}}
    plain = {"quasi-identifier": QUASI, "other": ["note"]}
    frame = sample()
    without = masked(frame.drop(columns="w"), roles=plain, **section)
    alike = masked(frame.assign(w=7.0), **section)
    pd.testing.assert_frame_equal(alike.table.drop(columns="w"), without.table)
    assert (alike.table["w"] == 7.0).all()
    assert alike.certificates.keys() == without.certificates.keys()
    assert alike.measures == without.measures


@examples(5)
@given(st.integers(0, 99))
def test_neither_scale_nor_order_of_weights_matters(seed) -> None:
    frame = sample(30, seed)
    one, other = masked(frame), masked(frame.assign(w=frame["w"] * 1024))
    pd.testing.assert_frame_equal(one.table[QUASI], other.table[QUASI])
    assert one.measures == other.measures
    order = np.random.default_rng(seed).permutation(30)
    turned = masked(frame.iloc[order].reset_index(drop=True)).table
    expected = one.table.iloc[order].reset_index(drop=True)
    pd.testing.assert_frame_equal(turned, expected)


def test_whole_weights_weigh_as_replicated_records() -> None:
    times = np.random.default_rng(1).integers(1, 4, 48)
    frame = sample(w=times)
    made = masked(frame, weights={"dominance": 1.0})
    X, labels = frame[QUASI].to_numpy(), np.repeat(made.labels, times)
    many = aggopt.aggregate.mean(np.repeat(X, times, axis=0), labels).values
    assert np.repeat(made.table[QUASI], times, axis=0) == pytest.approx(many)
    assert made.measures.il == pytest.approx(il(np.repeat(X, times, axis=0), many))


def test_k_counts_records_whatever_they_weigh() -> None:
    made = masked(sample(w=np.full(48, 500.0)), privacy={"k": 4})
    assert made.audit.smallest == min(np.bincount(made.labels)) >= 4


# --- within strata

STRATA = {
    "roles": {**ROLES, "other": [], "stratum": ["note"]},
    "aggregation": {"method": "mean", "keep": "variance"},
}


def test_weighted_moments_of_strata_are_kept() -> None:
    frame = sample(note=list("abb") * 16)
    made = masked(frame, **STRATA)
    for _, rows in frame.groupby("note").groups.items():
        one, other, w = frame.loc[rows], made.table.loc[rows], frame.loc[rows, "w"]
        for name in QUASI:
            before, after = (np.average(t[name], weights=w) for t in (one, other))
            assert after == pytest.approx(before)
            before, after = (np.cov(t[name], aweights=w) for t in (one, other))
            assert after == pytest.approx(before)
    proof = made.blocks[0].certificate
    whole = masked(frame, **STRATA, strata={"keep": "overall"}).blocks[0].certificate
    assert (proof.objective, proof.bound) == (whole.objective, whole.bound)
    assert 0 < proof.bound < proof.objective


# --- what is published


def test_the_mean_weight_of_each_group_is_published(release, tmp_path) -> None:
    frame, made, labels = sample(), release.table, release.labels
    for value in (1.0, "age", "income"):
        before, after = (
            np.bincount(labels, t["w"] * (t[value] if value in QUASI else value))
            for t in (frame, made)
        )
        assert after == pytest.approx(before)
    assert made["w"].groupby(labels).nunique().max() == 1
    written = pd.read_csv(release.write(tmp_path / "masked.csv").table)
    assert written.groupby([*QUASI, "w"]).size().min() >= 3
    assert "with the weights 'w'" in str(release.audit)
    assert release.audit.weight == "w"


def test_weights_can_be_dropped(tmp_path) -> None:
    made = masked(sample(), weights={"published": "drop"})
    assert list(made.table.columns) == ["age", "note", "income"]
    assert made.audit.weight is None
    written = pd.read_csv(made.write(tmp_path / "masked.csv").table)
    assert list(written.columns) == ["age", "note", "income"]


def test_weights_that_were_to_be_dropped_are_found() -> None:
    job = survey(weights={"published": "drop"})
    found = audit_release(sample(), job.roles, job.privacy, dropped=job.dropped)
    assert found.identifiers == ("w",)
    assert survey().dropped == ()


def test_weights_as_they_are_are_those_of_the_group() -> None:
    frame = sample(w=np.resize([10.0, 20.0, 40.0], 48))
    made = masked(frame, weights={"published": "as is"})
    assert (made.table["w"] == frame["w"]).all()
    assert made.table.groupby([*QUASI, "w"]).size().min() == made.audit.smallest >= 3
    assert frame["w"].groupby(made.labels).nunique().max() == 1


def test_a_whole_number_weight_becomes_its_mean() -> None:
    made = masked(sample(w=np.resize([1, 2, 3], 48)))
    assert made.table["w"].dtype == float
    assert made.table["w"].sum() == pytest.approx(96)


# --- dominance


def test_no_record_dominates_a_published_group(tmp_path) -> None:
    frame = heavy()
    made = masked(frame)
    w = frame["w"].to_numpy()
    (found,) = made.audit.promises
    share = largest_share(made.labels, w)
    assert found.holds
    assert found.found == pytest.approx(share)
    assert share <= 0.6
    assert "groups are merged until none has" in " ".join(made.notes)
    cost = "which can lose several times as much as groups that keep it from the start"
    shown = made.notes[: len(made.notes) - made.trivial]
    assert sum(cost in note for note in shown) == 1
    assert 'method = "local_search"' in next(note for note in shown if cost in note)
    free = masked(frame, weights={"dominance": 1.0})
    assert largest_share(free.labels, w) > 0.6
    assert free.audit.promises == ()
    assert len(set(made.labels)) < len(set(free.labels))
    stated = made.write(tmp_path / "masked.csv").manifest.read_text()
    assert '"promise": "dominance"' in stated


def test_a_named_repair_keeps_it_too() -> None:
    frame = heavy().assign(note=list("ab") * 24)
    roles = {**ROLES, "other": [], "confidential": ["note"]}
    made = masked(frame, roles=roles, privacy={"k": 3, "l": 2, "repair": "search"})
    assert largest_share(made.labels, frame["w"].to_numpy()) <= 0.6
    assert [each.promise for each in made.audit.promises] == ["distinct l", "dominance"]


def test_groups_that_cannot_be_dominated_are_left_alone(release) -> None:
    assert not any("merged" in note for note in release.notes)


def test_a_release_that_one_record_dominates_is_refused(monkeypatch) -> None:
    monkeypatch.setattr(
        "aggopt.pipeline.prepare.defaults.add_dominance_repair",
        lambda job, _, *, apart: (job, ()),
    )
    with refused(PrivacyError, "0.6", "DOES", "NOT"):
        masked(heavy())


def test_a_recount_holds_a_file_against_the_weights(tmp_path) -> None:
    frame, job = heavy(), survey(output={"shuffle": True})
    frame.to_csv(tmp_path / "people.csv", index=False)
    files = aggopt.mask(tmp_path / "people.csv", job).write(tmp_path / "masked.csv")
    found = assess_release(tmp_path / "people.csv", files.table, job)
    assert found.audit.holds
    strict = survey(weights={"dominance": 0.45})
    again = assess_release(tmp_path / "people.csv", files.table, strict)
    assert not again.audit.holds
    assert found.measures.il == pytest.approx(again.measures.il)
    assert found.risks.totals["population"] == frame["w"].sum()


# --- what is refused


def hole(frame, holes=1):
    return frame.assign(age=frame["age"].where(frame.index >= holes))


OWN = lambda X, labels: np.zeros((labels.max() + 1, X.shape[1]))  # noqa: E731
FEW = {"quasi-identifier": ["age"], "other": ["note", "income"], "weight": "w"}
ONE = {"roles": FEW}
WEIGHTS = {  # of which messages have counts
    "negative": (
        np.where(np.arange(48) < 24, -1.0, 1.0),
        "24 weights of 48 are 0 or below.",
    ),
    "zero": (np.where(np.arange(48) < 1, 0.0, 1.0), "1 weight of 48 is 0 or below."),
    "missing": (np.where(np.arange(48) < 2, np.nan, 1.0), "'w': 2 missing"),
    "infinite": (np.where(np.arange(48) < 2, np.inf, 1.0), "'w': 2 infinite"),
    "too far apart": (
        np.linspace(1e-6, 2.0, 48),
        "Column 'w': The largest of 48 weights is more than 1e+06 times the smallest.",
    ),
    "text": (["much"] * 48, "Columns that must be numeric and are not: 'w'"),
}


@pytest.mark.parametrize("case", WEIGHTS)
def test_weights_that_are_none_are_refused(case) -> None:
    weights, says = WEIGHTS[case]
    with pytest.raises(AggoptError) as error:
        masked(sample(w=weights))
    assert says in str(error.value)


FILL = {"missing": {"policy": "fill"}}
DROP = {"weights": {"published": "drop"}}
BLOCKS = {
    "partition": {"method": "mdav", "attributes": "one by one"},
    "privacy": {"k": 3, "scope": "blocks"},
}
SAE = {"method": "univariate", "cost": "sae"}
MERGED = {"roles": STRATA["roles"], "strata": {"small": "merge"}}
SWAPPED = {
    "roles": {**FEW, "other": ["note"], "confidential": ["income"]},
    "privacy": {"k": 3, "t": 0.5, "repair": "swap"},
}
WHOLE = {"method": "univariate", "centroids": "integer"}
ROUNDED = {"output": {"round_integers": True}}
OF_UNITS = {"roles": {**ROLES, "unit": ["hid"]}, "units": {"attributes": QUASI}}
AS_IS = {"weights": {"published": "as is"}}
hids = np.repeat(np.arange(24), 2)
REFUSED = {
    "two columns": (sample(v=1.0), {"roles": {**ROLES, "weight": ["w", "v"]}}),
    "no name": (sample(), {"roles": {**ROLES, "weight": 3}}),
    "blocks with a hole": (hole(sample()), {**FILL, **BLOCKS, **DROP}),
    "blocks with holes": (hole(sample(), 2), {**FILL, **BLOCKS, **DROP}),
    "blocks": (sample(), BLOCKS),
    "a function": (sample(), {"aggregation": {"method": OWN}}),
    "another loss": (sample(), {**ONE, "partition": SAE}),
    "integers": (sample(age=range(48)), {**ONE, "partition": WHOLE, **ROUNDED}),
    "weights that tell": (sample(), AS_IS),
    "a weight that tells": (sample(w=np.where(np.arange(48) < 2, 1.0, 1.5)), AS_IS),
    "as is, merged": (sample(), {**AS_IS, **MERGED}),
    "a repair": (sample(), SWAPPED),
    "one has all": (sample(w=np.where(np.arange(48) < 1, 1e3, 1.0)), {}),
    "no role": (
        sample(),
        {"roles": {**ROLES, "weight": [], "other": ["note", "w"]}, **AS_IS},
    ),
    "units": (sample(hid=hids, age=hids, income=hids), OF_UNITS),
}


@pytest.mark.parametrize("case", REFUSED)
def test_it_is_refused_in_words(case) -> None:
    frame, sections = REFUSED[case]
    with refused(AggoptError):
        masked(frame, **sections)


def test_groups_of_one_attribute_are_never_called_optimal() -> None:
    roles = {"quasi-identifier": ["age"], "identifier": ["income", "note"]}
    made = masked(
        heavy(),
        roles={**roles, "weight": "w"},
        partition={"method": "univariate"},
        weights={"dominance": 1.0},
    )
    proof = made.blocks[0].certificate
    assert proof.status is aggopt.solvers.Status.HEURISTIC
    assert proof.bound < proof.objective


# --- the job and what reads it


def test_a_job_with_weights_survives_and_repeats(tmp_path) -> None:
    job = survey(weights={"dominance": 0.5}, output={"shuffle": True})
    (tmp_path / "job.toml").write_text(job.to_toml())
    assert Job.read(tmp_path / "job.toml") == job
    assert job.roles.weight == ("w",)
    assert survey(roles={**ROLES, "weight": ["w"]}) == survey()
    frame = heavy()
    files = aggopt.mask(frame, job).write(tmp_path / "masked.csv")
    again = aggopt.repeat(files.manifest, frame, tmp_path / "again.csv").table
    assert again.read_bytes() == files.table.read_bytes()
    assert (
        "[weights]"
        not in survey(roles={**ROLES, "weight": [], "other": ["note", "w"]}).to_toml()
    )


def test_the_risk_is_by_the_weight_of_the_roles(release) -> None:
    found = release.risks.totals
    assert found["population"] == pytest.approx(sample()["w"].sum())
    assert found["dominance"]["largest"] < 0.6
    unit = survey(roles={**ROLES, "unit": ["note"]}).risk
    by = unit.by(survey(roles={**ROLES, "unit": ["note"]}).roles)
    assert (by.weight, by.unit) == ("w", ("note",))
    named = survey(risk={"weight": "note", "suda": 1})
    assert named.risk.by(named.roles).weight == "note"
    idle = survey(roles={"quasi-identifier": QUASI, "unit": ["note"], "other": ["w"]})
    assert idle.risk.by(idle.roles).idle
