"""What an experiment found: tidy rows, as a table of any kind, a file or a picture."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from aggopt.core.equal import Fieldwise
from aggopt.core.html import as_text, table, titled
from aggopt.core.plural import many
from aggopt.errors import TableError
from aggopt.experiments._cell import Figures
from aggopt.output.staging import Staging, check_places

if TYPE_CHECKING:
    import pandas as pd

    from aggopt.plot.figure import Picture

SCREEN = 20  # rows that are printed
SHOWN = ("attribute", "status", "objective", "gap", "linkage", "pil", "error")
TEXT = frozenset({"attribute", "status", "solver", "error", "message"})
TEXT |= {"groups.status", "groups.solver"}


@dataclass(frozen=True, eq=False, repr=False)
class Experiment(Fieldwise):
    """The rows of an experiment; printed, it is a table of the first of them.

    Attributes
    ----------
    rows
        One for each cell and attribute, or attributes that were solved together, in
        the order of the grid; one for each cell that failed.  Each is a dict by column:

        - `table`, `k`, `partition`, `aggregation`, further settings of which the grid
          lists several, such as `aggregation.solver`, and `seed`: the cell
        - `error`, `message`: why it failed; None where it did not
        - `attribute`, and `status`, `objective`, `bound`, `gap`, `violation`, `solver`,
          `seconds` of its certificate: see `aggopt.solvers.Certificate`
        - `groups`, their number; `smallest`, as the audit counted; `groups.status` and
          so on, of the certificate of its partition
        - the measures of the release, the same in each row of a cell, your own as
          `measures.NAME`: see `aggopt.measure.Assessment`
    """

    rows: tuple[Figures, ...] = field(repr=False)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, those of the cell first."""
        known = dict.fromkeys(name for row in self.rows for name in row)
        last = [name for name in ("error", "message") if name in known]
        return (*(name for name in known if name not in last), *last)

    @property
    def cell_columns(self) -> tuple[str, ...]:
        """The columns that say which cell a row is of."""
        columns = self.columns
        return columns[: columns.index("seed") + 1]

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

        A column of numbers is one of numbers; any other is one of text, in which lists
        and tables are JSON.
        """
        columns = self.columns
        entries = {name: [row.get(name) for row in self.rows] for name in columns}
        return pa.table({name: _column(name, entries[name]) for name in columns})

    def to_pandas(self) -> "pd.DataFrame":
        """Return the rows as a pandas table."""
        frame: pd.DataFrame = self.to_arrow().to_pandas()
        return frame

    def to_parquet(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the rows to a Parquet file, whole or not at all, and return its path.

        Raises
        ------
        TableError
            The folder does not exist, a file is there and `overwrite` is not set, or
            the disk refuses.
        """
        from pyarrow.parquet import write_table

        return _written(path, lambda to: write_table(self.to_arrow(), to), overwrite)

    def to_csv(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the rows to a CSV file; as `to_parquet`."""
        frame = self.to_pandas()
        return _written(path, lambda to: frame.to_csv(to, index=False), overwrite)

    def plot(self, x: str = "linkage", y: str = "pil") -> "Picture":
        """Return a picture of one column against another, a panel for each table.

        Each cell that did not fail is a point; cells that differ in k, seed and table
        alone have one colour and shape.  A line joins those that no other beats, both
        columns being better where they are lower.  `.savefig("found.png")` writes it.

        Raises
        ------
        UnknownNameError
            There is no such column.
        JobError
            It is no column of numbers, or no cell has both.
        """
        from aggopt.experiments._picture import drawn

        return drawn(self.rows, self.cell_columns, x, y)

    def __repr__(self) -> str:
        return "\n\n".join([self._verdict, as_text(*self._first), *self._rest])

    def _repr_html_(self) -> str:
        """Return the first rows for a notebook."""
        rest = [f"<p>{line}</p>" for line in self._rest]
        return titled(self._verdict, table(*self._first), *rest)

    @property
    def _verdict(self) -> str:
        failed = len(self.failures)
        return (
            f"Experiment: {many(len(self.rows), 'row')}, {many(failed, 'cell')} failed."
        )

    @property
    def _first(self) -> tuple[Sequence[str], Iterable[Sequence[Any]]]:
        """The header and the first rows of what is printed."""
        names = [*self.cell_columns, *(n for n in SHOWN if n in self.columns)]
        there = [n for n in names if any(row.get(n) is not None for row in self.rows)]
        return there, [[row.get(n, "") for n in there] for row in self.rows[:SCREEN]]

    @property
    def _rest(self) -> list[str]:
        left = len(self.rows) - SCREEN
        return [f"{many(left, 'row')} more: see .to_pandas()."] if left > 0 else []


def _written(path: str | Path, writer: Any, overwrite: bool) -> Path:
    final = Path(path)
    if not final.name:
        raise TableError(f"{path} is no name of a file.", fix="name one.")
    check_places(final, overwrite=overwrite)
    with Staging() as staging:
        staging.write(final, writer)
        staging.commit(final, overwrite=overwrite)
    return final


def _column(name: str, entries: list[Any]) -> pa.Array:
    kinds = {type(entry) for entry in entries if entry is not None}
    if kinds == {bool}:
        return pa.array(entries, pa.bool_())
    if kinds == {int}:
        return pa.array(entries, pa.int64())
    if kinds <= {int, float} and name not in TEXT:
        return pa.array(entries, pa.float64())
    return pa.array([_text(entry) for entry in entries], pa.string())


def _text(entry: Any) -> str | None:
    return entry if entry is None or isinstance(entry, str) else json.dumps(entry)
