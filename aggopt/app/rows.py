"""A window of the records of a table: a few rows of it, never all."""

import asyncio
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from aggopt.app.start_folder import identify_file

WINDOW = 20  # rows of a window
COLUMNS = 50  # columns of a window, and of the screen of roles


_reading = asyncio.Lock()  # two pages read the table once


async def read_window(
    path: Path, text_format: Mapping[str, Any], first: int, column: int
) -> dict[str, Any]:
    """Return rows and columns from these numbers, from 0."""
    key = (path, tuple(identify_file(path)), tuple(text_format.items()))
    async with _reading:
        table = await asyncio.to_thread(_read_table, *key)
    first = max(0, min(first, len(table) - 1))
    part = table.slice(first, WINDOW)
    names = part.column_names[column : column + COLUMNS]
    columns = [part[name].to_pylist() for name in names]
    rows = list(zip(*columns, strict=True))
    return {"names": names, "first": first, "records": len(table), "rows": rows}


@lru_cache(1)
def _read_table(
    path: Path, state: tuple[int, ...], text_format: tuple[tuple[str, Any], ...]
) -> Any:
    from aggopt.data.readers.read import read_as_text
    from aggopt.job import Input

    return read_as_text(path, Input(**dict(text_format)))
