"""What a killed process left behind, and nothing of one that lives.

The names of files that are there for a moment say whose they are: which machine since
which start (and which container of it), which process, and when that began.
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
_BOOT = Path("/proc/sys/kernel/random/boot_id")
_CONTAINER = Path("/proc/self/ns/pid")  # processes have numbers within it


def file_prefix() -> str:
    """Return how the name of a file begins that this process removes at its end."""
    return f"{_FILES}{_owner()}."


def folder_prefix() -> str:
    """Return the same for a folder."""
    return f"{_FOLDERS}{_owner()}-"


def remove_left(folder: Path) -> None:
    """Remove from `folder` what processes on this machine left that were killed.

    What others own, another machine wrote, or was left before this machine started is
    not certain to be of no use, and stays; so does what cannot be removed.
    """
    for path in left_in(folder):
        with suppress(OSError):
            _remove(path)


def left_in(folder: Path) -> list[Path]:
    """Return what `remove_left` would remove."""
    found = []
    with suppress(OSError):
        for entry in os.scandir(folder):
            with suppress(OSError):
                if _left(entry):
                    found.append(Path(entry.path))
    return found


def adopted(folder: Path) -> Path:
    """Return a folder that was left, renamed: this process removes it at its end.

    Raises
    ------
    OSError
        It is not there any more.
    """
    return folder.rename(folder.with_name(folder_prefix() + own_part(folder)))


def own_part(path: Path) -> str:
    """Return the name of what is there for a moment, without whose it is."""
    return _NAME.sub("", path.name, count=1)


def _left(entry: os.DirEntry[str]) -> bool:
    """Return whether an entry is ours and of no process that lives."""
    whose = _NAME.match(entry.name)
    if whose is None or whose["where"] != _where():
        return False
    seen = entry.stat(follow_symlinks=False)
    kind = stat.S_ISDIR if whose["kind"] == _FOLDERS else stat.S_ISREG
    own = not hasattr(os, "getuid") or seen.st_uid == os.getuid()
    return own and kind(seen.st_mode) and not _lives(int(whose["pid"]), whose["born"])


_NAME = re.compile(
    rf"(?P<kind>{re.escape(_FILES)}|{_FOLDERS})"
    r"(?P<where>[0-9a-f]{12})-(?P<pid>\d{1,9})-(?P<born>[1-9]\d{0,20})[.-]"
)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink()


def _owner() -> str:
    pid = os.getpid()
    return f"{_where()}-{pid}-{_born(pid) or 0}"


@cache
def _where() -> str:
    """Return what tells this machine, since it started, from every other."""
    try:
        parts = [_BOOT.read_text(), os.readlink(_CONTAINER)]
    except OSError:  # no Linux
        parts = [node()]
    return sha256("\n".join(parts).encode()).hexdigest()[:12]


def _lives(pid: int, born: str) -> bool:
    return _born(pid) == born


def _born(pid: int) -> str | None:
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
        told = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    state, *fields = told.rpartition(")")[2].split()
    return None if state in "ZX" else fields[18]  # a zombie does nothing any more
