"""Published tables of the field next to ours, of their data or of the user's."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from aggopt import datasets
from aggopt.core import html
from aggopt.core.frame import to_frame
from aggopt.core.progress import require_progress
from aggopt.data.readers.read import read_as_text
from aggopt.data.table import Table
from aggopt.errors import JobError, TableError
from aggopt.experiments._methods_in_print import CLOSE, Figure, StudyRecords, figure_of
from aggopt.experiments.published import (
    ABOUT,
    PublishedCell,
    PublishedTable,
    study,
)
from aggopt.job import Input, Job
from aggopt.pipeline.partition.partition_table import Progress, read_table

REFERENCE: dict[str, Callable[[], Any]] = {
    "Tarragona": datasets.tarragona,
    "Census": datasets.census,
    "EIA": lambda: datasets.eia()[datasets.EIA_PUBLISHED],
}
DIGITS = 2  # of a figure without a printed counterpart


@dataclass(frozen=True)
class Reproduced:
    """A cell of a published table, and our figure for it.

    Attributes
    ----------
    table, cell
        The printed table, and the cell in it.
    ours
        Our figure: a number in %, or smallest/average group size; None of a reference
        table if the user's own is requested.
    """

    table: PublishedTable
    cell: PublishedCell
    ours: Figure | None

    @property
    def shown(self) -> str:
        """Our figure with as many digits as the published one; "" without."""
        if not isinstance(self.ours, float):
            return self.ours or ""
        printed = self.cell.printed or f"{0:.{self._digits}f}"
        return f"{self.ours:.{len(printed.partition('.')[2])}f}"

    @property
    def _digits(self) -> int:
        printed = [c.printed for c in self.table.cells if c.printed]
        return len(printed[-1].partition(".")[2]) if printed else DIGITS

    def _repr_html_(self) -> str:
        """Return both figures and their table and cell, for a notebook."""
        of = self.cell
        places = [("data", of.data), ("figure", of.figure), ("k", of.k)]
        both = [("in print", of.printed), ("ours", self.shown or None)]
        shown = html.html_table(("", "value"), [*places, *both])
        return html.html_section(self.table.title, shown)

    @property
    def agrees(self) -> bool | None:
        """Whether ours is the published figure, as printed; None without one."""
        if self.cell.printed is None or self.ours is None:
            return None
        return self.shown == self.cell.printed.lstrip(ABOUT)

    @property
    def difference(self) -> float | None:
        """Our number less the published one; None if one of them is not a number."""
        if not isinstance(self.ours, float) or self.cell.value is None:
            return None
        return self.ours - self.cell.value

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        cell = asdict(self.cell)
        printed = cell.pop("printed")
        return {
            **{name: value for name, value in cell.items() if value is not None},
            "published": printed,
            "ours": self.ours,
        }


def reproduce(
    name: str,
    table: int | str | None = None,
    *,
    data: Any = None,
    columns: Sequence[str] = (),
    confidential: Sequence[str] = (),
    progress: Progress | None = None,
) -> Iterator[Reproduced]:
    """Yield each cell of a study's tables with our figure in its place.

    Parameters
    ----------
    name
        Of the study: `aggopt.experiments.published.studies` has them.
    table
        Its number; all of the study's when omitted.
    data
        A table of your own, or the path of a file (docs/files.md): then ours are of
        it, and published cells have none of ours.
    columns
        Its quasi-identifiers, numbers.
    confidential
        Its confidential attributes, numbers, if a table is of t-closeness.
    progress
        Called with the step and its completed share.

    Raises
    ------
    JobError
        No study or table has this name (UnknownNameError); columns are named without
        data, or left out.
    TableError
        The data cannot be used; a reference table cannot be obtained.

    Examples
    --------
    >>> reproduced = reproduce("domingo-ferrer2002", data=[[1.0], [2.0]])
    Traceback (most recent call last):
    aggopt.errors.JobError: No columns of the data are named.
    To fix: name those that are quasi-identifiers: columns=["age", "income"].
    """
    require_progress(progress, "the step and the share of it that is done")
    found = study(name)
    asked = [found.table(table)] if table is not None else [*found.tables.values()]
    close = any(each.method in CLOSE for each in asked)
    _require_columns(data, columns, confidential, close=close)
    own = None if data is None else _own(data, columns, confidential)
    return _reproduced(asked, own, progress or (lambda step, share: None))


def _require_columns(
    data: Any, columns: Sequence[str], confidential: Sequence[str], *, close: bool
) -> None:
    if data is None and (columns or confidential):
        raise JobError(
            "Columns are named, and no data of your own are given.",
            fix="give the data, or leave the columns out: each study has its own.",
        )
    if data is not None and not columns:
        raise JobError(
            "No columns of the data are named.",
            fix='name those that are quasi-identifiers: columns=["age", "income"].',
        )
    if data is not None and close and not confidential:
        raise JobError(
            "The tables are of t-closeness, and no confidential column is named.",
            fix='name one at least: confidential=["salary"].',
        )
    if confidential and not close:
        raise JobError(
            "A confidential column is named, and the tables look at none.",
            fix="leave confidential out.",
        )


def _own(
    data: Any, columns: Sequence[str], confidential: Sequence[str]
) -> StudyRecords:
    """Return the records of a user's table, or refuse columns that are not numbers."""
    is_file = isinstance(data, str | Path)
    there = read_as_text(Path(data), Input()).column_names if is_file else None
    names = there or to_frame(data).columns
    wanted = [*columns, *confidential]
    others = [name for name in names if name not in wanted]
    roles = {"quasi-identifier": wanted, "other": others}
    read, _ = read_table(data, Job(roles=roles, privacy={"k": 2}))
    _require_numbers(read)
    whole, d = read.matrix(), len(columns)
    held = {name: whole[:, d + j] for j, name in enumerate(confidential)}
    return StudyRecords(
        Path(data).name if is_file else "yours", whole[:, :d].copy(), held
    )


