"""What a step hands to the next, seen in releases, certificates, notes and errors."""

import json
from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
from refusals import refused
from stratified import KEYS, residents, within
from surveys import heavy, masked, sample, survey
from tables import job, people, put_partitioner, wide, wide_job

import aggopt
from aggopt.errors import InfeasibleInputError, JobError, SolverError, TableError
from aggopt.experiments.sweep import sweep
from aggopt.partition import mdav
from aggopt.partition.shared.result import Partition
from aggopt.pipeline.partition.partition_table import partition_table
from aggopt.pipeline.review.compare_with_keys import compare_releases
from aggopt.pipeline.review.review_release import assess_release
from aggopt.solvers import Status

SECRET = "5" * 32
POLICIES = (None, "patterns", "fill")
L2 = {"k": 3, "l": 2, "repair": "merge"}
P3M = {"method": "p3m", "delta": 0.3}
TOGETHER = {
    "quasi-identifier": ["age", "income"],
    "confidential": ["ill"],
    "identifier": KEYS,
}


def end_mdav(monkeypatch, status):
    """Let MDAV end with this status."""

    def divide(X, k, **how):
        found = mdav(X, k, **how)
        return Partition(found.labels, replace(found.certificate, status=status))

    put_partitioner(monkeypatch, "mdav", divide)


# --- groups and repairs


@pytest.mark.parametrize("stratum", [False, True])
def test_groups_before_a_repair_are_those_of_the_method(stratum) -> None:
    frame = residents().assign(ill="flu")
    frame.loc[frame["age"] > 80, "ill"] = "asthma"
    roles = {} if stratum else {"roles": TOGETHER}
    asked = within(privacy=L2, **roles)
    before = partition_table(frame, asked, None, repair=False)
    plain = partition_table(frame, within(**roles), None)
    assert before.labels.tolist() == plain.labels.tolist()
    kinds = frame.groupby(before.labels)["ill"].nunique()
    assert kinds.min() == 1
    if stratum:
        frame.loc[frame["sex"] == "f", "ill"] = "flu"
        again = partition_table(frame, asked, None, repair=False)
        assert again.labels.tolist() == plain.labels.tolist()
        with refused(InfeasibleInputError):
            partition_table(frame, asked, None)
        return
    after = partition_table(frame, asked, None)
    assert frame.groupby(after.labels)["ill"].nunique().min() == 2


@pytest.mark.parametrize(("policy", "stratum"), [*product(POLICIES, (False, True))])
def test_the_progress_of_a_repair_is_reported(policy, stratum) -> None:
    frame = residents()
    if policy:
        frame.loc[::7, "income"] = np.nan
    sections = {"missing": {"policy": policy}} if policy else {}
    if not stratum:
        sections["roles"] = TOGETHER
    shares = []
    aggopt.mask(
        frame,
        within(privacy=L2, **sections),
        progress=lambda step, share: shares.append(share) if step == "repair" else None,
    )
    assert shares
    assert shares == sorted(shares)


def several(values):
    """A privacy model of the user's: at least two different values."""
    return len(set(values)) > 1


@pytest.mark.parametrize("policy", POLICIES)
def test_a_requirement_that_a_stratum_breaks_as_a_whole_is_refused(policy) -> None:
    """Groups with records of another stratum would satisfy it."""
    frame = residents()
    frame.loc[(frame["region"] == "n") & (frame["sex"] == "f"), "ill"] = "flu"
    missing = {}
    if policy:
        frame.loc[::7, "income"] = np.nan
        missing = {"missing": {"policy": policy}}
    privacy = {"k": 3, "own": [several], "repair": "merge"}
    with refused(InfeasibleInputError):
        aggopt.mask(frame, within(privacy=privacy, **missing))
    roles = {"roles": TOGETHER}
    assert aggopt.mask(frame, within(privacy=privacy, **roles, **missing)).audit.holds


@pytest.mark.parametrize("policy", [None, "patterns"])
def test_groups_that_need_no_repair_keep_their_bound(policy) -> None:
    frame = people(36).sort_values("age", ignore_index=True)
    frame["illness"] = ["flu", "none", "asthma"] * 12  # different in each group
    frame["income"] = frame["age"] + 0.0
    missing = {}
    if policy:
        frame.loc[18:, "income"] = np.nan
        missing = {"missing": {"policy": policy}}
    plain = aggopt.mask(frame, job(**missing), secret=SECRET).blocks[0].certificate
    repaired = job(privacy={"k": 3, "l": 2, "repair": "merge"}, **missing)
    proof = aggopt.mask(frame, repaired, secret=SECRET).blocks[0].certificate
    assert proof.bound == pytest.approx(plain.bound)
    assert proof.objective == pytest.approx(plain.objective)


def test_a_group_of_several_patterns_publishes_what_all_its_records_have() -> None:
    kinds = ["flu"] * 6 + ["none"] * 3 + ["flu", "none", "x"] * 5
    frame = people(24).assign(illness=kinds)
    frame.loc[:5, "income"] = np.nan
    release = aggopt.mask(frame, job(privacy=L2, missing={"policy": "patterns"}))
    assert frame.groupby(release.labels)["illness"].nunique().min() == 2
    gone = release.table["income"].isna()
    assert gone.groupby(release.labels).nunique().max() == 1
    assert 6 < gone.sum() < 24
    assert release.audit.holds


