"""Risks that a job limits: what is counted, by a recount with pandas alone."""

import json

import numpy as np
import pandas as pd
import pytest
from command.test_cli import JOB, here  # noqa: F401
from households import OF_UNITS, members, of
from refusals import refused
from surveys import ROLES, sample, survey

import aggopt
from aggopt.errors import InfeasibleInputError, JobError, PrivacyError
from aggopt.pipeline.review.report_data import read_report_data
from aggopt.release.audit.risk_limits import RiskLimit, find_sufficient_k

PLAIN = {"quasi-identifier": ["age", "income"], "other": [], "drop": ["note", "w"]}


def released(privacy, frame=None, **sections):
    job = survey(roles=PLAIN, privacy=privacy, **sections)
    return aggopt.mask(sample() if frame is None else frame, job)


@pytest.mark.parametrize("k", [2, 3, 5, 12])
def test_limits_are_of_the_values_that_are_written(k, tmp_path):
    asked = {"k": k, "risk": 1 / k, "average_risk": 1 / k, "linkage": 1 / k}
    release = released(asked)
    files = release.write(tmp_path / "masked.csv")
    sizes = pd.read_csv(files.table).groupby(["age", "income"]).size()
    found = {each.name: each.risk for each in release.audit.limits}
    assert found["risk"] == pytest.approx(1 / sizes.min())
    assert found["average_risk"] == pytest.approx(len(sizes) / sizes.sum())
    assert found["linkage"] == release.measures.linkage
    stated = json.loads(files.manifest.read_text())
    for audit in (stated["audit"], stated["output"]["recounted"]):
        assert {each["name"]: each["risk"] for each in audit["limits"]} == found


@pytest.mark.parametrize("privacy", [{}, {"k": 5}, {"k": 15}])
def test_the_largest_risk_makes_groups_of_enough_records(privacy, tmp_path):
    release = released({**privacy, "risk": 0.09})
    least = max(12, privacy.get("k", 0))
    assert release.audit.k == least
    table = pd.read_csv(release.write(tmp_path / "masked.csv").table)
    assert table.groupby(["age", "income"]).size().min() >= least
    assert any("risk = 0.09" in note for note in release.notes) == (least == 12)


@pytest.mark.parametrize(
    "sections", [{}, {"aggregation": {"method": "mean", "keep": "variance"}}]
)
def test_the_fewest_merges_keep_the_average_risk(sections):
    release = released({"k": 3, "average_risk": 0.1}, **sections)
    sizes = release.table.groupby(["age", "income"]).size()
    assert len(sizes) == 4  # of 48 records: a fifth group would exceed 0.1
    assert sizes.min() >= 3
    certificate = release.blocks[0].certificate
    assert certificate.objective >= released({"k": 3}).blocks[0].certificate.objective
    assert certificate.bound <= certificate.objective
    assert any("4 are left" in note for note in release.notes)


@pytest.mark.parametrize("aggregation", ["mean", "median", "p3m"])
def test_merges_keep_the_linkage_of_the_written_values(aggregation):
    job = {"aggregation": {"method": aggregation}}
    plain = released({"k": 3}, **job)
    release = released({"k": 3, "linkage": 0.2}, **job)
    assert release.measures.linkage <= 0.2 < plain.measures.linkage
    assert release.audit.holds
    assert release.audit.groups < plain.audit.groups


def test_a_mean_of_shares_is_within_a_limit_that_rounding_passes():
    linkage = float(np.nextafter(0.1, 1.0))
    assert not RiskLimit("linkage", 0.1, 0.1 + 1e-9, "linkage").holds
    assert RiskLimit("linkage", 0.1, linkage, "linkage").holds


def test_merged_groups_keep_strata_and_diversity():
    frame = sample(note=["a", "b"] * 24, ill=["flu", "cold", "none"] * 16)
    roles = {**PLAIN, "stratum": ["note"], "confidential": ["ill"], "drop": ["w"]}
    job = survey(
        roles=roles,
        privacy={"k": 3, "l": 2, "average_risk": 0.1, "repair": "merge"},
    )
    table = aggopt.mask(frame, job).table
    groups = table.groupby(["note", "age", "income"])
    assert len(groups) <= 4
    assert groups["ill"].nunique().min() >= 2


def test_limits_that_no_merging_keeps_are_refused():
    frame = sample(note=np.repeat(["a", "b", "c", "d"], 12))
    roles = {**PLAIN, "stratum": ["note"], "drop": ["w"]}
    for key in ("average_risk", "linkage"):
        job = survey(roles=roles, privacy={"k": 3, key: 0.05})
        with refused(InfeasibleInputError, f"{key} = 0.05", "[privacy]"):
            aggopt.mask(frame, job)


