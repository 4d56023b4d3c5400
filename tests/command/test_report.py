"""The command that writes reports, and mask's own."""

import json

import pytest
from tables import ROLES_AND_K, people

from aggopt.release.files import staging
from aggopt.release.report.facts import BY_BOTH, BY_MANIFEST

MEANS = f'{ROLES_AND_K}[partition]\nmethod = "mdav"\n'


@pytest.fixture
def here(tmp_path, monkeypatch, aggopt):
    """A folder with a table and a job, as working directory."""
    monkeypatch.chdir(tmp_path)
    people().to_csv("people.csv", index=False)
    (tmp_path / "job.toml").write_text(MEANS)
    return tmp_path


MASK = ("mask", "people.csv", "job.toml", "--out", "masked.csv")


def names(folder):
    return {path.name for path in folder.iterdir()}


def test_mask_writes_a_report_with_the_release(here, aggopt):
    code, out, err = aggopt(*MASK, "--report", "report.html")
    assert (code, err) == (0, "")
    assert "; report for the public report.html" in out
    assert (here / "report.html").stat().st_mode & 0o044
    page = (here / "report.html").read_text("utf-8")
    assert "It was counted on the bytes of the file" in page
    assert staging.sha256_of_file(here / "masked.csv") in page


def test_the_files_of_json_have_the_report_where_there_is_one(here, aggopt):
    files = json.loads(aggopt(*MASK, "--json")[1])["files"]
    assert set(files) == {"table", "manifest", "private"}
    again = aggopt(*MASK, "--json", "--overwrite", "--report", "report.html")[1]
    assert json.loads(again)["files"]["report"] == "report.html"


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
    code, out, err = aggopt("report", "masked.csv", "--out", "report.html")
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "Report        report.html  (for the public)",
        "Promises      stated by its manifest alone, which was compared with no job",
        "Seal          amber: k = 4 holds, but 14 of 40 records are unique with 'note'",
    ]
    public = ("report", "masked.csv", "--original", "people.csv", "--out", "2.html")
    assert aggopt(*public)[0] == 0
    private = ("report", "masked.csv", "--private", "people.csv", "--out", "3.html")
    code, out, err = aggopt(*private)
    assert "3.html  (keep it to yourself: it shows originals)" in out
    assert (here / "3.html").stat().st_mode & 0o777 == 0o600
    assert "For the office alone" in (here / "3.html").read_text("utf-8")
    assert "For publication" in (here / "2.html").read_text("utf-8")


def test_a_release_that_does_not_hold_ends_with_code_one(here, aggopt):
    aggopt(*MASK)
    manifest = here / "masked.manifest.json"
    stated = json.loads(manifest.read_text())
    stated["job"]["privacy"]["k"] = 30
    manifest.write_text(json.dumps(stated))
    code, out, err = aggopt("report", "masked.csv", "--out", "report.html")
    assert (code, err) == (1, "")
    assert "What was promised DOES NOT HOLD: see there." in out
    assert "k = 30 does not hold" in (here / "report.html").read_text("utf-8")
    code, out, _ = aggopt("report", "masked.csv", "--out", "2.html", "--json")
    found = {"report": "2.html", "holds": False, "private": False}
    said = json.loads(out)
    assert said.pop("seal")["state"] == "red"
    assert (code, said) == (1, {**found, "promised_by": BY_MANIFEST})


def test_a_manifest_that_promises_less_than_the_job_is_refused(here, aggopt):
    aggopt(*MASK)
    words = ("report", "masked.csv", "--job", "job.toml", "--out", "report.html")
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
    code, out, err = aggopt("report", "masked.csv", "--out", "report.html")
    assert (code, out) == (2, "")
    assert "is not the file that masked.manifest.json describes" in err
    both = ("--original", "people.csv", "--private", "people.csv")
    code, out, err = aggopt("report", "masked.csv", "--out", "report.html", *both)
    assert (code, out) == (2, "")
    assert "Both --original and --private name" in err
    code, out, err = aggopt("report", "masked.csv", "--out", "masked.csv")
    assert "masked.csv is no name of one" in err
    assert names(here) == before
