"""A window of the records of a table: a few rows of it, never all."""

import asyncio
from pathlib import Path
from typing import Any

from aggopt.app.start_folder import identify_file

WINDOW = 20  # rows of a window
COLUMNS = 50  # columns of a window, and of the screen of roles
LONGEST = 80  # characters of an entry


class RowWindow:
    """The table that is shown, read once in a thread."""

    def __init__(self) -> None:
        self._key: tuple[Any, ...] = ()
        self._table: Any = None
        self._lock = asyncio.Lock()

    async def read(
        self, path: Path, text_format: dict[str, Any], first: int, column: int
    ) -> dict[str, Any]:
        """Return rows and columns from these numbers, from 0, each entry as text."""
        async with self._lock:
            key = (path, identify_file(path), text_format)
            if key != self._key:
                self._table = await asyncio.to_thread(_read_table, path, text_format)
                self._key = key
            table = self._table
        first = max(0, min(first, len(table) - 1))
        part = table.slice(first, WINDOW)
        names = part.column_names[column : column + COLUMNS]
        columns = [[_shorten(v) for v in part[name].to_pylist()] for name in names]
        rows = [list(row) for row in zip(*columns, strict=True)]
        return {"names": names, "first": first, "records": len(table), "rows": rows}


def _read_table(path: Path, text_format: dict[str, Any]) -> Any:
    from aggopt.data.readers.read import read_as_text
    from aggopt.job import Input

    return read_as_text(path, Input(**text_format))


def _shorten(entry: object) -> str:
    text = "" if entry is None else str(entry)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
