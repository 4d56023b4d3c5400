"""Grids of tables, jobs and seeds: one row for each cell and attribute."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from threading import current_thread, main_thread
from typing import TYPE_CHECKING, Any

from aggopt.core.equality import EqualByField
from aggopt.core.html import render_html_section, render_html_table, render_text_table
from aggopt.core.plugins.loading import trust_files
from aggopt.core.plural import plural
from aggopt.errors import JobError, require_known
from aggopt.experiments._cache import Cache
from aggopt.experiments._cell import Figures
from aggopt.experiments.grid import list_cells
from aggopt.experiments.grid_run import (
    Run,
    Tables,
    name_tables,
    read_roles,
    require_jobs,
)
from aggopt.experiments.tidy_rows import TidyRows
from aggopt.pipeline.prepare.inputs import Progress, read_progress
from aggopt.solvers.options import check_time_limit

if TYPE_CHECKING:
    from aggopt.release.figures.figure import Picture

SCREEN = 20  # rows that are printed
SHOWN = ("attribute", "status", "objective", "gap", "linkage", "pil", "error")


@dataclass(frozen=True, eq=False, repr=False)
class Experiment(EqualByField, TidyRows):
    """The rows of an experiment; printed, it is a table of the first of them.

    Each row is a dict by column:

    - `table`, `k`, `partition`, `aggregation`, further settings if the grid lists
      several, such as `aggregation.solver`, and `seed`: the cell
    - `error`, `message`: the reason of a failure; None without one
    - `attribute`, and `status`, `objective`, `bound`, `gap`, `violation`, `solver`,
      `seconds` of its certificate: see `aggopt.solvers.Certificate`
    - `groups`, their number; `smallest`, as the audit counted; `groups.status` and so
      on, of the certificate of its partition
    - the measures of the release, equal in each row of a cell, your own as
      `measures.NAME`: see `aggopt.measure.Assessment`

    Attributes
    ----------
    rows
        One for each cell and attribute, or attributes that were solved together, in
        the order of the grid; one for each cell that failed.
    """

    rows: tuple[Figures, ...] = field(repr=False)

    @property
    def cell_columns(self) -> tuple[str, ...]:
        """The columns that identify the cell of a row."""
        columns = self.columns
        return columns[: columns.index("seed") + 1]

    def plot(self, x: str = "linkage", y: str = "pil") -> "Picture":
        """Return a picture of one column against another, a panel for each table.

        Each cell that did not fail is a point; cells that differ only in k, seed and
        table have one colour and shape.  A line joins those that no other beats; lower
        is better in both columns.  `.savefig("found.png")` writes it.

        Raises
        ------
        UnknownNameError
            The experiment has no such column.
        JobError
            It is not a column of numbers, or no cell has both.
        """
        from aggopt.experiments._picture import draw_picture

        return draw_picture(self.rows, self.cell_columns, x, y)

    def __repr__(self) -> str:
        return "\n\n".join(
            [self.verdict, render_text_table(*self.first_rows), *self._rest]
        )

    def _repr_html_(self) -> str:
        """Return the first rows for a notebook."""
        rest = [f"<p>{line}</p>" for line in self._rest]
        return render_html_section(
            self.verdict, render_html_table(*self.first_rows), *rest
        )

    @property
    def verdict(self) -> str:
        """The number of rows, and of the cells that failed."""
        failed = len(self.failures)
        rows = plural(len(self.rows), "row")
        cells = plural(failed, "cell")
        return f"Experiment: {rows}, {cells} failed."

    @property
    def first_rows(self) -> tuple[Sequence[str], list[list[Any]]]:
        """The header and the first rows of the printed table."""
        names = [*self.cell_columns, *(n for n in SHOWN if n in self.columns)]
        shown_names = [
            n for n in names if any(row.get(n) is not None for row in self.rows)
        ]
        return shown_names, [
            [row.get(n, "") for n in shown_names] for row in self.rows[:SCREEN]
        ]

    @property
    def _rest(self) -> list[str]:
        left = len(self.rows) - SCREEN
        return [f"{plural(left, 'row')} more: see .to_pandas()."] if left > 0 else []


ON_ERROR = ("raise", "row")


def experiment(
    tables: Any,
    grid: Mapping[str, Any],
    *,
    roles: Any,
    seeds: Iterable[int] | None = None,
    time_limit: float | None = None,
    jobs: int = 1,
    cache: str | Path | None = None,
    on_error: str = "raise",
    trust: Iterable[str | Path] = (),
    progress: Progress | None = None,
) -> Experiment:
    """Return the certificates and measures of every cell of a grid.

    A cell is a table masked by a job; only figures of its release are kept.  Each
    partition is made once, for all cells that differ only in [aggregation] and
    [output].  The result, except seconds, is equal for any `jobs`, unless a time
    limit ends a step.

    Parameters
    ----------
    tables
        Tables or paths, as for `aggopt.mask`: a dict by name, or a list.
    grid
        The settings to vary: `k` and sections of a job by name, each with a list of
        settings or with one.  A section that names a method may be its name alone, or a
        function of yours.
    roles
        Roles of all tables, as in a job, or a dict of roles by the tables' names.
    seeds
        Each cell is run with each.  A seed determines the search of the partition,
        the random starts of the aggregation, and the margins of requests.
    time_limit
        Seconds for the groups of a cell, and again for all later steps.  If the job
        sets no limit, a solver of the aggregation gets 0.8 of them, in equal shares
        for attributes, and ends with its best point.  A cell that exceeds the limit
        fails.
    jobs
        Processes; -1 is one per core, 1 this process.
    cache
        A folder that keeps finished cells, and from which equal cells are read.  It
        holds no value of a record; failures are not kept.
    on_error
        "raise" the exception of the first cell that fails, or make a "row" of each
        failure: `error` is its type and `message` its words, if they hold no value of a
        record.
    trust
        Files of code that the grid may name, as for `aggopt.mask`.
    progress
        Called with "cells" and their completed share.

    Raises
    ------
    JobError
        The grid cannot be used, before any work: an unknown key, a combination that
        is not a valid job or is repeated, code without a source together with a
        cache, ...
    UntrustedCodeError
        The grid names a file of code that is not trusted.
    AggoptError
        As `aggopt.mask`, with `on_error="raise"`.

    Examples
    --------
    >>> import aggopt
    >>> import pandas as pd
    >>> ages = pd.DataFrame({"age": [20, 21, 22, 40, 60, 61, 62, 90]})
    >>> roles = {"quasi-identifier": ["age"]}
    >>> grid = {"k": [2, 4], "partition": ["mdav", "univariate"]}
    >>> found = aggopt.experiment({"ages": ages}, grid, roles=roles)
    >>> found.to_pandas()[["k", "partition", "smallest", "il"]].round(3)
       k   partition  smallest     il
    0  2        mdav         2  0.123
    1  2  univariate         2  0.123
    2  4        mdav         4  0.200
    3  4  univariate         4  0.200
    """
    on_progress = read_progress(progress)
    _require_settings(time_limit, jobs, on_error)
    by_name = name_tables(tables)
    with trust_files(trust):
        cells = list_cells(read_roles(roles, list(by_name)), grid, seeds)
    run = Run(cells, Tables(by_name), Cache(cache), time_limit, on_error == "raise")
    try:
        with closing(run.through(jobs)) as done:  # at once, whatever keeps a traceback
            for count in done:
                on_progress("cells", count / len(cells))
    except KeyboardInterrupt as stopped:
        stopped.add_note(run.so_far)
        raise
    return Experiment(tuple(run.rows()))


def _require_settings(time_limit: float | None, jobs: int, on_error: str) -> None:
    """Refuse invalid settings of a run, and a time limit outside the main thread."""
    check_time_limit(time_limit)
    require_jobs(jobs)
    require_known("way of on_error", on_error, ON_ERROR)
    if jobs == 1 and time_limit is not None and current_thread() is not main_thread():
        raise JobError(
            "time_limit is kept by the main thread of a process, and this is another.",
            fix="give the cells processes of their own: jobs=2, or -1.",
        )