@pytest.mark.parametrize("limit", [0.0, 1.5])
@pytest.mark.parametrize("key", ["risk", "average_risk", "linkage"])
def test_a_limit_is_a_share_above_zero(key, limit):
    with refused(JobError, key):
        survey(roles=PLAIN, privacy={"k": 3, key: limit})


def test_a_limit_of_one_changes_nothing():
    trivial = {"risk": 1, "average_risk": 1, "linkage": 1}
    release, plain = released({"k": 3, **trivial}), released({"k": 3})
    assert (release.blocks[0].labels == plain.blocks[0].labels).all()
    assert all(limit.holds for limit in release.audit.limits)


def test_the_advice_keeps_the_limit():
    for limit in (0.5, 0.3, 0.1, 0.09, 1 / 3, 1 / 7):
        k = find_sufficient_k(limit)
        assert 1 / k <= limit
        assert k == 2 or 1 / (k - 1) > limit
    release = released({"k": 12, "risk": 0.09, "average_risk": 0.09})
    assert release.audit.holds


def test_a_limit_is_of_the_combination_where_k_is_of_blocks():
    partition = {"method": "mdav", "attributes": "one by one"}
    with refused(PrivacyError, "k = 4"):
        released({"k": 3, "scope": "blocks", "risk": 0.3}, partition=partition)


@pytest.mark.parametrize("published", ["drop", "pseudonym"])
def test_risks_are_of_units_where_k_counts_units(published):
    privacy = {"k": 3, "risk": 0.34, "average_risk": 0.34}
    units = {"attributes": OF_UNITS, "published": published}
    job = of(OF_UNITS, privacy=privacy, units=units)
    of_two = members().groupby("household").filter(lambda unit: len(unit) > 1)
    frame = of_two.groupby("household").head(2).reset_index(drop=True)
    release = aggopt.mask(frame, job)
    table = release.table.assign(unit=frame["household"])
    of_units = table.groupby([*OF_UNITS])["unit"].nunique()
    risk, average = release.audit.limits
    if published == "pseudonym":  # units by how many records have what, too
        by_unit = table.groupby("unit")
        profiles = [str(sorted(each.values.tolist())) for _, each in by_unit[OF_UNITS]]
        of_units = pd.Series(profiles).value_counts()
    assert risk.risk == pytest.approx(1 / of_units.min())
    assert average.risk == pytest.approx(len(of_units) / of_units.sum())
    assert "unit" in str(risk)
    assert "unit" in str(average)


def test_weights_are_refused_where_risks_count_records():
    with refused(JobError, "average_risk", "[privacy]", "'w'"):
        survey(roles=ROLES, privacy={"k": 3, "risk": 0.2, "average_risk": 0.1})
    assert survey(roles=ROLES, privacy={"k": 3, "linkage": 0.5}).privacy.linkage == 0.5


def test_limits_that_nothing_keeps_are_refused_before_work():
    with refused(InfeasibleInputError, "risk = 0.02"):
        released({"k": 3, "risk": 0.02})
    with refused(InfeasibleInputError, "average_risk = 0.02"):
        released({"k": 3, "average_risk": 0.02})
    frame = sample()
    frame.loc[3, "age"] = np.nan
    with refused(JobError, "48"):
        released({"k": 3, "linkage": 0.5}, frame, missing={"policy": "fill"})


def test_the_command_writes_nothing_where_a_limit_does_not_hold(here, aggopt):  # noqa: F811
    job = here / "job.toml"
    words = "mask", "people.csv", "job.toml", "--out", "masked.csv"
    strict = JOB.replace("[privacy]\n", "[privacy]\nlinkage = 0.0001\n")
    job.write_text(strict)
    before = {*here.iterdir()}
    code, _, err = aggopt(*words)
    assert code == 2
    assert "linkage = 0.0001 is not kept by merging" in err
    assert {*here.iterdir()} == before
    job.write_text(strict.replace("0.0001", "0.9\nrisk = 0.9"))
    code, out, _ = aggopt(*words)
    assert code == 0
    assert "linkage <= 0.9 holds" in out
    job.write_text(strict)
    code, out, _ = aggopt("assess", "people.csv", "masked.csv", "job.toml")
    assert code == 1
    assert "linkage <= 0.0001 DOES NOT HOLD" in out


def test_a_report_says_that_a_limit_holds_without_the_figure(tmp_path):
    release = released({"k": 3, "risk": 0.4, "linkage": 0.9})
    page = release.report(tmp_path / "page.html").read_text("utf-8")
    assert "risk &lt;= 0.4 holds" in page
    assert "linkage &lt;= 0.9 holds: it was measured with the originals" in page


def test_a_report_of_a_file_takes_the_linkage_from_its_manifest(tmp_path):
    release = released({"k": 3, "linkage": 0.9})
    files = release.write(tmp_path / "masked.csv")
    (limit,) = read_report_data(files.table).audit.limits
    assert (limit.holds, limit.risk) == (True, release.measures.linkage)
