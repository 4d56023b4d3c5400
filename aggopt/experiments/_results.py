"""Result of an experiment: tidy rows, printed as a table, or drawn."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from aggopt.core.equality import EqualByField
from aggopt.core.html import html_section, html_table, text_table
from aggopt.core.plural import plural
from aggopt.experiments._cell import Figures
from aggopt.experiments.tidy_rows import TidyRows

if TYPE_CHECKING:
    from aggopt.release.figures.figure import Picture

SCREEN = 20  # rows that are printed
SHOWN = ("attribute", "status", "objective", "gap", "linkage", "pil", "error")


@dataclass(frozen=True, eq=False, repr=False)
class Experiment(EqualByField, TidyRows):
    """The rows of an experiment; printed, it is a table of the first of them.

    Attributes
    ----------
    rows
        One for each cell and attribute, or attributes that were solved together, in
        the order of the grid; one for each cell that failed.  Each is a dict by column:

        - `table`, `k`, `partition`, `aggregation`, further settings of which the
          grid lists several, such as `aggregation.solver`, and `seed`: the cell
        - `error`, `message`: the reason of a failure; None without one
        - `attribute`, and `status`, `objective`, `bound`, `gap`, `violation`, `solver`,
          `seconds` of its certificate: see `aggopt.solvers.Certificate`
        - `groups`, their number; `smallest`, as the audit counted; `groups.status` and
          so on, of the certificate of its partition
        - the measures of the release, equal in each row of a cell, your own as
          `measures.NAME`: see `aggopt.measure.Assessment`
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
        from aggopt.experiments._picture import drawn

        return drawn(self.rows, self.cell_columns, x, y)

    def __repr__(self) -> str:
        return "\n\n".join([self._verdict, text_table(*self._first), *self._rest])

    def _repr_html_(self) -> str:
        """Return the first rows for a notebook."""
        rest = [f"<p>{line}</p>" for line in self._rest]
        return html_section(self._verdict, html_table(*self._first), *rest)

    @property
    def _verdict(self) -> str:
        failed = len(self.failures)
        rows, cells = plural(len(self.rows), "row"), plural(failed, "cell")
        return f"Experiment: {rows}, {cells} failed."

    @property
    def _first(self) -> tuple[Sequence[str], Iterable[Sequence[Any]]]:
        """The header and the first rows of the printed table."""
        names = [*self.cell_columns, *(n for n in SHOWN if n in self.columns)]
        there = [n for n in names if any(row.get(n) is not None for row in self.rows)]
        return there, [[row.get(n, "") for n in there] for row in self.rows[:SCREEN]]

    @property
    def _rest(self) -> list[str]:
        left = len(self.rows) - SCREEN
        return [f"{plural(left, 'row')} more: see .to_pandas()."] if left > 0 else []
