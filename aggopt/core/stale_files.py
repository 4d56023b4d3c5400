"""Leftover files of killed processes, and never files of a live process.

The name of a temporary file records its owner: the machine and its boot (and the
container), the process, and the start of the process.  Folders of a run have names of
another form.  Another run can resume from them, so only a run that resumes, or an
explicit discard, removes them.
"""

import os
import re
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from platform import node
from tempfile import TemporaryDirectory, gettempdir

from aggopt.core import guardian
from aggopt.core.worker import SCRATCH

_FILES = ".aggopt."
_FOLDERS = "aggopt-"
_RUNS = "aggopt-run-"
_KEPT = "kept-"  # in place of a process: no process of any machine uses it
_BOOT = Path("/proc/sys/kernel/random/boot_id")
_CONTAINER = Path("/proc/self/ns/pid")  # processes have numbers within it


def make_file_prefix() -> str:
    """Return the prefix of names of files that this process removes at its end."""
    return f"{_FILES}{_make_owner_suffix()}."


def make_folder_prefix() -> str:
    """Return the prefix of names of folders that this process removes at its end."""
    return f"{_FOLDERS}{_make_owner_suffix()}-"


def run_prefix() -> str:
    """Return the prefix of names of folders that another run can resume from."""
    return f"{_RUNS}{_make_owner_suffix()}-"


def remove_stale(folder: Path) -> None:
    """Remove from `folder` the leftovers of killed processes of this machine.

    Files stay if another user owns them, another machine wrote them, or they are older
    than the start of this machine: they may be of use.  Files that cannot be removed,
    and folders that a run can resume from, stay too.
    """
    for path in find_stale(folder):
        with suppress(OSError):
            _remove_path(path)


def find_stale(folder: Path) -> list[Path]:
    """Return the paths that `remove_stale` would remove."""
    return [path for path in _find_leftovers(folder) if not path.name.startswith(_RUNS)]


def find_abandoned_runs(folder: Path) -> list[Path]:
    """Return the folders of runs that were killed, or ended and kept theirs."""
    return [path for path in _find_leftovers(folder) if path.name.startswith(_RUNS)]


def _find_leftovers(folder: Path) -> list[Path]:
    leftovers = []
    with suppress(OSError):
        for entry in os.scandir(folder):
            with suppress(OSError):
                if _is_stale(entry):
                    leftovers.append(Path(entry.path))
    return leftovers


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
    """Remove a folder of a run; `remove_stale` completes an interrupted removal."""
    with suppress(OSError):
        folder = folder.rename(
            folder.with_name(make_folder_prefix() + strip_owner(folder))
        )
    shutil.rmtree(folder, ignore_errors=True)


def strip_owner(path: Path) -> str:
    """Return the name of a temporary file or folder without its owner."""
    return _NAME.sub("", path.name, count=1)


def _is_stale(entry: os.DirEntry[str]) -> bool:
    """Return whether an entry is from this package and of no live process."""
    whose = _NAME.match(entry.name)
    if whose is None or (whose["where"] != _read_machine_id() and not whose["kept"]):
        return False
    status = entry.stat(follow_symlinks=False)
    kind = stat.S_ISREG if whose["kind"] == _FILES else stat.S_ISDIR
    is_owner = not hasattr(os, "getuid") or status.st_uid == os.getuid()
    if not is_owner or not kind(status.st_mode):
        return False
    return bool(whose["kept"]) or not _is_alive(int(whose["pid"]), whose["born"])


_NAME = re.compile(
    rf"(?P<kind>{re.escape(_FILES)}|{_RUNS}|{_FOLDERS})"
    rf"(?:(?P<kept>(?<={_RUNS}){_KEPT})|"
    r"(?P<where>[0-9a-f]{12})-(?P<pid>\d{1,9})-(?P<born>[1-9]\d{0,20})[.-])"
)


def _remove_path(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink()


def _make_owner_suffix() -> str:
    pid = os.getpid()
    return f"{_read_machine_id()}-{pid}-{_start_ticks(pid) or 0}"


@cache
def _read_machine_id() -> str:
    """Return an identifier of this machine since its start."""
    try:
        parts = [_BOOT.read_text(), os.readlink(_CONTAINER)]
    except OSError:  # no Linux
        parts = [node()]
    return sha256("\n".join(parts).encode()).hexdigest()[:12]


def _is_alive(pid: int, born: str) -> bool:
    return _start_ticks(pid) == born


def _start_ticks(pid: int) -> str | None:
    """Return the start of a process in ticks of its system; None without a process."""
    if _BOOT.exists():
        return _read_ticks(pid)
    import psutil

    try:
        return str(int(psutil.Process(pid).create_time()))
    except psutil.NoSuchProcess:
        return None


def _read_ticks(pid: int) -> str | None:
    """Return clock ticks from the start of Linux: unlike a date, they never change."""
    try:
        stat_text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    state, *fields = stat_text.rpartition(")")[2].split()
    return None if state in "ZX" else fields[18]  # a zombie does nothing any more


_MEMORY = Path("/dev/shm")


@contextmanager
def make_scratch_folder(parent: Path | None = None) -> Iterator[Path]:
    """Yield a folder of mode 0700 that is removed at the end.

    It is in `parent`; in memory, if possible, when omitted.  Folders that a killed
    process could not remove there go before.
    """
    parent = parent or find_scratch_parent()
    remove_stale(parent)
    with TemporaryDirectory(dir=parent, prefix=make_folder_prefix()) as name:
        guardian.send_message("file", name)
        try:
            yield Path(name)
        finally:
            guardian.send_message("removed", name)


def find_scratch_parent() -> Path:
    """Return the parent folder of scratch folders."""
    usual = _MEMORY if _MEMORY.is_dir() else gettempdir()
    return Path(os.environ.get(SCRATCH) or usual)
