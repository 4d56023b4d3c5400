"""Published tables of the field next to ours, of their data or of the user's."""

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from aggopt import datasets
from aggopt.aggregate import mean, p3m
from aggopt.core import html
from aggopt.core.deadline import compile_time, require_progress
from aggopt.core.frame import to_frame
from aggopt.core.types import F64, Labels
from aggopt.data.readers.read import read_as_text
from aggopt.data.table import Table
from aggopt.errors import JobError, TableError, require_known
from aggopt.job import Input, Job
from aggopt.measure import il, range_sse, si, sl
from aggopt.partition import PARTITIONERS, mdav, mhm
from aggopt.pipeline.prepare.inputs import Progress, read_table

FILE = Path(__file__).with_name("published.toml")
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
        The figure as printed; None for the user's data, and if no source that we can
        read has it.
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
        """The figure as a number; None if nothing is printed, or two sizes are."""
        if self.printed is None or SIZES in self.printed:
            return None
        return float(self.printed)


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
    better
        "lower" or "higher", if ours is another method than the printed ones and the
        table shows which is better; "" if ours should equal print.
    """

    number: str
    title: str
    note: str
    method: str
    records: tuple[str, ...]
    cells: tuple[PublishedCell, ...]
    better: str = ""

    def row(self, figure: str, data: str) -> tuple[PublishedCell, ...]:
        """Return the cells of a figure on a table of data, in their order."""
        return tuple(c for c in self.cells if (c.figure, c.data) == (figure, data))

    def values(self, figure: str) -> dict[str, tuple[float | None, ...]]:
        """Return the numbers of a figure by table of data."""
        names = dict.fromkeys(c.data for c in self.cells if c.figure == figure)
        return {n: tuple(c.value for c in self.row(figure, n)) for n in names}


@dataclass(frozen=True)
class Study:
    """A study and its published tables, by number.

    `missing` states which printed figures are not among the tables, and why.
    """

    name: str
    citation: str
    tables: Mapping[str, PublishedTable]
    missing: tuple[str, ...] = ()

    def table(self, number: object) -> PublishedTable:
        """Return a table by its number, or refuse one that is not here."""
        require_known(f"table of {self.name}", str(number), self.tables)
        return self.tables[str(number)]


@cache
def load_studies() -> dict[str, Study]:
    """Return the studies by name.

    Examples
    --------
    >>> load_studies()["mortazavi2017"].table(2).row("P3M", "Census")[0].printed
    '55.19'
    """
    by_name = tomllib.loads(FILE.read_text("utf-8"))
    return {
        name: _read_study(name, **fields_of_study)
        for name, fields_of_study in by_name.items()
    }


def load_study(name: object) -> Study:
    """Return a study by its name; the refusal of another suggests the nearest.

    >>> load_study("domingo-ferrer2002").name
    'domingo-ferrer2002'
    """
    require_known("study", name, load_studies())
    return load_studies()[str(name)]


def _read_study(
    name: str, citation: str, tables: dict[str, Any], missing: tuple[str, ...] = ()
) -> Study:
    return Study(
        name,
        citation,
        {n: _read_table(n, **fields_of_table) for n, fields_of_table in tables.items()},
        tuple(missing),
    )


def _read_table(
    number: str,
    title: str,
    method: str,
    across: dict[str, list[float]],
    rows: list[dict[str, Any]],
    note: str = "",
    records: tuple[str, ...] = (),
    better: str = "",
) -> PublishedTable:
    ((axis, values),) = across.items()
    cells = (cell for row in rows for cell in _iter_cells(axis, values, **row))
    records = tuple(records)
    return PublishedTable(number, title, note, method, records, tuple(cells), better)


def _iter_cells(
    axis: str, values: list[float], cells: str = "", **row: Any
) -> Iterator[PublishedCell]:
    """Yield the cells of a row: the listed values change from one to the next.

    A row without cells is one whose printed figures are not known.
    """
    printed: Sequence[str | None] = cells.split() or [None] * len(values)
    for j, (at, cell) in enumerate(zip(values, printed, strict=True)):
        entries = {n: v[j] if isinstance(v, list) else v for n, v in row.items()}
        yield PublishedCell(**{**entries, axis: at, "printed": cell})


GRID = (0.2, 0.4, 0.6, 0.8)  # of alpha and of Delta: the 16 pairs of the study of P3M

Figure = float | str


@dataclass(frozen=True, eq=False)
class StudyRecords:
    """StudyRecords X (n, d), and by name confidential values (n,) of them."""

    name: str
    X: F64 = field(repr=False)
    held: dict[str, F64] = field(default_factory=dict, repr=False)
    _groups: dict[int, Labels] = field(default_factory=dict, repr=False)
    _joint: dict[tuple[int, float, float], float] = field(
        default_factory=dict, repr=False
    )

    def groups(self, k: int) -> Labels:
        """Return the groups of MDAV (n,), made once for each k."""
        if k not in self._groups:
            self._groups[k] = np.asarray(mdav(self.X, k))
        return self._groups[k]

    def joint_score(self, k: int, alpha: float, delta: float) -> float:
        """Return SI in % of P3M that keeps the covariance; repeated calls are free."""
        key = (k, alpha, delta)
        if key not in self._joint:
            masked = p3m(
                self.X,
                self.groups(k),
                alpha=alpha,
                delta=delta,
                keep="covariance",
                options={"rounds": 1},
            )
            self._joint[key] = 100 * si(self.X, masked.values)
        return self._joint[key]


def _compute_figure(method: str, records: StudyRecords, cell: PublishedCell) -> Figure:
    """Return our figure in the place of a published one: a number, or two sizes.

    Loss, satisfaction and scores are in %; sizes are smallest/average group.
    """
    require_known("method in print", method, METHODS)
    return METHODS[method](records, cell)


def _compute_loss(records: StudyRecords, cell: PublishedCell) -> Figure:
    X = records.X
    order = cell.figure.removesuffix("-MHM").lower()
    by_order = cell.figure.endswith("-MHM")
    labels = mhm(X, cell.k, order=order) if by_order else records.groups(cell.k)
    return 100 * il(X, mean(X, labels).values)


def _compute_satisfaction(records: StudyRecords, cell: PublishedCell) -> Figure:
    X = records.X
    groups = records.groups(cell.k)
    if cell.figure == "means":
        return 100 * sl(X, mean(X, groups, keep="variance").values)
    return 100 * sl(X, p3m(X, groups).values)


def _compute_random_satisfaction(records: StudyRecords, cell: PublishedCell) -> Figure:
    X = records.X
    groups = records.groups(cell.k)
    weights = draw_matlab_random(X.shape)
    if cell.figure == "means":
        return 100 * sl(X, mean(X, groups, keep="variance").values, importance=weights)
    return 100 * sl(X, p3m(X, groups, importance=weights).values, importance=weights)


def _score(records: StudyRecords, cell: PublishedCell) -> Figure:
    """Return SI in %; of P3M at the cell's alpha and delta, or the best of the grid."""
    X = records.X
    groups = records.groups(cell.k)
    if cell.figure == "means":
        return 100 * si(X, mean(X, groups, keep="variance").values)
    alphas = GRID if cell.alpha is None else (cell.alpha,)
    deltas = GRID if cell.delta is None else (cell.delta,)
    pairs = product(alphas, deltas)
    releases = (p3m(X, groups, alpha=a, delta=delta) for a, delta in pairs)
    return 100 * min(si(X, masked.values) for masked in releases)


