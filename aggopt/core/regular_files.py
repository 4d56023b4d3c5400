"""Target of a path, and a refusal of all but regular files.

Reading a pipe could wait forever, and a link to itself has no target.
"""

import os
import stat
from pathlib import Path

from aggopt.errors import AggoptError, PlaceError, TableError

_KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def resolve_path(path: Path) -> Path:
    """Return a path without links, as far as they lead; as `Path.resolve`.

    That one raises a RuntimeError for a link to itself, before Python 3.13.
    """
    return Path(os.path.realpath(path))


def require_regular(path: Path, error: type[AggoptError] = TableError) -> None:
    """Refuse a path unless it leads to a regular file; links to one are accepted.

    Raises
    ------
    TableError, or what `error` names
        The path does not exist, or is a directory, a pipe, a socket or a device.
    PlaceError
        Permissions forbid to look at the path.
    """
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        raise error(f"There is no file {path}.", fix="check the path.") from None
    except (OSError, ValueError) as refusal:  # ValueError: a name with a zero byte
        raise unreadable_error(path, refusal, error) from None
    kind = stat.S_IFMT(mode)
    if kind == stat.S_IFDIR:
        raise error(f"{path} is a directory.", fix="name a file in it.")
    if kind != stat.S_IFREG:
        raise error(
            f"{path} is {_KINDS.get(kind, 'something else')} and no plain file.",
            fix="write what comes from it to a file, and name that.",
        )


def unreadable_error(
    path: Path,
    refusal: OSError | ValueError,
    error: type[AggoptError] = TableError,
    *,
    fix: str = "check the path.",
) -> AggoptError:
    """Return the error of a path that the system does not read.

    It is a PlaceError if the system does not permit it; else what `error` names.
    """
    if isinstance(refusal, OSError):
        why = refusal.strerror or "it is damaged"
    else:
        why = "it is no name of a file"
    kind = PlaceError if isinstance(refusal, PermissionError) else error
    return kind(f"{path} cannot be read: {why}.", fix=fix)
