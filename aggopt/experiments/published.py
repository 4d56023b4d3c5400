"""Published figures, each with paper, table, row and column: the file published.toml.

`aggopt reproduce` shows them next to ours, and benchmarks read them from here: no
figure is typed twice.
"""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from aggopt.errors import require_known

FILE = Path(__file__).with_name("published.toml")
NOTHING, ABOUT = "-", "~"  # in place of a cell that is empty, and before a rough one
SIZES = "/"  # between the smallest and the average group size


@dataclass(frozen=True)
class PublishedCell:
    """One cell of a published table.

    Attributes
    ----------
    figure, data
        The measure, and the data set on which it was measured.
    k, t
        Minimum size of groups, and the required t, if any was.
    printed
        The figure as printed; None if the cell is empty.
    alpha, delta
        The parameters of P3M, if they differ from cell to cell.
    """

    figure: str
    data: str
    k: int
    t: float | None = None
    printed: str | None = None
    alpha: float | None = None
    delta: float | None = None

    @property
    def value(self) -> float | None:
        """The figure as a number; None if the cell is empty, or has two sizes."""
        if self.printed is None or SIZES in self.printed:
            return None
        return float(self.printed.lstrip(ABOUT))


@dataclass(frozen=True)
class PublishedTable:
    """A published table.

    Attributes
    ----------
    number
        As in print, or the name of its figure if the sources give no number.
    title, note
        Title of its figures, and a note on their comparison with ours.
    method
        The method that computes ours: see `aggopt.experiments.reproduce`.
    records
        The quasi-identifiers; all attributes of a reference table if empty.
    cells
        All of them, row by row.
    """

    number: str
    title: str
    note: str
    method: str
    records: tuple[str, ...]
    cells: tuple[PublishedCell, ...]

    def row(self, figure: str, data: str) -> tuple[PublishedCell, ...]:
        """Return the cells of a figure on a table of data, in their order."""
        return tuple(c for c in self.cells if (c.figure, c.data) == (figure, data))

    def values(self, figure: str) -> dict[str, tuple[float | None, ...]]:
        """Return the numbers of a figure by table of data."""
        names = dict.fromkeys(c.data for c in self.cells if c.figure == figure)
        return {n: tuple(c.value for c in self.row(figure, n)) for n in names}


@dataclass(frozen=True)
class Study:
    """A study and its published tables, by number."""

    name: str
    citation: str
    tables: Mapping[str, PublishedTable]

    def table(self, number: object) -> PublishedTable:
        """Return a table by its number, or refuse one that is not here."""
        require_known(f"table of {self.name}", str(number), self.tables)
        return self.tables[str(number)]


@cache
def studies() -> dict[str, Study]:
    """Return the studies by name.

    Examples
    --------
    >>> studies()["mortazavi2017"].table(2).row("P3M", "Census")[0].printed
    '55.19'
    """
    found = tomllib.loads(FILE.read_text("utf-8"))
    return {name: _study(name, **said) for name, said in found.items()}


def study(name: object) -> Study:
    """Return a study by its name; the refusal of another suggests the nearest."""
    require_known("study", name, studies())
    return studies()[str(name)]


def _study(name: str, citation: str, tables: dict[str, Any]) -> Study:
    return Study(name, citation, {n: _table(n, **said) for n, said in tables.items()})


def _table(
    number: str,
    title: str,
    method: str,
    across: dict[str, list[float]],
    rows: list[dict[str, Any]],
    note: str = "",
    records: tuple[str, ...] = (),
) -> PublishedTable:
    ((axis, values),) = across.items()
    cells = (cell for row in rows for cell in _cells(axis, values, **row))
    return PublishedTable(number, title, note, method, tuple(records), tuple(cells))


def _cells(
    axis: str, values: list[float], cells: str, **row: Any
) -> Iterator[PublishedCell]:
    """Yield the cells of a row: the listed values change from one to the next."""
    for j, (at, cell) in enumerate(zip(values, cells.split(), strict=True)):
        own = {n: v[j] if isinstance(v, list) else v for n, v in row.items()}
        printed = None if cell == NOTHING else cell
        yield PublishedCell(**{**own, axis: at, "printed": printed})