def _score_joint(records: StudyRecords, cell: PublishedCell) -> Figure:
    """Return SI in % of P3M that keeps the covariance, at the cell's alpha, delta."""
    alpha = GRID[-1] if cell.alpha is None else cell.alpha
    delta = GRID[-1] if cell.delta is None else cell.delta
    return records.joint_score(cell.k, alpha, delta)


def _measure_seconds(records: StudyRecords, cell: PublishedCell) -> Figure:
    """Return how many seconds P3M takes on groups by MDAV, compilation excluded."""
    p3m([[1.0], [2.0], [7.0], [9.0]], [0, 0, 1, 1])
    groups = records.groups(cell.k)
    started = compile_time.now()
    p3m(records.X, groups)
    return compile_time.now() - started


def _compute_close_loss(
    partition: str, records: StudyRecords, cell: PublishedCell
) -> Figure:
    """Return the mean squared loss of t-close groups, with differences per range."""
    y = records.held[cell.figure]
    groups = PARTITIONERS[partition].function(records.X, y, cell.k, cell.t, bins="rank")
    return range_sse(records.X, mean(records.X, groups).values) / records.X.size


def _count_sizes(partition: str, records: StudyRecords, cell: PublishedCell) -> Figure:
    """Return the least and the mean size of t-close groups, as "least/mean"."""
    y = records.held[cell.figure]
    algorithm = PARTITIONERS[partition].function
    sizes = np.bincount(algorithm(records.X, y, cell.k, cell.t, bins="rank"))
    return f"{sizes.min()}/{len(y) // len(sizes)}"


def draw_matlab_random(shape: tuple[int, ...]) -> F64:
    """Return the numbers of MATLAB's rand, seeded by 1: column by column.

    >>> draw_matlab_random((2, 1)).round(4).tolist()
    [[0.417], [0.7203]]
    """
    drawn = np.random.RandomState(1).random_sample(int(np.prod(shape)))
    return drawn.reshape(shape, order="F")


CLOSE = ("merge_until_close", "anonymity_first", "closeness_first")
METHODS: dict[str, Callable[[StudyRecords, PublishedCell], Figure]] = {
    "information loss": _compute_loss,
    "satisfaction": _compute_satisfaction,
    "satisfaction, random importance": _compute_random_satisfaction,
    "scoring index": _score,
    "scoring index, covariance kept": _score_joint,
    "seconds": _measure_seconds,
    **{name: partial(_count_sizes, name) for name in CLOSE},
    **{f"loss, {name}": partial(_compute_close_loss, name) for name in CLOSE},
}


