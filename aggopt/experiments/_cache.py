"""Cache of finished cells on disk: figures only, each cell complete or absent.

A file is named after all inputs of its figures, so that no content needs comparing:
another table, job, seed, limit or version is another file.  It has a checksum of its
rows: damaged or edited files are ignored.
"""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

from aggopt.errors import JobError
from aggopt.experiments._cell import Figures, columns_of
from aggopt.experiments._code import code_of
from aggopt.experiments._grid import Cell
from aggopt.job import Job
from aggopt.release.files.staging import Staging, make_folder
from aggopt.release.manifest import list_versions


class Cache:
    """A folder of cells that are done, or none.

    Raises
    ------
    JobError
        The path is a file.
    TableError
        The folder cannot be made.
    """

    def __init__(self, folder: str | Path | None) -> None:
        self.folder = None if folder is None else Path(folder)
        if self.folder is None:
            return
        if self.folder.exists() and not self.folder.is_dir():
            raise JobError(f"cache = {self.folder} is no folder.", fix="name another.")
        make_folder(self.folder)

    def rows(self, key: str, cell: Cell) -> list[Figures] | None:
        """Return the rows of a cell, None if missing, incomplete, or of another cell.

        They have their own columns, and not the columns that identify the cell.
        """
        try:
            found = json.loads(self._file(key).read_bytes())
        except (OSError, ValueError, RecursionError):
            return None
        if not isinstance(found, dict) or found.get("cell") != key:
            return None
        rows = found.get("rows")
        whole = found.get("checksum") == _checksum(key, rows)
        return rows if whole and _are_rows(rows, cell) else None

    def keep(self, key: str, rows: list[Figures]) -> None:
        """Write a cell: aside, mode 0600, and under its name once it is whole.

        Raises
        ------
        TableError
            The disk refuses.
        """
        kept = {"cell": key, "checksum": _checksum(key, rows), "rows": rows}
        text = json.dumps(kept).encode()
        file = self._file(key)
        with Staging() as staging:
            staging.write(file, lambda to: to.write_bytes(text))
            staging.commit(file, overwrite=True)

    def _file(self, key: str) -> Path:
        return Path(str(self.folder), f"{key}.json")


def _checksum(key: str, rows: Any) -> str:
    """Return the SHA-256 of a cell's rows; equal for rows written and read back."""
    return sha256(json.dumps([key, rows]).encode()).hexdigest()


def _are_rows(found: Any, cell: Cell) -> bool:
    return (
        isinstance(found, list) and found != [] and all(_is_row(r, cell) for r in found)
    )


def _is_row(found: Any, cell: Cell) -> bool:
    if not isinstance(found, dict) or not columns_of(cell.job) <= found.keys():
        return False
    foreign = found.keys() & {*cell.start, "error", "message"}
    plain = all(isinstance(v, str | int | float | None) for v in found.values())
    return plain and not foreign


def key_of(fingerprint: str, job: Job, secret: str, seconds: float | None) -> str:
    """Return the SHA-256 of all that the figures of a cell depend on.

    Raises
    ------
    JobError
        It depends on code that has no source.
    """
    stated = {
        "versions": list_versions(["aggopt"]),
        "table": fingerprint,
        "job": job.model_dump(mode="json", by_alias=True),
        "code": code_of(job),
        "secret": secret,
        "time_limit": seconds,
    }
    return sha256(json.dumps(stated, sort_keys=True).encode()).hexdigest()
