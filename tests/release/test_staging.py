"""Files appear all or not at all, whatever comes in between."""

import os
import signal

import pytest
from refusals import refused
from tables import promising, salaried

import aggopt
from aggopt.core.stale_files import make_file_prefix
from aggopt.core.worker import SCRATCH
from aggopt.errors import TableError
from aggopt.release.files import staging
from aggopt.release.files.staging import Staging

NAMES = ("one.csv", "two.json", "three.csv")


def commit(folder, *, overwrite):
    places = [folder / name for name in NAMES]
    with Staging() as aside:
        for place in places:
            aside.write(place, lambda to: to.write_text("new"))
        aside.commit(*places, public=places[0], overwrite=overwrite)


def found(folder):
    return {path.name: path.read_text() for path in folder.iterdir()}


def failing(monkeypatch, error, at):
    """Let a step of the commit fail: renaming the file `at`, or the sync at the end."""
    rename, turns = staging._rename_file, iter(range(9))

    def broken(*args, **how):
        if next(turns) == at:
            raise error
        rename(*args, **how)

    monkeypatch.setattr(staging, "_rename_file", broken)
    if at == len(NAMES):
        monkeypatch.setattr(staging, "_sync_folder", broken)


@pytest.mark.parametrize("at", range(4))
@pytest.mark.parametrize("error", [OSError(5, "no"), KeyboardInterrupt, SystemExit])
def test_what_fails_leaves_nothing(tmp_path, monkeypatch, error, at) -> None:
    failing(monkeypatch, error, at)
    with pytest.raises((TableError, KeyboardInterrupt, SystemExit)):
        commit(tmp_path, overwrite=False)
    assert found(tmp_path) == {}


@pytest.mark.parametrize("links", [True, False])
@pytest.mark.parametrize("at", range(4))
def test_what_fails_loses_nothing(tmp_path, monkeypatch, at, links) -> None:
    old = {"one.csv": "old 1", "three.csv": "old 3"}
    for name, text in old.items():
        (tmp_path / name).write_text(text)
    failing(monkeypatch, KeyboardInterrupt, at)
    if not links:
        monkeypatch.setattr(os, "link", lambda *_: (_ for _ in ()).throw(OSError))
    with pytest.raises(KeyboardInterrupt):
        commit(tmp_path, overwrite=True)
    assert found(tmp_path) == old


def test_files_are_overwritten_and_no_other_name_stays(tmp_path) -> None:
    (tmp_path / "one.csv").write_text("old")
    commit(tmp_path, overwrite=True)
    assert found(tmp_path) == dict.fromkeys(NAMES, "new")
    assert (tmp_path / "two.json").stat().st_mode & 0o777 == 0o600


def test_a_file_that_came_meanwhile_is_left_alone(tmp_path) -> None:
    (tmp_path / "three.csv").write_text("theirs")
    with refused(TableError, "three.csv"):
        commit(tmp_path, overwrite=False)
    assert found(tmp_path) == {"three.csv": "theirs"}


def test_an_interrupt_waits_until_all_files_are_there(tmp_path, monkeypatch) -> None:
    rename = staging._rename_file

    def interrupted(*args, **how):
        rename(*args, **how)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(staging, "_rename_file", interrupted)
    release = aggopt.mask(salaried(), promising(t=0.3, repair="merge"))
    with pytest.raises(KeyboardInterrupt):
        release.write(tmp_path / "masked.csv")
    names = {"masked.csv", "masked.manifest.json", "masked.private.csv"}
    assert set(found(tmp_path)) == names
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize(
    ("broken", "named"),
    [
        ("os.fsync", "one.csv"),
        ("staging._second_name", "three.csv"),
        ("staging._rename_file", "one.csv"),
        ("staging.read_umask", "one.csv"),
        ("staging._sync_folder", ""),
    ],
)
def test_a_commit_that_the_disk_refuses_names_the_place(
    tmp_path, monkeypatch, broken, named
) -> None:
    where, step = broken.split(".")
    (tmp_path / "three.csv").write_text("old")

    def fail(*_, **__):
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr({"os": os, "staging": staging}[where], step, fail)
    with refused(TableError) as error:
        commit(tmp_path, overwrite=True)
    place = tmp_path / named
    assert error.value.problem == f"{place} cannot be written: {os.strerror(28)}."
    assert found(tmp_path) == {"three.csv": "old"}


def test_what_a_killed_process_left_goes_from_both_folders(
    tmp_path, monkeypatch
) -> None:
    public, memory = tmp_path / "public", tmp_path / "memory"
    where = make_file_prefix().split("-")[0]
    for folder in (public, memory):
        folder.mkdir()
        (folder / f"{where}-999999999-1.csv").write_text("secret")
    monkeypatch.setenv(SCRATCH, str(memory))
    commit(public, overwrite=False)
    assert found(public) == dict.fromkeys(NAMES, "new")
    assert found(memory) == {}
