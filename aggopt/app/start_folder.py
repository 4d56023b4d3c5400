"""Paths that the page may read and write: plain files below the start folder."""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from aggopt.errors import TableError

DEPTH = 3  # folders below the start folder in which files are listed
LISTED = 200  # files that are listed
INSIDE = "name a plain file in the folder where `aggopt app` was started, or below."


def identify_file(path: Path) -> list[int]:
    """Return numbers that differ if a path has another file, or a changed one.

    A link is not followed.
    """
    status = os.lstat(path)
    return [status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns]


@dataclass(frozen=True)
class StartFolder:
    """The folder where the page was started; nothing outside is read or written."""

    path: Path

    def find_file(self, name: str) -> Path:
        """Return the path of a plain file that a person named.

        Raises
        ------
        TableError
            It is outside, does not exist, or a part of the path is a link or a device.
        """
        path = self._join(name)
        self._require_no_link(path)
        try:
            mode = os.lstat(path).st_mode
        except (OSError, ValueError):
            raise TableError(
                f"There is no file {name!r} that can be read.", fix=INSIDE
            ) from None
        if not stat.S_ISREG(mode):
            raise TableError(f"{name!r} is no plain file.", fix=INSIDE)
        return path

    def find_new(self, name: str) -> Path:
        """Return the path of a file to write, which does not exist.

        Raises
        ------
        TableError
            It is outside, its folder does not exist or is a link, or it exists.
        """
        path = self._join(name)
        self._require_no_link(path)
        if not path.parent.is_dir():
            raise TableError(
                f"There is no folder {str(Path(name).parent)!r}.",
                fix="create the folder, or name another.",
            )
        if os.path.lexists(path):
            raise TableError(
                f"{name!r} exists, and the page overwrites nothing.",
                fix="name another file, or delete this one.",
            )
        return path

    def find_folder(self, name: str) -> Path:
        """Return the path of a folder to write to; it is created if it is missing."""
        path = self._join(name) if Path(name).parts else self.path
        self._require_no_link(path)
        try:
            path.mkdir(mode=0o700, exist_ok=True)
        except OSError:
            raise TableError(
                f"{name!r} is no folder, and cannot be created.",
                fix="name a folder in one that exists.",
            ) from None
        return path

    def _join(self, name: str) -> Path:
        """Return a path below the start folder; names cannot leave it."""
        path = self.path / name  # an absolute name is the path itself
        parts = Path(name).parts
        if not parts:
            raise TableError("The name of a file is empty.", fix=INSIDE)
        is_inside = path.is_relative_to(self.path) and ".." not in parts
        if "\0" in name or not is_inside:
            raise TableError(
                f"{name!r} leads out of the folder {self.path.name!r}.", fix=INSIDE
            )
        return path

    def _require_no_link(self, path: Path) -> None:
        """Refuse a path with a link in it, or one that the system cannot look up."""
        at = self.path
        for part in path.relative_to(self.path).parts:
            at = at / part
            try:
                mode = os.lstat(at).st_mode
            except (FileNotFoundError, NotADirectoryError):
                continue
            except OSError:
                raise TableError(
                    "A path is too long, or you may not enter a folder of it.",
                    fix=INSIDE,
                ) from None
            if stat.S_ISLNK(mode):
                raise TableError(f"{part!r} is a link.", fix=INSIDE)

    def name(self, path: Path) -> str:
        """Return a path as seen from the start folder."""
        return str(path.relative_to(self.path))

    def list_files(self, suffixes: tuple[str, ...]) -> list[str]:
        """Return the names of files with one of these endings, sorted."""
        names = sorted(
            self.name(path)
            for path in _walk(self.path, DEPTH)
            if path.name.lower().endswith(suffixes)
        )
        return names[:LISTED]


def write_private(path: Path, text: str) -> Path:
    """Write a file that only its owner can read, and return its path."""
    path.unlink(missing_ok=True)
    path.touch(mode=0o600, exist_ok=False)
    path.write_text(text, encoding="utf-8")
    return path


def _walk(folder: Path, depth: int) -> Iterator[Path]:
    """Yield plain files in a folder and below, without hidden ones and links."""
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return
    for entry in entries:
        if entry.name.startswith(".") or entry.is_symlink():
            continue
        if entry.is_file():
            yield Path(entry.path)
        elif depth and entry.is_dir():
            yield from _walk(Path(entry.path), depth - 1)
