"""What a killed process left behind, and nothing of one that lives.

The names of files that are there for a moment say whose they are: which machine since
which start (and which container of it), which process, and when that began.  Folders of
a run have a name of their own: they hold what another run can go on with, so that only
such a run, or who discards them, removes them.
"""

import os
import re
import shutil
import stat
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from platform import node

_FILES = ".aggopt."
_FOLDERS = "aggopt-"
_RUNS = "aggopt-run-"
_KEPT = "kept-"  # in place of a process: whatever the machine, nobody works there
_BOOT = Path("/proc/sys/kernel/random/boot_id")
_CONTAINER = Path("/proc/self/ns/pid")  # processes have numbers within it


def file_prefix() -> str:
    """Return how the name of a file begins that this process removes at its end."""
    return f"{_FILES}{_owner_suffix()}."


def folder_prefix() -> str:
    """Return the same for a folder."""
    return f"{_FOLDERS}{_owner_suffix()}-"


def run_prefix() -> str:
    """Return the same for a folder that another run of the same can go on with."""
    return f"{_RUNS}{_owner_suffix()}-"


def remove_stale(folder: Path) -> None:
    """Remove from `folder` what processes on this machine left that were killed.

    What others own, another machine wrote, or was left before this machine started is
    not certain to be of no use, and stays; so does what cannot be removed, and what
    a run can go on with.
    """
    for path in find_stale(folder):
        with suppress(OSError):
            _remove(path)


def find_stale(folder: Path) -> list[Path]:
    """Return what `remove_left` would remove."""
    return [path for path in _find_leftovers(folder) if not path.name.startswith(_RUNS)]


def find_abandoned_runs(folder: Path) -> list[Path]:
    """Return the folders of runs that were killed, or ended and kept theirs."""
    return [path for path in _find_leftovers(folder) if path.name.startswith(_RUNS)]


def _find_leftovers(folder: Path) -> list[Path]:
    found = []
    with suppress(OSError):
        for entry in os.scandir(folder):
            with suppress(OSError):
                if _is_stale(entry):
                    found.append(Path(entry.path))
    return found


def adopt_run_folder(folder: Path) -> Path:
    """Return a folder of a run that was left, renamed: it is this process's now.

    Raises
    ------
    OSError
        It is not there any more.
    """
    return folder.rename(folder.with_name(run_prefix() + strip_owner(folder)))


def release_run_folder(folder: Path) -> Path:
    """Return a folder of a run of this process, renamed: any process may adopt it.

    Raises
    ------
    OSError
        It is not there any more.
    """
    return folder.rename(folder.with_name(f"{_RUNS}{_KEPT}{strip_owner(folder)}"))


def remove_run(folder: Path) -> None:
    """Remove a folder of a run; if that is cut short, `remove_left` goes on with it."""
    with suppress(OSError):
        folder = folder.rename(folder.with_name(folder_prefix() + strip_owner(folder)))
    shutil.rmtree(folder, ignore_errors=True)


def strip_owner(path: Path) -> str:
    """Return the name of what is there for a moment, without whose it is."""
    return _NAME.sub("", path.name, count=1)


def _is_stale(entry: os.DirEntry[str]) -> bool:
    """Return whether an entry is ours and of no process that lives."""
    whose = _NAME.match(entry.name)
    if whose is None or (whose["where"] != _machine_id() and not whose["kept"]):
        return False
    seen = entry.stat(follow_symlinks=False)
    kind = stat.S_ISREG if whose["kind"] == _FILES else stat.S_ISDIR
    own = not hasattr(os, "getuid") or seen.st_uid == os.getuid()
    if not own or not kind(seen.st_mode):
        return False
    return bool(whose["kept"]) or not _is_alive(int(whose["pid"]), whose["born"])


_NAME = re.compile(
    rf"(?P<kind>{re.escape(_FILES)}|{_RUNS}|{_FOLDERS})"
    rf"(?:(?P<kept>(?<={_RUNS}){_KEPT})|"
    r"(?P<where>[0-9a-f]{12})-(?P<pid>\d{1,9})-(?P<born>[1-9]\d{0,20})[.-])"
)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink()


def _owner_suffix() -> str:
    pid = os.getpid()
    return f"{_machine_id()}-{pid}-{_start_ticks(pid) or 0}"


@cache
def _machine_id() -> str:
    """Return what tells this machine, since it started, from every other."""
    try:
        parts = [_BOOT.read_text(), os.readlink(_CONTAINER)]
    except OSError:  # no Linux
        parts = [node()]
    return sha256("\n".join(parts).encode()).hexdigest()[:12]


def _is_alive(pid: int, born: str) -> bool:
    return _start_ticks(pid) == born


def _start_ticks(pid: int) -> str | None:
    """Return when a process began, in its system's own count; None if there is none."""
    if _BOOT.exists():
        return _ticks(pid)
    import psutil

    try:
        return str(int(psutil.Process(pid).create_time()))
    except psutil.NoSuchProcess:
        return None


def _ticks(pid: int) -> str | None:
    """Return clock ticks from the start of Linux: unlike a date, they never change."""
    try:
        stat_text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    state, *fields = stat_text.rpartition(")")[2].split()
    return None if state in "ZX" else fields[18]  # a zombie does nothing any more