def draw_synthetic() -> pd.DataFrame:
    """Return 10,000 records of 10 attributes in ten normal clusters of equal size.

    A data set of this form has the name Synthetic in the study of P3M, which does not
    publish its draw.  This is another draw: only the order of magnitude of a figure
    can be compared.

    >>> draw_synthetic().shape
    (10000, 10)
    """
    rng = np.random.default_rng(1)
    centres = np.repeat(10 * rng.normal(size=(10, 10)), 1000, axis=0)
    names = [f"x{j}" for j in range(1, 11)]
    return pd.DataFrame(centres + rng.normal(size=centres.shape), columns=names)


REFERENCE: dict[str, Callable[[], Any]] = {
    "Tarragona": datasets.tarragona,
    "Census": datasets.census,
    "EIA": lambda: datasets.eia()[datasets.EIA_PUBLISHED],
    "Synthetic": draw_synthetic,
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
        shown = html.render_html_table(("", "value"), [*places, *both])
        return html.render_html_section(self.table.title, shown)

    @property
    def agrees(self) -> bool | None:
        """Whether ours is the published figure, as printed; None without one.

        None, too, if the table compares methods: see `is_better`.
        """
        if self.cell.printed is None or self.ours is None or self.table.better:
            return None
        return self.shown == self.cell.printed

    @property
    def is_better(self) -> bool | None:
        """Whether our figure beats the published one; None without a comparison."""
        difference = self.difference
        if difference is None or not self.table.better:
            return None
        return difference < 0 if self.table.better == "lower" else difference > 0

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
        Of the study: `aggopt.experiments.reproduce.load_studies` has them.
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
    chosen_study = load_study(name)
    chosen_tables = (
        [chosen_study.table(table)]
        if table is not None
        else [*chosen_study.tables.values()]
    )
    close = any(chosen_table.records for chosen_table in chosen_tables)
    _require_columns(data, columns, confidential, close=close)
    user_records = (
        None if data is None else _read_user_table(data, columns, confidential)
    )
    return _reproduce_cells(
        chosen_tables, user_records, progress or (lambda step, share: None)
    )


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


def _read_user_table(
    data: Any, columns: Sequence[str], confidential: Sequence[str]
) -> StudyRecords:
    """Return the records of a user's table, or refuse columns that are not numbers."""
    is_file = isinstance(data, str | Path)
    column_names = read_as_text(Path(data), Input()).column_names if is_file else None
    names = column_names or to_frame(data).columns
    wanted = [*columns, *confidential]
    others = [name for name in names if name not in wanted]
    roles = {"quasi-identifier": wanted, "other": others}
    read, _ = read_table(data, Job(roles=roles, privacy={"k": 2}))
    _require_numbers(read)
    matrix = read.matrix()
    d = len(columns)
    confidential_values = {
        name: matrix[:, d + j] for j, name in enumerate(confidential)
    }
    return StudyRecords(
        Path(data).name if is_file else "yours",
        matrix[:, :d].copy(),
        confidential_values,
    )


def _require_numbers(table: Table) -> None:
    other = [*table.domains, *table.clocks]
    if other:
        raise TableError(
            f"Columns that are no numbers: {', '.join(map(repr, other))}.",
            fix="name others: published tables are of numbers.",
        )


def _reproduce_cells(
    tables: Sequence[PublishedTable],
    user_records: StudyRecords | None,
    on_progress: Progress,
) -> Iterator[Reproduced]:
    for table in tables:
        if user_records:
            yield from (Reproduced(table, cell, None) for cell in table.cells)
        cells = _list_user_cells(table, user_records) if user_records else table.cells
        records: dict[str, StudyRecords] = {}
        for done, cell in enumerate(cells):
            on_progress(f"table {table.number}", done / len(cells))
            if cell.data not in records:
                records[cell.data] = user_records or _load_reference(cell.data, table)
            ours = _compute_figure(table.method, records[cell.data], cell)
            yield Reproduced(table, cell, ours)


def _list_user_cells(
    table: PublishedTable, user_records: StudyRecords
) -> list[PublishedCell]:
    """Return the cells of the first row of tables, to be filled from own records.

    P3M has the best alpha and delta of the grid; each confidential attribute has rows.
    """
    first = table.cells[0].data
    plain = [
        replace(cell, data=user_records.name, printed=None, alpha=None, delta=None)
        for cell in table.cells
        if cell.data == first
    ]
    if table.better:  # each rival has a row, and ours is one
        plain = [cell for cell in plain if cell.figure == plain[0].figure]
    if not user_records.held:
        return plain
    figure = plain[0].figure
    rows = [cell for cell in plain if cell.figure == figure]
    return [replace(cell, figure=name) for name in user_records.held for cell in rows]


def _load_reference(name: str, table: PublishedTable) -> StudyRecords:
    frame = REFERENCE[name]()
    if not table.records:
        return StudyRecords(name, frame.to_numpy(float))
    values = {cell.figure: frame[cell.figure].to_numpy(float) for cell in table.cells}
    return StudyRecords(name, frame[list(table.records)].to_numpy(float), values)
