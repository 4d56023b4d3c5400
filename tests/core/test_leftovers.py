"""What a killed process leaves is removed by the next; what lives is left alone."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from aggopt.core import stale_files as leftovers
from aggopt.core.stale_files import (
    make_file_prefix,
    make_folder_prefix,
    make_scratch_folder,
    remove_stale,
)
from aggopt.core.worker import SCRATCH
from aggopt.release.files.staging import Staging

CHILD = """
import sys, time
from pathlib import Path
from aggopt.release.files.staging import Staging
from aggopt.core.stale_files import make_scratch_folder

folder = Path(sys.argv[1])
with Staging() as staging, make_scratch_folder() as own:
    (own / "model.nl").write_text("1")
    for name in ("m.private.csv", "m.csv"):
        staging.write(folder / name, lambda to: to.write_text("secret"))
    print("ready", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def child(tmp_path, monkeypatch):
    """Another process that has files aside in tmp_path, and a scratch folder."""
    monkeypatch.setenv(SCRATCH, str(tmp_path))
    made = subprocess.Popen(
        [sys.executable, "-c", CHILD, tmp_path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert made.stdout.readline() == "ready\n"
    yield made
    made.kill()
    made.communicate()


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def write(folder: Path) -> None:
    with Staging() as staging:
        staging.write(folder / "n.csv", lambda to: to.write_text("new"))
        staging.commit(folder / "n.csv", overwrite=False)


def test_what_a_killed_process_left_goes_with_the_next_run(tmp_path, child):
    assert len(names(tmp_path)) == 3
    child.send_signal(signal.SIGKILL)
    child.wait()
    assert len(names(tmp_path)) == 3
    write(tmp_path)
    assert names(tmp_path) == {"n.csv"}


def test_a_run_that_lives_loses_nothing_to_another(tmp_path, child):
    before = names(tmp_path)
    write(tmp_path)
    with make_scratch_folder():
        pass
    assert names(tmp_path) == before | {"n.csv"}
    child.communicate()  # lets it end by itself
    assert child.returncode == 0
    assert names(tmp_path) == {"n.csv"}


def test_scratch_folders_of_the_killed_go_with_the_next(tmp_path, child):
    child.send_signal(signal.SIGKILL)
    child.wait()
    with make_scratch_folder() as own:
        assert names(tmp_path) == {own.name}


def gone() -> int:
    """Return the number of a process that is no more."""
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    return ended.pid


def test_only_what_is_certainly_nobodys_goes(tmp_path):
    where, pid, born = make_file_prefix().split(".")[2].split("-")
    stay = {
        f".aggopt.{where}-{pid}-{born}.a.csv": "of a process that lives",
        f".aggopt.{'0' * 12}-{gone()}-{born}.a.csv": "of another machine",
        f".aggopt.{where}-{gone()}-0.a.csv": "of a system that does not tell",
        ".aggopt.before.abc.csv": "a second name of what was overwritten",
        ".aggopt.abc123.csv": "of an earlier version",
        ".aggopt.job.toml": "a user's",
        f"aggopt-{where}-{pid}-{born}-x": "a file where a folder is meant",
        "aggopt-demo": "a user's",
    }
    go = {
        f".aggopt.{where}-{gone()}-{born}.a.csv": "of a process that is no more",
        f".aggopt.{where}-{pid}-1{born}.a.csv": "of one whose number is used again",
    }
    for name in (*stay, *go):
        (tmp_path / name).write_text("x")
    linked = tmp_path / f".aggopt.{where}-{gone()}-{born}.b.csv"
    linked.symlink_to(tmp_path / ".aggopt.job.toml")
    folder = tmp_path / f".aggopt.{where}-{gone()}-{born}.c.csv"
    folder.mkdir()
    remove_stale(tmp_path)
    assert names(tmp_path) == {*stay, linked.name, folder.name}


def test_a_folder_that_cannot_be_read_is_no_error(tmp_path):
    remove_stale(tmp_path / "none")


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="owners are of POSIX")
def test_what_another_user_owns_stays(tmp_path, monkeypatch):
    where, _, born = make_file_prefix().split(".")[2].split("-")
    name = f".aggopt.{where}-{gone()}-{born}.a.csv"
    (tmp_path / name).write_text("x")
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    remove_stale(tmp_path)
    assert names(tmp_path) == {name}


def test_without_linux_a_process_is_known_by_the_time_it_began(monkeypatch):
    monkeypatch.setattr(leftovers, "_BOOT", Path("/none"))
    leftovers._read_machine_id.cache_clear()
    try:
        whose = leftovers._NAME.match(make_folder_prefix())
        assert leftovers._is_alive(int(whose["pid"]), whose["born"])
        assert not leftovers._is_alive(gone(), whose["born"])
    finally:
        leftovers._read_machine_id.cache_clear()


def test_who_is_not_its_owner_never_reads_what_is_aside(tmp_path):
    seen = {}

    def modes(step):
        for path in tmp_path.iterdir():
            if path.name.startswith(".aggopt."):
                seen[step] = path.stat().st_mode & 0o777

    final = tmp_path / "m.csv"
    with Staging() as staging:
        staging.write(final, lambda to: to.write_text("x"))
        modes("written")
        link = os.link

        def spied(*places):
            modes("named")
            link(*places)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, "link", spied)
            staging.commit(final, public=final, overwrite=False)
    assert seen == {"written": 0o600, "named": 0o600}
    assert final.stat().st_mode & 0o777 == 0o666 & ~umask()


def umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
