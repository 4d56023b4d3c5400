"""A picture of published tables: our curves, and the printed figures as marks."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from aggopt.errors import JobError
from aggopt.experiments.reproduce import SIZES, Figure, PublishedCell, Reproduced

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from aggopt.release.figures.figure import Picture


def draw_reproduced(cells: Sequence[Reproduced]) -> "Picture":
    """Return the picture of reproduced cells, one panel for each table and data set.

    A line is ours, and a mark is in print.  The curves are over k; those of tables of
    t-closeness over t, with a line for each k.  Of sizes of groups, the mean is drawn.

    Raises
    ------
    JobError
        No cell has a figure of ours.
    """
    from aggopt.release.figures.figure import make_panels

    by_panel: dict[str, list[Reproduced]] = {}
    for cell in cells:
        by_panel.setdefault(_name_panel(cell), []).append(cell)
    drawn = {
        name: of for name, of in by_panel.items() if any(c.ours is not None for c in of)
    }
    if not drawn:
        raise JobError(
            "No cell has a figure of ours to draw.",
            fix="name a study and a table: aggopt reproduce mortazavi2017 --table 2.",
        )
    figure, panels = make_panels(len(drawn))
    for (name, of), panel in zip(drawn.items(), panels, strict=True):
        _draw_panel(panel, name, of)
    return figure


def _name_panel(cell: Reproduced) -> str:
    """Return the title of the panel of a cell in the picture."""
    by_t = cell.cell.t is not None
    attribute = f", {cell.cell.figure}" if by_t else ""
    return f"Table {cell.table.number}, {cell.cell.data}{attribute}"


def _draw_panel(panel: "Axes", title: str, cells: Iterable[Reproduced]) -> None:
    """Draw the lines of ours and the marks of print of one panel."""
    from aggopt.release.figures.figure import SERIES, add_legend, label_axes

    lines: dict[str, list[Reproduced]] = {}
    for cell in cells:
        lines.setdefault(_name_line(cell.cell), []).append(cell)
    handles = []
    for place, of in enumerate(lines.values()):
        color = SERIES[place % len(SERIES)]
        ours = [(_get_place(c.cell), _read_height(c.ours)) for c in of]
        printed = [(_get_place(c.cell), _read_height(c.cell.printed)) for c in of]
        (line,) = panel.plot(*zip(*ours, strict=True), color=color)
        panel.plot(*zip(*printed, strict=True), "o", color=color, fillstyle="none")
        handles.append(line)
    first = next(iter(lines.values()))[0]
    label_axes(
        panel,
        x=f"{'k' if first.cell.t is None else 't'} (line: ours, circle: in print)",
        y=first.table.title.partition(";")[0],
        title=title,
    )
    add_legend(panel, handles, list(lines))
    panel.grid(color="0.92")


def _name_line(cell: PublishedCell) -> str:
    """Return the name of the line of a cell in the picture."""
    return cell.figure if cell.t is None else f"k = {cell.k}"


def _get_place(cell: PublishedCell) -> float:
    """Return the place of a cell on the horizontal axis: its t, or else its k."""
    return float(cell.k) if cell.t is None else cell.t


def _read_height(value: Figure | None) -> float:
    """Return a figure as a number, of two sizes the mean one; NaN for none.

    >>> _read_height("2/3"), _read_height("47.92"), _read_height(None)
    (3.0, 47.92, nan)
    """
    if value is None:
        return float("nan")
    return float(str(value).rpartition(SIZES)[2])
