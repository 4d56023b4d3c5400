"""A report of a release that is written: its files are read again, and fit together."""

import json
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from households import OF_RECORDS, members, of
from refusals import refused
from stratified import residents, within
from tables import ROLES, TREE, job, people

import aggopt
from aggopt.errors import JobError, TableError
from aggopt.job import AttributeSection
from aggopt.pipeline.review.release_checks import (
    require_countable,
    require_equal_requirements,
)
from aggopt.pipeline.review.report_data import (
    _has_levels,
    _read_tables,
    read_report_data,
)
from aggopt.release.report.facts import BY_BOTH, BY_JOB, BY_MANIFEST
from aggopt.release.report.release_report import collect_facts, render_report
from aggopt.release.report.statement import MEASURED, Statement
from aggopt.solvers import Status
from aggopt.solvers.certificate import Claim


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with a table, and its release with a report."""
    monkeypatch.chdir(tmp_path)
    people().to_csv("people.csv", index=False)
    release = aggopt.mask("people.csv", job())
    release.write("masked.csv", report="report.html")
    return tmp_path


def edit(change, manifest="masked.manifest.json"):
    """Change what a manifest states."""
    path = Path(manifest)
    stated = json.loads(path.read_text())
    change(stated)
    path.write_text(json.dumps(stated))


def html_of_mask(found):
    """Return the page as mask writes it, which has the job itself."""
    return render_report(replace(found, promised_by=BY_JOB))


def test_what_is_read_again_is_what_was_written_with_the_release(here):
    found = read_report_data(here / "masked.csv", original=here / "people.csv")
    assert found.promised_by == BY_MANIFEST
    assert html_of_mask(found) == (here / "report.html").read_text("utf-8")
    assert found.private is None


def test_without_the_originals_nothing_is_compared(here):
    found = read_report_data(here / "masked.csv")
    assert found.original is None
    assert found.audit.holds
    assert found.audit.smallest == 3
    assert (here / "report.html").read_text("utf-8").count(found.sha256) == 1
    assert "The originals were not at hand" in render_report(found)


def test_the_office_sees_what_the_manifest_states(here):
    found = read_report_data(
        here / "masked.csv", original=here / "people.csv", private=True
    )
    stated = json.loads((here / "masked.manifest.json").read_text())
    assert found.private.notes == tuple(stated["notes"])
    assert found.private.made == {
        "file that was masked": stated["input"]["file"],
        "its SHA-256": stated["input"]["sha256"],
        "seed of the order": str(stated["output"]["seed"]),
    }
    assert found.private.rows is None
    edit(lambda stated: stated.update(notes=None))
    assert read_report_data(here / "masked.csv", private=True).private.notes == ()


def test_the_files_may_lie_in_a_folder_of_their_own(here):
    (here / "own").mkdir()
    for name in ("masked.manifest.json", "masked.private.csv"):
        (here / name).rename(here / "own" / name)
    found = read_report_data(
        here / "masked.csv", original=here / "people.csv", folder=here / "own"
    )
    assert html_of_mask(found) == (here / "report.html").read_text("utf-8")
    manifest = here / "masked.manifest.json"
    with refused(TableError, str(manifest)):
        read_report_data(here / "masked.csv")
    with refused(TableError, str(here / "other.csv")):
        read_report_data(here / "other.csv", folder=here / "own")


def test_a_manifest_of_another_table_is_refused(here):
    with open("masked.csv", "a") as masked:
        masked.write("\n")
    with refused(TableError, "masked.csv", "manifest.json"):
        read_report_data(here / "masked.csv")


@pytest.mark.parametrize("name", ["masked.csv", "masked.manifest.json"])
def test_a_device_is_not_read(here, name):
    (here / name).unlink()
    (here / name).symlink_to("/dev/zero")
    with pytest.raises(TableError, match=name):
        read_report_data(here / "masked.csv")


def test_what_does_not_hold_is_found_in_the_file(here):
    edit(lambda stated: stated["job"]["privacy"].update(k=30))
    found = read_report_data(here / "masked.csv")
    assert not found.audit.holds
    assert found.audit.smallest == 3


def test_a_job_that_promises_the_same_is_said(here):
    (here / "job.toml").write_text(job().to_toml())
    found = read_report_data(here / "masked.csv", job_file=here / "job.toml")
    assert found.promised_by == BY_BOTH
    assert f"What was promised is stated by {BY_BOTH}." in render_report(found)


def test_a_manifest_that_promises_less_than_the_job_is_refused(here):
    (here / "job.toml").write_text(job().to_toml())
    edit(lambda stated: stated["job"]["privacy"].update(k=2))
    assert read_report_data(here / "masked.csv").audit.holds
    with refused(JobError, "manifest.json", "job.toml", "[privacy]"):
        read_report_data(here / "masked.csv", job_file=here / "job.toml")


STRATA = {**ROLES, "other": [], "stratum": ["note"]}
UNITS = {**ROLES, "identifier": [], "unit": ["name"]}
WEIGHTS = {**ROLES, "other": [], "weight": ["note"]}
DIFFERENT = {
    "privacy": (job(3), job(4)),
    "roles": (job(), job(roles={**ROLES, "identifier": [], "other": ["note", "name"]})),
    "strata": [job(roles=STRATA, strata={"small": s}) for s in ("merge", "drop")],
    "units": [
        job(roles=UNITS, units={"attributes": a}) for a in ([], ["age", "income"])
    ],
    "weights": [job(roles=WEIGHTS, weights={"dominance": d}) for d in (0.6, 0.7)],
    "roles], [privacy], [strata": (
        job(3),
        job(4, roles={**ROLES, "other": [], "stratum": ["note"]}),
    ),
}


@pytest.mark.parametrize("sections", DIFFERENT)
def test_what_is_promised_otherwise_is_named(tmp_path, sections):
    stated, asked = DIFFERENT[sections]
    (tmp_path / "job.toml").write_text(asked.to_toml())
    with pytest.raises(JobError, match=re.escape(f" promised: [{sections}].")):
        require_equal_requirements(tmp_path / "m.json", stated, tmp_path / "job.toml")


@pytest.mark.parametrize("code", ["mine.py:two", "/home/me/mine.py:two"])
def test_how_it_is_kept_is_no_promise(tmp_path, code):
    file = tmp_path / "job.toml"
    plain = {"k": 3, "own": [{"method": "mine.py:two"}]}
    asked = job(privacy=plain, partition={"method": "cbfs"}, input={"separator": ";"})
    file.write_text(asked.to_toml())
    own = [{"method": code}]
    require_equal_requirements(
        file, job(privacy={"k": 3, "repair": "merge", "own": own}), file
    )


def test_an_identifier_that_came_back_is_found_in_the_file(here):
    masked = pd.read_csv("masked.csv")
    masked.assign(name="Jo").to_csv("masked.csv", index=False)
    from aggopt.release.files.staging import compute_sha256

    digest = compute_sha256(here / "masked.csv")
    edit(lambda stated: stated["output"].update(sha256=digest))
    assert read_report_data(here / "masked.csv").audit.identifiers == ("name",)


EDITED = [
    ("partition", "none"),
    ("partition", [None]),
    ("partition", [{"attributes": "age"}]),
    ("partition", [{"attributes": [1]}]),
    ("certificates", "none"),
    ("certificates", {"age": None}),
    ("certificates", {"age": {}}),
    ("certificates", {"age": {"status": "optimal"}}),
    ("certificates", {"age": {"status": "best"}}),
    ("made", None),
    ("measures", "none"),
    ("measures", {}),
]


@pytest.mark.parametrize(("key", "value"), EDITED)
def test_an_edited_manifest_is_refused(here, key, value):
    edit(lambda stated: stated.update({key: value}))
    require_refused(here, key)


@pytest.mark.parametrize("name", ["objective", "bound", "violation"])
def test_a_certificate_with_words_for_numbers_is_refused(here, name):
    edit(lambda stated: stated["certificates"]["age"].update({name: "0"}))
    require_refused(here, "certificates")


def test_measures_that_are_no_numbers_are_refused(here):
    kept = json.loads((here / "masked.manifest.json").read_text())["measures"]
    edits = [(name, None) for name in MEASURED]
    for name, value in [*edits, ("il", "0"), ("il", True), ("il", float("nan"))]:
        edited = {**kept, name: value}
        edit(lambda stated, edited=edited: stated.update(measures=edited))
        require_refused(here, "measures")


@pytest.mark.parametrize(
    "attributes",
    [
        [],
        {"age": 1},
        {"age": {"il": 0.1, "sdid": 0.1, "sdid_chance": 0.1}},
        {"age": {"varies": True, "il": "0", "sdid": 0.1, "sdid_chance": 0.1}},
    ],
)
def test_measures_by_attribute_that_are_none_are_refused(here, attributes):
    edit(lambda stated: stated["measures"].update(attributes=attributes))
    require_refused(here, "measures")


def test_a_release_of_which_nothing_was_measured_has_a_report(here):
    edit(lambda stated: stated.update(measures=None))
    assert read_report_data(here / "masked.csv").measures is None


def test_a_bound_that_is_not_known_is_none(here):
    edit(lambda stated: stated["certificates"]["age"].update(bound=None))
    assert read_report_data(here / "masked.csv").certificates["age"].bound is None


def require_refused(here, key):
    with refused(JobError, key):
        read_report_data(here / "masked.csv")


def test_certificates_come_back_as_they_were(here):
    release = aggopt.mask("people.csv", job(aggregation={"method": "p3m"}))
    release.write("other.csv")
    found = read_report_data(here / "other.csv")
    for name, own in release.certificates.items():
        assert found.certificates[name] == replace(own, multipliers=None)
    assert list(found.groups) == ["age, income"]
    assert found.groups["age, income"].status is Status.HEURISTIC
    claim = {"bound": 1.5, "by": "mine.py"}
    edit(
        lambda stated: stated["certificates"]["age"].update(claimed=claim),
        "other.manifest.json",
    )
    assert read_report_data(here / "other.csv").certificates["age"].claimed == Claim(
        **claim
    )


def test_units_are_counted_with_the_originals_alone(tmp_path):
    members().to_csv(tmp_path / "people.csv", index=False)
    release = aggopt.mask(tmp_path / "people.csv", of(OF_RECORDS))
    release.write(tmp_path / "masked.csv")
    found = read_report_data(tmp_path / "masked.csv", original=tmp_path / "people.csv")
    assert found.audit.whole == release.audit.whole
    with refused(TableError, "TABLE", "MASKED", "JOB"):
        read_report_data(tmp_path / "masked.csv")


def test_dominance_is_counted_with_the_originals_alone(tmp_path):
    frame = people(60).assign(weight=10.0 + np.arange(60) % 7)
    frame.to_csv(tmp_path / "people.csv", index=False)
    roles = {"quasi-identifier": ["age", "income"], "weight": "weight"}
    roles |= {"identifier": ["name", "illness", "note"]}
    asked = aggopt.Job(
        roles=roles,
        privacy={"k": 4},
        partition={"method": "mdav"},
        weights={"dominance": 0.7, "published": "drop"},
    )
    release = aggopt.mask(tmp_path / "people.csv", asked)
    release.write(tmp_path / "masked.csv")
    found = read_report_data(tmp_path / "masked.csv", original=tmp_path / "people.csv")
    assert found.audit.promises == release.audit.promises != ()
    with refused(TableError, "TABLE", "MASKED", "JOB"):
        read_report_data(tmp_path / "masked.csv")


def test_rows_are_numbered_as_in_the_table_that_came(tmp_path):
    frame = residents(m_f=2)
    frame.to_csv(tmp_path / "people.csv", index=False)
    asked = within(strata={"small": "drop"}, output={"digits": "full", "seed": 1})
    release = aggopt.mask(tmp_path / "people.csv", asked)
    release.write(tmp_path / "masked.csv")
    there = {"original": tmp_path / "people.csv", "private": True}
    found = read_report_data(tmp_path / "masked.csv", **there)
    assert (
        found.private.rows.tolist() == np.flatnonzero(frame["region"] != "m").tolist()
    )
    own = collect_facts(release, "masked.csv", private=True)
    assert own.private.rows.tolist() == found.private.rows.tolist()
    before, after = (facts.released.frame["income"].to_list() for facts in (own, found))
    assert before == after


def test_levels_of_a_release_are_read_as_names(tmp_path):
    frame = people(60)
    roles = {
        "quasi-identifier": ["age", "illness"],
        "identifier": ["name", "income", "note"],
    }
    tree = {"illness": {"tree": TREE}}
    asked = aggopt.Job(
        roles=roles, attributes=tree, privacy={"k": 3}, partition={"method": "mdav"}
    )
    release = aggopt.mask(frame, asked)
    release.write(tmp_path / "masked.csv")
    assert "illness: share of records" in render_report(
        read_report_data(tmp_path / "masked.csv")
    )


# --- what the file alone tells


@pytest.mark.parametrize(
    ("unit", "weight", "dominance", "says"),
    [
        ((), (), 0.5, None),
        ((), ("w",), 1.0, None),
        ((), ("w",), 0.99, "dominance is of the sampling weights of the originals, "),
        (("a", "b"), (), 1.0, "k counts units (a, b), "),
    ],
)
def test_what_the_file_alone_does_not_tell_is_refused(unit, weight, dominance, says):
    roles = SimpleNamespace(unit=unit, weight=weight)
    asked = SimpleNamespace(roles=roles, weights=SimpleNamespace(dominance=dominance))
    if says is None:
        return require_countable(asked)
    with refused(TableError):
        require_countable(asked)


def test_attributes_with_an_order_or_a_tree_have_levels():
    assert not _has_levels(AttributeSection(kind="nominal"))
    assert _has_levels(AttributeSection(order=["low", "high"]))
    assert _has_levels(AttributeSection(tree=TREE))


def test_a_release_is_read_by_the_types_of_its_job(tmp_path):
    path = tmp_path / "masked.csv"
    path.write_text("name,code,size,age\nx,007,small,1\ny,7,large,\n")
    asked = aggopt.Job(
        roles={"quasi-identifier": ["code", "size", "age"], "identifier": ["name"]},
        privacy={"k": 2},
        partition={"method": "mdav"},
        attributes={
            "code": {"kind": "nominal"},
            "size": {"order": ["small", "middle", "large"]},
            "age": {"lower": 0},
        },
        missing={"policy": "patterns"},
    )
    found = _read_tables(SimpleNamespace(table=path), asked, None)
    table = found.released
    assert (found.original, found.units, found.weights, found.rows) == (None,) * 4
    assert table.frame.columns == ["code", "size", "age"]
    assert table.frame["code"].to_list() == ["007", "7"]
    assert list(table.domains) == ["code", "size"]
    assert {each.kind for each in table.domains.values()} == {"nominal"}


def test_a_part_without_a_certificate_is_refused():
    part = {"attributes": ["age"], "certificate": None}
    with refused(JobError, "manifest.json"):
        Statement("x.manifest.json", {"partition": [part]}).groups  # noqa: B018


def test_a_file_is_recounted_by_the_blocks_that_are_stated(here):
    def apart(stated):
        (part,) = stated["partition"]
        parts = [{**part, "attributes": [name]} for name in ("age", "income")]
        stated["partition"] = parts

    edit(apart)
    facts = read_report_data(here / "masked.csv")
    assert list(facts.groups) == ["age", "income"]
    assert [count.attributes for count in facts.audit.blocks] == [("age",), ("income",)]
