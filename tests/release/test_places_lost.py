"""No file is lost, or left where it tells too much, by a release that is written."""

import os
import pickle

import pytest
from refusals import refused
from tables import job, people

import aggopt
from aggopt.errors import TableError
from aggopt.release import release as release_module
from aggopt.release.files import staging


@pytest.fixture
def release():
    return aggopt.mask(people(), job())


def names(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_the_table_that_was_masked_is_not_overwritten(tmp_path) -> None:
    for name in ("people.csv", "linked.private.csv"):
        path = tmp_path / name
        people().to_csv(path, index=False)
        release = aggopt.mask(path, job())
        (tmp_path / "linked.csv").write_text("an old one")
        before = names(tmp_path)
        for each in (release, pickle.loads(pickle.dumps(release))):
            with pytest.raises(TableError, match=f"{name} is the table that was mask"):
                each.write(tmp_path / name.replace(".private", ""), overwrite=True)
        assert names(tmp_path) == before
        path.unlink()


def test_nothing_of_a_release_says_where_its_table_was(tmp_path) -> None:
    people().to_csv(tmp_path / "people.csv", index=False)
    release = aggopt.mask(tmp_path / "people.csv", job())
    files = release.write(tmp_path / "masked.csv")
    told = (repr(release), release.manifest(), files.manifest.read_text())
    assert not any(str(tmp_path) in str(text) for text in told)
    assert str(tmp_path).encode() not in pickle.dumps(release)


@pytest.mark.parametrize("lost", ["the manifest", "the table"])
def test_a_repetition_overwrites_neither_its_manifest_nor_its_table(
    tmp_path, release, lost
) -> None:
    files = release.write(tmp_path / "masked.csv")
    people().to_csv(tmp_path / "people.csv", index=False)
    to = {"the manifest": "masked.csv", "the table": "people.csv"}[lost]
    before = names(tmp_path)
    with refused(TableError):
        aggopt.repeat(
            str(files.manifest), tmp_path / "people.csv", tmp_path / to, overwrite=True
        )
    assert names(tmp_path) == before


def test_the_key_of_another_table_is_not_overwritten(tmp_path, release) -> None:
    release.write(tmp_path / "masked.csv")
    before = names(tmp_path)
    with refused(TableError):
        release.write(tmp_path / "masked.parquet", overwrite=True)
    (tmp_path / "masked.parquet").write_text("of another program")
    with refused(TableError):
        release.write(tmp_path / "masked.parquet", overwrite=True)
    (tmp_path / "masked.parquet").unlink()
    (tmp_path / "elsewhere").mkdir()
    with refused(TableError):
        release.write(
            tmp_path / "elsewhere" / "masked.csv", private=tmp_path, overwrite=True
        )
    assert names(tmp_path) == before
    release.write(tmp_path / "masked.csv", overwrite=True)
    assert names(tmp_path) != before


def test_no_old_key_stays_beside_a_table_whose_own_lies_elsewhere(
    tmp_path, release
) -> None:
    files = release.write(tmp_path / "masked.csv")
    (tmp_path / "keep").mkdir()
    before = names(tmp_path)
    with refused(TableError, "masked.csv"):
        release.write(files.table, private=tmp_path / "keep", overwrite=True)
    assert names(tmp_path) == before
    release.write(files.table, private=tmp_path / "keep" / "..", overwrite=True)
    files.private.unlink()
    with refused(TableError, "manifest.json"):
        release.write(files.table, private=tmp_path / "keep", overwrite=True)
    files.manifest.unlink()
    release.write(files.table, private=tmp_path / "keep", overwrite=True)
    assert list(names(tmp_path)) == ["masked.csv"]


@pytest.mark.parametrize(
    ("writer", "named"),
    [
        ("write_table", "masked.csv"),
        ("write_key", "keep/masked.private.csv"),
        ("write_json", "keep/masked.manifest.json"),
    ],
)
@pytest.mark.parametrize("error", [OSError(28, os.strerror(28)), OSError("of Arrow")])
def test_the_file_that_the_disk_refuses_is_the_one_that_is_named(
    tmp_path, release, monkeypatch, writer, named, error
) -> None:
    def full(*_, **__):
        raise error

    (tmp_path / "keep").mkdir()
    monkeypatch.setattr(release_module, writer, full)
    why = error.strerror or "the disk refuses"
    with pytest.raises(TableError) as raised:
        release.write(tmp_path / "masked.csv", private=tmp_path / "keep")
    assert raised.value.problem == f"{tmp_path / named} cannot be written: {why}."


def test_a_file_that_cannot_be_renamed_is_named(tmp_path, release, monkeypatch) -> None:
    rename = staging._rename_file

    def broken(aside, final, **how):
        if final.name == "masked.manifest.json":
            raise OSError(13, os.strerror(13))
        rename(aside, final, **how)

    monkeypatch.setattr(staging, "_rename_file", broken)
    with refused(TableError, "manifest.json"):
        release.write(tmp_path / "masked.csv")
    assert names(tmp_path) == {}