def _require_numbers(table: Table) -> None:
    other = [*table.domains, *table.clocks]
    if other:
        raise TableError(
            f"Columns that are no numbers: {', '.join(map(repr, other))}.",
            fix="name others: published tables are of numbers.",
        )


def _reproduced(
    tables: Sequence[PublishedTable], own: StudyRecords | None, on_progress: Progress
) -> Iterator[Reproduced]:
    for table in tables:
        if own:
            yield from (Reproduced(table, cell, None) for cell in table.cells)
        cells = _of_own(table, own) if own else table.cells
        records: dict[str, StudyRecords] = {}
        for done, cell in enumerate(cells):
            on_progress(f"table {table.number}", done / len(cells))
            if cell.data not in records:
                records[cell.data] = own or _reference(cell.data, table)
            ours = figure_of(table.method, records[cell.data], cell)
            yield Reproduced(table, cell, ours)


def _of_own(table: PublishedTable, own: StudyRecords) -> list[PublishedCell]:
    """Return the cells of the first row of tables, to be filled from own records.

    P3M has the best alpha and delta of the grid; each confidential attribute has rows.
    """
    first = table.cells[0].data
    plain = [
        replace(cell, data=own.name, printed=None, alpha=None, delta=None)
        for cell in table.cells
        if cell.data == first
    ]
    if not own.held:
        return plain
    known = plain[0].figure
    rows = [cell for cell in plain if cell.figure == known]
    return [replace(cell, figure=name) for name in own.held for cell in rows]


def _reference(name: str, table: PublishedTable) -> StudyRecords:
    frame = REFERENCE[name]()
    if not table.records:
        return StudyRecords(name, frame.to_numpy(float))
    held = {cell.figure: frame[cell.figure].to_numpy(float) for cell in table.cells}
    return StudyRecords(name, frame[list(table.records)].to_numpy(float), held)
