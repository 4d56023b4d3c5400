"""Paths that the page may read and write: plain files below the start folder."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from aggopt.errors import TableError

DEPTH = 3  # folders below the start folder in which files are listed
LISTED = 200  # files that are listed
INSIDE = "name a plain file in the folder where `aggopt app` was started, or below."


@dataclass(frozen=True)
class StartFolder:
    """The folder where the page was started; nothing outside is read or written."""

    path: Path

    def find_place(self, name: str) -> Path:
        """Return a path below the start folder; neither names nor links leave it."""
        path = self.path / name  # an absolute name is the path itself
        parts = Path(name).parts
        if not parts:
            raise TableError("The name of a file is empty.", fix=INSIDE)
        if "\0" in name or ".." in parts or not path.is_relative_to(self.path):
            problem = f"{name!r} leads out of the folder {self.path.name!r}."
            raise TableError(problem, fix=INSIDE)
        try:
            os.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            pass
        except OSError:
            problem = "A path is too long, or you may not enter a folder of it."
            raise TableError(problem, fix=INSIDE) from None
        if os.path.realpath(path) != str(path):
            raise TableError(f"A part of {name!r} is a link.", fix=INSIDE)
        return path

    def find_file(self, name: str) -> Path:
        """Return the path of a plain file that a person named."""
        path = self.find_place(name)
        if not os.path.isfile(path):
            problem = f"There is no plain file {name!r} that can be read."
            raise TableError(problem, fix=INSIDE)
        return path

    def find_new(self, name: str) -> Path:
        """Return the path of a file to write, which does not exist."""
        path = self.find_place(name)
        if not os.path.isdir(path.parent):
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

    def name(self, path: Path) -> str:
        """Return a path relative to the start folder, as text."""
        return str(path.relative_to(self.path))

    def has_state(self, name: str, state: Sequence[int]) -> bool:
        """Return whether a file has the numbers of `identify_file` from before."""
        try:
            return identify_file(self.find_file(name)) == [*state]
        except (TableError, OSError):
            return False

    def list_files(self, suffixes: tuple[str, ...]) -> list[str]:
        """Return the sorted names of plain files that have one of these endings."""
        names = []
        for folder, folders, files in os.walk(self.path):
            is_deepest = len(Path(folder).relative_to(self.path).parts) == DEPTH
            folders[:] = [f for f in folders if f[0] != "." and not is_deepest]
            listed = [f for f in files if f[0] != "." and f.lower().endswith(suffixes)]
            paths = [Path(folder, file) for file in listed]
            names += [self.name(p) for p in paths if p.is_file() and not p.is_symlink()]
        return sorted(names)[:LISTED]


def identify_file(path: Path) -> list[int]:
    """Return numbers that differ for another file, or a changed one; links too."""
    status = os.lstat(path)
    return [status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns]


def write_private(path: Path, text: str) -> Path:
    """Write a file that only its owner can read, and return its path."""
    path.unlink(missing_ok=True)
    path.touch(mode=0o600, exist_ok=False)
    path.write_text(text, encoding="utf-8")
    return path
