"""Manifest and key may lie elsewhere than the table that is handed on."""

import json
import os
from pathlib import Path

import pytest
from refusals import refused
from tables import job, people

import aggopt
from aggopt.errors import TableError
from aggopt.pipeline.review.review_release import assess_release
from aggopt.release.files import staging
from aggopt.release.files.output_paths import ReleaseFiles
from aggopt.release.files.staging import compute_sha256
from aggopt.solvers import logged


@pytest.fixture
def release():
    return aggopt.mask(people(), job())


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_the_private_files_go_to_their_folder(tmp_path, release) -> None:
    public, private = tmp_path / "public", tmp_path / "private"
    public.mkdir()
    private.mkdir()
    files = release.write(public / "masked.csv", private=private)
    assert names(public) == ["masked.csv"]
    assert names(private) == ["masked.manifest.json", "masked.private.csv"]
    assert files.private.stat().st_mode & 0o777 == 0o600
    stated = json.loads(files.manifest.read_text())["output"]
    assert stated["sha256"] == compute_sha256(files.table)
    with refused(TableError, "private.csv"):
        release.write(tmp_path / "masked.csv", private=private)
    assert names(tmp_path) == ["private", "public"]
    release.write(public / "masked.csv", private=private, overwrite=True)
    assert len(names(public)) + len(names(private)) == 3


def test_a_folder_that_is_not_there_is_refused(tmp_path, release) -> None:
    with refused(TableError):
        release.write(tmp_path / "masked.csv", private=tmp_path / "nowhere")
    assert names(tmp_path) == []


def test_both_folders_are_synced_and_a_failure_leaves_nothing_in_either(
    tmp_path, release, monkeypatch
) -> None:
    private, synced = tmp_path / "private", []
    private.mkdir()
    monkeypatch.setattr(staging, "_sync_folder", synced.append)
    release.write(tmp_path / "one.csv", private=private)
    assert set(synced) == {tmp_path, private}
    (tmp_path / "one.csv").unlink()
    for path in private.iterdir():
        path.unlink()

    def fail(folder):
        if folder == tmp_path:
            raise OSError(5, os.strerror(5))

    monkeypatch.setattr(staging, "_sync_folder", fail)
    with refused(TableError, "cannot be written"):
        release.write(tmp_path / "one.csv", private=private)
    assert names(tmp_path) == ["private"]
    assert names(private) == []


def test_assess_finds_them_in_their_folder(tmp_path) -> None:
    people().to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "private").mkdir()
    release = aggopt.mask(tmp_path / "people.csv", job())
    release.write(tmp_path / "masked.csv", private=tmp_path / "private")
    asked = tmp_path / "people.csv", tmp_path / "masked.csv", job()
    found = assess_release(*asked, private=tmp_path / "private")
    assert found.measures.dld == release.measures.dld
    assert found.measures.sl == release.measures.sl
    with refused(TableError, "is not there"):
        assess_release(*asked)


def test_a_log_of_solvers_lies_in_no_folder_of_a_release(tmp_path, release) -> None:
    release.write(tmp_path / "masked.csv")
    with (
        pytest.raises(TableError, match=r"A release lies in .*, and a log of solvers"),
        logged(tmp_path / "solver.log"),
    ):
        pass
    logs = tmp_path / "logs"
    logs.mkdir()
    with logged(logs / "solver.log"):
        pass
    for table, private in ((logs, tmp_path), (tmp_path, logs)):
        with refused(TableError):
            release.write(table / "t.csv", private=private)
    assert [path.name for path in logs.iterdir()] == ["solver.log"]


def test_where_files_are_is_text_by_what_they_are() -> None:
    assert ReleaseFiles.of_table(Path("a/masked.csv")).to_dict() == {
        "table": "a/masked.csv",
        "manifest": "a/masked.manifest.json",
        "private": "a/masked.private.csv",
    }
    reported = ReleaseFiles.of_table(Path("m.csv"), report=Path("r.html")).to_dict()
    assert reported["report"] == "r.html"
