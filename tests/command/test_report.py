"""The command that writes reports, and mask's own."""

import json

import pytest
from tables import ROLES_AND_K, people

from aggopt.release.files import staging
from aggopt.release.report.facts import BY_BOTH

MEANS = f'{ROLES_AND_K}[partition]\nmethod = "mdav"\n'


@pytest.fixture
def here(tmp_path, monkeypatch, aggopt):
    """A folder with a table and a job, as working directory."""
    monkeypatch.chdir(tmp_path)
    people().to_csv("people.csv", index=False)
    (tmp_path / "job.toml").write_text(MEANS)
    return tmp_path


MASK = ("mask", "people.csv", "job.toml", "--out", "masked.csv")


REPORT = ("report", "people.csv", "masked.csv", "job.toml", "--out")


def names(folder):
    return {path.name for path in folder.iterdir()}


def test_mask_writes_a_report_with_the_release(here, aggopt):
    code, out, err = aggopt(*MASK, "--report", "report.html")
    assert (code, err) == (0, "")
    assert "; report for the public report.html" in out
    assert (here / "report.html").stat().st_mode & 0o044
    page = (here / "report.html").read_text("utf-8")
    assert "It was counted on the bytes of the file" in page
    assert staging.compute_sha256(here / "masked.csv") in page


def test_the_files_of_json_have_the_report_where_there_is_one(here, aggopt):
    files = json.loads(aggopt(*MASK, "--json")[1])["files"]
    assert set(files) == {"table", "manifest", "private"}
    again = aggopt(*MASK, "--json", "--overwrite", "--report", "report.html")[1]
    assert json.loads(again)["files"]["report"] == "report.html"


def test_mask_writes_a_codebook_with_the_release(here, aggopt):
    code, out, err = aggopt(*MASK, "--ddi")
    assert (code, err) == (0, "")
    assert "; codebook for the public masked.ddi.xml" in out
    assert (here / "masked.ddi.xml").stat().st_mode & 0o044
    words = ("repeat", "masked.manifest.json", "people.csv", "--out", "again.csv")
    files = json.loads(aggopt(*words, "--json")[1])["files"]
    assert files["ddi"] == "again.ddi.xml"
    content = (here / "masked.ddi.xml").read_bytes()
    assert (here / "again.ddi.xml").read_bytes() == content
    code, _, err = aggopt(*MASK, "--overwrite")
    assert code == 2
    assert "masked.ddi.xml describes another table" in err


@pytest.mark.parametrize(
    ("page", "said"),
    [
        ("report.txt", "report.txt is no name of one"),
        ("none/report.html", "There is no folder none."),
        ("people.csv", "people.csv is no name of one"),
        ("taken.html", "taken.html would be overwritten"),
    ],
    ids=["ending", "folder", "the table", "taken"],
)
def test_a_report_that_cannot_be_written_leaves_no_release(here, aggopt, page, said):
    (here / "taken.html").write_text("mine")
    before = names(here)
    code, out, err = aggopt(*MASK, "--report", page)
    assert (code, out) == (2, "")
    assert said in err
    assert names(here) == before


def test_a_report_of_a_written_release(here, aggopt):
    aggopt(*MASK)
    code, out, err = aggopt(*REPORT, "report.html")
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "Report        report.html  (for the public)",
        f"Promises      stated by {BY_BOTH}",
        "Seal          amber: k = 4 holds, but 14 of 40 records are unique with 'note'",
    ]
    private = (*REPORT, "3.html", "--private")
    code, out, err = aggopt(*private)
    assert "3.html  (keep it to yourself: it shows originals)" in out
    assert (here / "3.html").stat().st_mode & 0o777 == 0o600
    assert "For the office alone" in (here / "3.html").read_text("utf-8")
    assert "For publication" in (here / "report.html").read_text("utf-8")


def test_a_release_that_does_not_hold_ends_with_code_one(here, aggopt):
    aggopt(*MASK)
    manifest = here / "masked.manifest.json"
    stated = json.loads(manifest.read_text())
    stated["job"]["privacy"]["k"] = 30
    manifest.write_text(json.dumps(stated))
    job = here / "job.toml"
    job.write_text(job.read_text().replace("k = 4", "k = 30"))
    code, out, err = aggopt(*REPORT, "report.html")
    assert (code, err) == (1, "")
    assert "What was promised DOES NOT HOLD: see there." in out
    assert "k = 30 does not hold" in (here / "report.html").read_text("utf-8")
    code, out, _ = aggopt(*REPORT, "2.html", "--json")
    found = {"report": "2.html", "holds": False, "private": False}
    said = json.loads(out)
    assert said.pop("seal")["state"] == "red"
    assert (code, said) == (1, {**found, "promised_by": BY_BOTH})


def test_a_manifest_that_promises_less_than_the_job_is_refused(here, aggopt):
    aggopt(*MASK)
    words = (*REPORT, "report.html")
    code, out, _ = aggopt(*words)
    assert (code, f"stated by {BY_BOTH}" in out) == (0, True)
    manifest = here / "masked.manifest.json"
    manifest.write_text(manifest.read_text().replace('"k": 4', '"k": 2'))
    code, out, err = aggopt(*words, "--overwrite")
    assert (code, out) == (2, "")
    assert "differ in what is promised: [privacy]." in err


def test_what_does_not_fit_together_writes_nothing(here, aggopt):
    aggopt(*MASK)
    with (here / "masked.csv").open("a") as masked:
        masked.write("\n")
    before = names(here)
    code, out, err = aggopt(*REPORT, "report.html")
    assert (code, out) == (2, "")
    assert "is not the file that masked.manifest.json describes" in err
    code, out, err = aggopt(*REPORT, "masked.csv")
    assert "masked.csv is no name of one" in err
    assert names(here) == before


@pytest.mark.parametrize("named", [("masked.csv",), ("people.csv", "masked.csv")])
def test_files_that_are_not_named_are_asked_for_in_their_order(here, aggopt, named):
    aggopt(*MASK)
    code, out, err = aggopt("report", *named, "--out", "report.html")
    assert (code, out) == (2, "")
    assert "write aggopt report TABLE MASKED JOB --out NAME.html" in err
    assert not (here / "report.html").exists()


def test_a_release_in_the_place_of_its_table_is_recognised(here, aggopt):
    aggopt(*MASK)
    words = ("report", "masked.csv", "people.csv", "job.toml", "--out", "report.html")
    code, out, err = aggopt(*words)
    assert (code, out) == (2, "")
    assert "masked.csv is a release by its manifest, and people.csv has none" in err
    assert "write the table first: aggopt report people.csv masked.csv JOB." in err
    assert not (here / "report.html").exists()


def test_a_table_in_the_place_of_the_job_is_refused_with_the_order(here, aggopt):
    aggopt(*MASK)
    words = ("report", "people.csv", "job.toml", "masked.csv", "--out", "report.html")
    code, _, err = aggopt(*words)
    assert code == 2
    assert "write them in this order: aggopt report TABLE MASKED JOB." in err
