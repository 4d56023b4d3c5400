"""Result of a choice, as text, a table of any kind, a picture or a page."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aggopt.core.equality import EqualByField
from aggopt.core.html import html_section, html_table, text_table
from aggopt.experiments._cell import Figures
from aggopt.experiments._choice_result import Tried
from aggopt.experiments.tidy_rows import TidyRows, Writer, written

if TYPE_CHECKING:
    from aggopt.release.figures.figure import Picture

SHOWN = ("holds", "groups_gap", "gap", "il", "pil", "linkage", "linkage_limit", "si")
LAST = ("seconds", "front", "error")


@dataclass(frozen=True, eq=False, repr=False)
class Choices(EqualByField, Tried, TidyRows):
    """The points of a choice; printed, it is a recommendation and a table."""

    @property
    def rows(self) -> tuple[Figures, ...]:
        """A dict for each point: `table`, `point`, settings varied, figures.

        `front` is whether no other point has less linkage and less loss.
        """
        best = {point.number for point in self.front}
        return tuple(
            {
                "table": "table" if self.table is None else self.table.stem,
                **point.row,
                "front": point.number in best,
            }
            for point in self.points
        )

    def plot(self, x: str = "linkage", y: str | None = None) -> "Picture":
        """Return a picture of one column against another; as `Experiment.plot`.

        By default of `loss` against linkage.  Points that differ only in k have one
        colour; a line joins those that no other beats.
        """
        from aggopt.experiments._picture import drawn

        rows = [{"seed": None, **row} for row in self.rows]
        names = ("table", *self._axes, "seed")
        return drawn(rows, names, x, self.loss if y is None else y)

    def to_html(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write a page, mode 0600, and return its path.

        It has the recommendation, the map of risk and loss with its front, all points,
        and the job of each.  It is for the people who choose: it holds no value of a
        record, but figures of jobs that are not released.

        Raises
        ------
        TableError
            The folder does not exist, a file exists and `overwrite` is not set, or
            the disk refuses.
        """
        return written({path: self.page_writer()}, overwrite)[0]

    def page_writer(self) -> Writer:
        """Return a function that writes the page to a file at a path."""
        from aggopt.experiments._choice_page import page_of

        text = page_of(self)
        return lambda to: to.write_text(text, encoding="utf-8")

    def __repr__(self) -> str:
        return "\n\n".join(
            [self.verdict, self.recommendation(), text_table(*self._shown)]
        )

    def _repr_html_(self) -> str:
        """Return the text for a notebook."""
        said = f"{self.verdict} {self.recommendation()}"
        return html_section(said, html_table(*self._shown))

    @property
    def _axes(self) -> tuple[str, ...]:
        return tuple(self.points[0].asked) if self.points else ()

    @property
    def _shown(self) -> tuple[Sequence[str], list[list[Any]]]:
        names = ("point", *self._axes, *SHOWN, *LAST)
        return names, [[row[name] for name in names] for row in self.rows]