def test_an_attribute_that_a_repair_would_suppress_is_refused() -> None:
    frame = people(24).assign(illness=["flu"] * 12 + ["none"] * 12)
    frame.loc[:11, "income"] = np.nan
    with refused(InfeasibleInputError, "'income'"):
        aggopt.mask(frame, job(privacy=L2, missing={"policy": "patterns"}))


def test_missing_values_leave_correlated_attributes_together() -> None:
    frame = wide()
    frame.loc[::10, "income"] = frame.loc[::10, "debt"] = np.nan
    how = {"method": "mdav", "attributes": {"correlation": 0.8}}
    asked = wide_job(partition=how, missing={"policy": "fill"})
    blocks = {block.columns for block in aggopt.mask(frame, asked).blocks}
    whole = aggopt.mask(wide(), wide_job(partition=how))
    assert blocks == {block.columns for block in whole.blocks}


def test_a_search_that_keeps_no_diversity_is_repaired_by_searching() -> None:
    release = aggopt.mask(people(), job(privacy={"k": 3, "l": 2}, partition={}))
    assert release.job.privacy.repair.method == "search"
    assert any("and no repair is named" in note for note in release.notes)
    assert release.audit.holds


@pytest.mark.parametrize("policy", ["patterns", "fill"])
def test_no_record_dominates_the_values_that_are_present(policy) -> None:
    frame = heavy()
    frame.loc[frame.index % 4 == 0, "age"] = np.nan  # of some that weigh much, too
    release = masked(
        frame,
        partition={"method": "mdav"},
        weights={"dominance": 0.5},
        missing={"policy": policy},
    )
    for name in ("age", "income"):
        there = release.table[name].notna() & frame[name].notna()
        by = frame["w"][there].groupby(release.labels[there])
        assert (by.max() / by.sum()).max() <= 0.5 + 1e-12


def test_a_small_pattern_that_one_record_dominates_is_merged() -> None:
    """Within the pattern, no groups have what is required."""
    frame = sample().assign(w=1.0)
    frame.loc[:3, "age"] = np.nan
    frame.loc[0, "w"] = 20.0
    release = masked(
        frame,
        partition={"method": "local_search"},
        weights={"dominance": 0.75},
        missing={"policy": "patterns"},
    )
    group = release.labels == release.labels[0]
    assert 20 / frame["w"][group].sum() <= 0.75
    assert release.audit.holds


@pytest.mark.parametrize("policy", POLICIES)
def test_a_partition_that_ended_at_a_limit_says_so(policy, monkeypatch) -> None:
    end_mdav(monkeypatch, Status.LIMIT)
    frame = people(24)
    missing = {}
    if policy:
        frame.loc[::6, "income"] = np.nan
        missing = {"missing": {"policy": policy}}
    proof = aggopt.mask(frame, job(**missing)).blocks[0].certificate
    assert proof.status == Status.LIMIT


def test_a_partition_that_failed_ends_whatever_uses_its_groups(monkeypatch) -> None:
    end_mdav(monkeypatch, Status.FAILED)
    asked = job(aggregation=P3M)
    for work in (
        lambda: aggopt.mask(people(), asked),
        lambda: [*sweep(people(), asked, alpha=[0.5], delta=[0.1], jobs=1)],
    ):
        with refused(SolverError):
            work()


# --- strata


def test_few_values_of_a_stratum_are_suppressed_by_patterns() -> None:
    frame = residents(n_f=14)
    rows = np.flatnonzero((frame["region"] == "n") & (frame["sex"] == "f"))
    frame.loc[rows[:-2], "income"] = np.nan
    release = aggopt.mask(frame, within(missing={"policy": "patterns"}))
    assert release.table["income"][rows].isna().all()
    assert release.audit.missing.suppressed == 2


# --- what a job leaves open


@pytest.mark.parametrize("weighted", [False, True])
def test_weights_decide_how_one_attribute_is_grouped(weighted) -> None:
    frame = sample() if weighted else sample(w=2.0)
    roles = {"quasi-identifier": ["age"], "weight": "w"}
    roles["identifier"] = ["note", "income"]
    release = aggopt.mask(frame, survey(roles=roles, partition={}))
    method = "local_search" if weighted else "univariate"
    assert release.job.partition.method == method
    (note,) = (each for each in release.notes if "was chosen" in each)
    assert note.startswith(f"The partition {method!r} was chosen: ")


def test_the_block_with_most_distinct_records_is_counted() -> None:
    frame = wide().assign(age=1)
    frame["income"] = frame["income"].rank().floordiv(15)
    frame["debt"] = frame["income"]
    frame["height"] = frame["weight"] = np.arange(60) % 5
    blocks = [["age"], ["income", "debt"], ["height", "weight"]]
    asked = wide_job(partition={"attributes": blocks})
    (note,) = (n for n in aggopt.mask(frame, asked).notes if "was chosen" in n)
    assert "Of 60 records only 5 differ" in note


