"""A report of an engine's folder: counted in its files, by what its manifest says."""

import json
from dataclasses import asdict, replace

import pandas as pd
import pytest
from folders import QUASI, job, linked, masked, persons, put, read
from reading import Reader, table
from refusals import refused

from aggopt.core import memory
from aggopt.engine import report_data as reported
from aggopt.engine.folder_review import find_release
from aggopt.engine.report_data import read_folder_report
from aggopt.errors import JobError, TableError
from aggopt.pipeline.review.review_release import assess_source
from aggopt.privacy.requirement import Check
from aggopt.release.files.staging import compute_sha256
from aggopt.release.report.facts import BY_BOTH, BY_MANIFEST
from aggopt.release.report.page import format_share, round_share
from aggopt.release.report.sections.attacks import find_attacks
from aggopt.release.report.sections.headline import make_headline


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A release of two files."""
    there = tmp_path_factory.mktemp("reported")
    return masked(put(there / "in", persons(120)), job(), there / "out")


@pytest.fixture
def copied(made, tmp_path):
    """Return the folder of a release, of which files may be changed."""
    for folder in (made.path, made.private):
        to = tmp_path / folder.name
        to.mkdir()
        for file in folder.iterdir():
            (to / file.name).write_bytes(file.read_bytes())
    return tmp_path / "out"


def edit(folder, change, *, signed=True):
    """Change what the manifest of a folder states, and its digest."""
    manifest = folder.with_name("out.private") / "manifest.json"
    stated = json.loads(manifest.read_text())
    change(stated)
    manifest.write_text(json.dumps(stated))
    if signed:
        found = f"{compute_sha256(manifest)}  manifest.json\n"
        manifest.with_name("manifest.json.sha256").write_text(found)


def test_the_page_says_what_the_files_hold(made, tmp_path):
    page = made.report(tmp_path / "report.html").read_text("utf-8")
    text = Reader(page).text
    alike = pd.read_parquet(made.path).groupby([*QUASI, "note"]).size()
    unique = (alike == 1).sum()  # which it is by the groups, drawn anew each time
    assert f"k = 4 holds, but {unique} of 120 records are unique with 'note'" in text
    assert "If somebody also knew" in text
    assert "Every combination of the masked attributes is shared by" in text
    assert f"What was promised is stated by {BY_MANIFEST}." in text
    lost = made.measures["information loss"]
    assert f"Information lost {round(lost)} %" in text
    assert "Correct matches not measured no attack that links records was run" in text
    assert (
        "No attack that links records was run: the originals are not compared; aggopt "
        "assess ORIGINALS RELEASE JOB runs them, if memory suffices." in text
    )
    same = made.audit.unchanged.records
    assert f"Published unchanged {format_share(same / 120)} of records" in text
    rows = table(page, "Certificates of published values")[1:]
    assert [row[0] for row in rows] == QUASI
    sizes = pd.read_parquet(made.path).groupby(QUASI).size()
    assert (
        f"were put into {len(sizes)} groups of {sizes.min()} to {sizes.max()}" in text
    )
    assert made.manifest["output"]["secret"] not in page


def test_a_page_of_originals_has_the_attacks_that_a_review_runs(made, tmp_path):
    folder = made.path.parent / "in"
    with refused(JobError, "DataFrame"):
        made.report(tmp_path / "report.html", originals=read(folder))
    page = made.report(tmp_path / "report.html", originals=folder).read_text("utf-8")
    source = find_release(folder, made.path, same_order=False, private=None)
    found = assess_source(source, job()).measures
    rows = {row[0]: row[2:] for row in table(page, "Attacks")[1:]}
    for name, attack in (
        ("Nearest record", found.dld),
        ("One-to-one assignment", found.linkage),
    ):
        assert rows[name] == [
            format_share(round_share(attack)),
            format_share(round_share(found.linkage_chance)),
            format_share(round_share(found.linkage_limit)),
        ]
    text = Reader(page).text
    assert "No attack that links records was run" not in text
    before, _ = linked(folder, made)
    unique = (before.groupby(QUASI)["ill"].transform("size") == 1).mean()
    assert f"Before, {format_share(unique)} of the records were unique" in text


def test_more_values_than_a_page_compares_are_not_attacked(made, monkeypatch):
    monkeypatch.setattr(reported, "COMPARED", 359)
    facts = read_folder_report(made.path, originals=made.path.parent / "in")
    assert facts.original is None
    said = find_attacks(facts).limits[0]
    assert said == (
        "No attack that links records was run: there are 360 masked values, and at "
        "most 359 are compared for a page; aggopt assess ORIGINALS RELEASE JOB runs "
        "them, if memory suffices."
    )


def test_originals_that_do_not_fit_memory_are_not_attacked(made, monkeypatch):
    monkeypatch.setattr(memory, "find_available_memory", lambda: 2**20)
    facts = read_folder_report(made.path, originals=made.path.parent / "in")
    assert "the originals do not fit memory" in find_attacks(facts).limits[0]
    assert facts.audit.holds


def test_what_is_counted_is_counted_in_the_files(copied, made):
    found = read_folder_report(copied)
    assert found.audit.whole == made.audit.whole
    assert list(found.groups.values()) == [made.certificates["groups"]]
    edit(copied, lambda stated: stated["job"]["privacy"].update(k=100))
    assert not read_folder_report(copied).audit.holds


def test_a_job_beside_the_manifest_must_promise_the_same(copied, tmp_path):
    (tmp_path / "job.toml").write_text(job().to_toml())
    there = {"job_file": tmp_path / "job.toml"}
    assert read_folder_report(copied, **there).promised_by == BY_BOTH
    edit(copied, lambda stated: stated["job"]["privacy"].update(k=2))
    with refused(JobError, "[privacy]"):
        read_folder_report(copied, **there)


@pytest.mark.parametrize("change", ["lost", "other", "more"])
def test_files_that_the_manifest_does_not_describe_are_refused(copied, change):
    (file, *_) = copied.glob("*.parquet")
    if change == "lost":
        file.unlink()
    elif change == "other":
        pd.read_parquet(file).head(8).to_parquet(file)
    else:
        (copied / "more.parquet").write_bytes(file.read_bytes())
    manifest = copied.with_name("out.private") / "manifest.json"
    with refused(TableError, str(copied), str(manifest)):
        read_folder_report(copied)


def test_a_folder_without_its_manifest_is_refused(tmp_path):
    with refused(TableError, "manifest.json"):
        read_folder_report(tmp_path)


@pytest.mark.parametrize(
    ("key", "value"), [("measures", {}), ("certificates", {}), ("job", 3), ("made", 1)]
)
def test_an_edited_manifest_is_refused(copied, key, value):
    edit(copied, lambda stated: stated.update({key: value}))
    with refused(JobError, "states no"):
        read_folder_report(copied)


def test_a_release_that_is_too_large_for_a_page_is_refused(made, monkeypatch):
    monkeypatch.setattr(reported, "LARGEST", 500)
    with refused(JobError, str(made.path)):
        read_folder_report(made.path)


def test_a_manifest_that_was_edited_is_refused(copied):
    manifest = copied.with_name("out.private") / "manifest.json"
    beside = "manifest.json.sha256 is to hold its SHA-256."
    edit(copied, lambda stated: stated["certificates"].pop("age"), signed=False)
    with refused(TableError, str(manifest), beside):
        read_folder_report(copied)
    manifest.with_name("manifest.json.sha256").unlink()
    with refused(TableError, str(manifest), beside):
        read_folder_report(copied)


def test_a_job_without_the_name_of_an_engine_is_compared(copied, tmp_path):
    said = job().to_toml().replace('name = "local"', "")
    (tmp_path / "job.toml").write_text(said)
    found = read_folder_report(copied, job_file=tmp_path / "job.toml")
    assert found.promised_by == BY_BOTH


KEPT = Check("note", "dominance", 0.6, 0.5512, True, 20, 0, 4, sign="<=")


def weigh(*checks):
    """Return a change after which records had weights, of which this was found."""

    def change(stated):
        stated["job"]["roles"].update(weight=["note"], other=[])
        stated["job"]["weights"] = {"dominance": 0.6, "published": "drop"}
        stated["audit"]["promises"] = [asdict(each) for each in checks]

    return change


def test_dominance_of_weights_is_what_the_manifest_says_and_the_page_says_so(copied):
    edit(copied, weigh(KEPT))
    facts = read_folder_report(copied)
    says = make_headline(facts).checks
    assert says == (
        "dominance <= 0.6 holds for 'note': the worst group, of 4 records, has 0.55. "
        "So its manifest says: it is of the weights that originals had, which no "
        "release has, and was not counted again.",
    )


@pytest.mark.parametrize(
    "checks",
    [(), (replace(KEPT, promise="t"),), (replace(KEPT, holds=False),)],
    ids=["nothing", "another promise", "not kept"],
)
def test_dominance_that_a_manifest_does_not_have_is_refused(copied, checks):
    edit(copied, weigh(*checks))
    with refused(JobError):
        read_folder_report(copied)


def test_the_command_takes_a_folder_and_counts_its_originals(made, tmp_path, aggopt):
    (tmp_path / "job.toml").write_text(job().to_toml())
    page, originals = str(tmp_path / "report.html"), str(made.path.parent / "in")
    rest = (str(made.path), str(tmp_path / "job.toml"), "--out", page)
    code, told, _ = aggopt("report", originals, *rest)
    assert (code, f"stated by {BY_BOTH}" in told) == (0, True)
    code, _, errors = aggopt("report", originals, *rest, "--overwrite", "--private")
    assert code == 2
    assert "A report of a folder is for the public, and --private is named" in errors
    others = put(tmp_path / "others", persons(90))
    code, _, errors = aggopt("report", str(others), *rest, "--overwrite")
    assert code == 2
    assert "others has 90 records, and the release was made of 120" in errors
    order = "report", rest[0], originals, *rest[1:], "--overwrite"
    code, _, errors = aggopt(*order)
    assert code == 2
    assert f"write the table first: aggopt report {originals} {made.path} JOB" in errors
