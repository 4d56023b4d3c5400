"""Tidy rows, a dict by column each, as a table of any kind or a file."""

import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from aggopt.errors import TableError
from aggopt.experiments._cell import Figures
from aggopt.release.files.staging import Staging, check_places

if TYPE_CHECKING:
    import pandas as pd

Writer = Callable[[Path], object]
TEXT = frozenset({"attribute", "status", "solver", "error", "message"})
TEXT |= {"groups.status", "groups.solver"}


class TidyRows:
    """Result with `rows`: `error` is the reason of a failure, None without one."""

    if TYPE_CHECKING:

        @property
        def rows(self) -> tuple[Figures, ...]:
            """Rows, one mapping of columns to figures each."""
            ...

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, the cell's first."""
        names = dict.fromkeys(name for row in self.rows for name in row)
        last = [name for name in ("error", "message") if name in names]
        return (*(name for name in names if name not in last), *last)

    @property
    def failures(self) -> tuple[Figures, ...]:
        """The rows of cells that failed."""
        return tuple(row for row in self.rows if row["error"] is not None)

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Figures]:
        return iter(self.rows)

    def to_arrow(self) -> pa.Table:
        """Return the rows as a PyArrow table.

        A column of numbers stays numeric; any other becomes text, with lists and
        tables as JSON.
        """
        columns = self.columns
        entries = {name: [row.get(name) for row in self.rows] for name in columns}
        return pa.table({name: _make_column(name, entries[name]) for name in columns})

    def to_pandas(self) -> "pd.DataFrame":
        """Return the rows as a pandas table."""
        frame: pd.DataFrame = self.to_arrow().to_pandas()
        return frame

    def to_parquet(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the rows to a Parquet file, complete or not at all; return its path.

        Raises
        ------
        TableError
            The folder does not exist, a file exists and `overwrite` is not set, or
            the disk refuses.
        """
        from pyarrow.parquet import write_table

        rows = self.to_arrow()
        return write_files({path: lambda to: write_table(rows, to)}, overwrite)[0]

    def to_csv(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the rows to a CSV file; as `to_parquet`."""
        return write_files({path: self.csv_writer()}, overwrite)[0]

    def csv_writer(self) -> Writer:
        """Return a function that writes the rows to a CSV file at a path."""
        return partial(self.to_pandas().to_csv, index=False)


def write_files(files: Mapping[str | Path, Writer], overwrite: bool) -> list[Path]:
    """Write files aside, mode 0600, name them all or none, and return their paths.

    Raises
    ------
    TableError
        A path names no file, or as `check_places` and `Staging` refuse it.
    """
    finals = {Path(path): writer for path, writer in files.items()}
    for final in finals:
        if not final.name:
            raise TableError(f"{final} is no name of a file.", fix="name one.")
    check_places(*finals, overwrite=overwrite)
    with Staging() as staging:
        for final, writer in finals.items():
            staging.write(final, writer)
        staging.commit(*finals, overwrite=overwrite)
    return list(finals)


def _make_column(name: str, entries: list[Any]) -> pa.Array:
    """Return entries of mixed Python types as an Arrow column."""
    kinds = {type(entry) for entry in entries if entry is not None}
    if kinds == {bool}:
        return pa.array(entries, pa.bool_())
    if kinds == {int}:
        return pa.array(entries, pa.int64())
    if kinds <= {int, float} and name not in TEXT:
        return pa.array(entries, pa.float64())
    return pa.array([_format_entry(entry) for entry in entries], pa.string())


def _format_entry(entry: Any) -> str | None:
    return entry if entry is None or isinstance(entry, str) else json.dumps(entry)