def test_notes_on_distances_are_those_of_the_release() -> None:
    frame = people().assign(income=1.0)
    made = aggopt.mask(frame, job(attributes={"income": {"weight": 3}}))
    assert "'income': no record differs: its weight does nothing." in made.notes


def test_no_warning_comes_of_confidential_values_that_are_all_equal() -> None:
    frame = people().assign(illness=1.0)
    asked = job(privacy={"k": 3, "t": 0.9}, partition={"method": "anonymity_first"})
    assert aggopt.mask(frame, asked).audit.holds


# --- second looks


def test_a_column_that_was_to_be_dropped_is_found(tmp_path) -> None:
    asked = survey(weights={"published": "drop"})
    sample().to_csv(tmp_path / "people.csv", index=False)
    files = aggopt.mask(tmp_path / "people.csv", asked).write(tmp_path / "masked.csv")
    for left, expected in ((False, ()), (True, ("w",))):
        table = pd.read_csv(files.table)
        if left:
            table.assign(w=1.0).to_csv(files.table, index=False)
        found = assess_release(
            tmp_path / "people.csv", files.table, asked, same_order=left
        )
        assert found.audit.identifiers == expected
        assert found.audit.holds == (not left)


def rise(before, after):
    return float(np.mean(np.asarray(after, float) - np.asarray(before, float)))


def test_own_measures_are_found_again(tmp_path) -> None:
    people().to_csv(tmp_path / "people.csv", index=False)
    asked = job(measures={"extra": [rise]})
    release = aggopt.mask(tmp_path / "people.csv", asked)
    files = release.write(tmp_path / "masked.csv")
    found = assess_release(tmp_path / "people.csv", files.table, asked)
    assert found.measures == release.measures
    assert [name for name, _ in found.measures.own] == ["rise"]


# --- several releases


def compared(folder, names):
    tables = [folder / f"{name}.csv" for name in names]
    manifests = [folder / f"{name}.manifest.json" for name in names]
    return compare_releases(tables, folder / "people.csv", manifests)


def test_releases_are_compared_with_the_types_and_the_encoding_of_their_job(
    tmp_path,
) -> None:
    days = pd.to_datetime("1950-03-01") + pd.to_timedelta(97 * np.arange(48), unit="D")
    frame = people(48).assign(
        born=days.strftime("%d.%m.%Y"), town=["Köln", "Bonn"] * 24
    )
    frame.to_csv(tmp_path / "people.csv", index=False)
    roles = {"quasi-identifier": ["age", "born", "town"]}
    roles["identifier"] = ["name", "income", "note", "illness"]
    asked = job(
        roles=roles,
        attributes={"born": {"format": "%d.%m.%Y"}},
        output={"encoding": "cp1252"},
    )
    for name in "ab":
        release = aggopt.mask(tmp_path / "people.csv", asked)
        release.write(tmp_path / f"{name}.csv")
    found = compared(tmp_path, "ab")
    assert found.together.attributes == ("age", "born", "town")
    assert found.holds
    assert None not in [each.pmse_tree for each in found.figures]


def test_releases_without_a_record_in_common_have_no_groups_in_common(tmp_path) -> None:
    frame = people(24)
    for name, own in (("first", range(12)), ("second", range(12, 24))):
        small = [f"few {i // 2}" for i in range(24)]  # strata that are dropped
        frame[name] = ["all" if i in own else small[i] for i in range(24)]
    frame.to_csv(tmp_path / "people.csv", index=False)
    for name, stratum, other in (("a", "first", "second"), ("b", "second", "first")):
        roles = {"quasi-identifier": ["age", "income"], "stratum": [stratum]}
        roles |= {"identifier": ["name", "illness", "note", other]}
        asked = job(roles=roles, strata={"small": "drop"})
        aggopt.mask(tmp_path / "people.csv", asked).write(tmp_path / f"{name}.csv")
    found = compared(tmp_path, "ab")
    assert (found.partly, found.common, found.holds) == (24, None, True)


@pytest.mark.parametrize(
    "change",
    [
        {"input": []},
        {"audit": 3},
        {"certificates": None},
        {"job": {"privacy": {"k": 3}}},
        {"job": {"privacy": {"scope": "blocks"}}},
    ],
)
def test_a_manifest_that_lacks_a_section_is_refused(tmp_path, change) -> None:
    people().to_csv(tmp_path / "people.csv", index=False)
    for name in "ab":
        release = aggopt.mask(tmp_path / "people.csv", job())
        files = release.write(tmp_path / f"{name}.csv")
    stated = json.loads(files.manifest.read_text())
    files.manifest.write_text(json.dumps({**stated, **change}))
    with refused(TableError):
        compared(tmp_path, "ab")


def test_a_job_that_is_none_is_refused_by_its_type() -> None:
    with refused(JobError):
        aggopt.mask(people(), 0.5)
