"""A report is written with its release: all of it, or nothing."""

import pytest
from refusals import refused
from tables import job, people

import aggopt
from aggopt.errors import TableError
from aggopt.release.files import staging
from aggopt.release.files.output_paths import ReleaseFiles
from aggopt.release.files.staging import Staging, compute_sha256


@pytest.fixture(scope="module")
def release():
    return aggopt.mask(people(), job())


def test_the_report_is_public_and_of_the_file(tmp_path, release):
    files = release.write(tmp_path / "masked.csv", report=tmp_path / "report.html")
    assert files.report == tmp_path / "report.html"
    modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    assert modes["report.html"] == modes["masked.csv"] != 0o600
    assert modes["masked.manifest.json"] == modes["masked.private.csv"] == 0o600
    page = files.report.read_text("utf-8")
    assert compute_sha256(files.table) in page
    assert "<bdi>masked.csv</bdi>" in page


def test_without_a_report_there_are_three_files(tmp_path, release):
    files = release.write(tmp_path / "masked.csv")
    assert (files.report, files.documents) == (None, ())
    assert len(list(tmp_path.iterdir())) == 3


def test_a_report_that_fails_leaves_nothing(tmp_path, release, monkeypatch):
    rename, turns = staging._rename_file, iter(range(9))

    def broken(*args, **how):
        if next(turns) == 2:
            raise OSError("disk full")
        rename(*args, **how)

    monkeypatch.setattr(staging, "_rename_file", broken)
    with refused(TableError):
        release.write(tmp_path / "masked.csv", report=tmp_path / "report.html")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["report.html", "REPORT.HTM"])
def test_a_page_has_the_ending_that_browsers_know(tmp_path, name):
    ReleaseFiles.of_table(tmp_path / "masked.csv", None, tmp_path / name).check(
        overwrite=False
    )
    page = tmp_path / "report.pdf"
    other = ReleaseFiles.of_table(tmp_path / "masked.csv", None, page)
    with refused(TableError):
        other.check(overwrite=False)


def test_a_report_is_not_written_over_another(tmp_path, release):
    (tmp_path / "report.html").write_text("mine")
    with refused(TableError):
        release.write(tmp_path / "masked.csv", report=tmp_path / "report.html")
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
    release.write(
        tmp_path / "masked.csv", report=tmp_path / "report.html", overwrite=True
    )
    assert "mine" not in (tmp_path / "report.html").read_text("utf-8")


@pytest.mark.parametrize("public", [(), "one", "both"])
def test_what_is_public_gets_the_usual_mode(tmp_path, public):
    one, two = tmp_path / "a.csv", tmp_path / "b.html"
    opened = {"one": one, "both": (one, two)}.get(public, ())
    with Staging() as aside:
        for place in (one, two):
            aside.write(place, lambda to: to.write_text("x"))
        aside.commit(one, two, public=opened, overwrite=False)
    private = [place.stat().st_mode & 0o777 == 0o600 for place in (one, two)]
    assert private == {"one": [False, True], "both": [False, False]}.get(
        public, [True, True]
    )
