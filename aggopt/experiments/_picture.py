"""A picture of an experiment: one measure against another, for each table."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from aggopt.core.validation import is_number
from aggopt.errors import JobError, require_known
from aggopt.experiments._cell import Figures


def find_front(points: Sequence[tuple[float, float]]) -> list[int]:
    """Return the places of points that are Pareto optimal, by their first figure.

    Of points that are equal, the first.

    Examples
    --------
    >>> find_front([(3.0, 1.0), (1.0, 2.0), (2.0, 2.0)])
    [1, 0]
    """
    best: list[int] = []
    for place in sorted(range(len(points)), key=lambda j: points[j]):
        if not best or points[place][1] < points[best[-1]][1]:
            best.append(place)
    return best


if TYPE_CHECKING:
    from aggopt.release.figures.figure import Picture


def draw_picture(
    rows: Sequence[Figures], names: Sequence[str], x: str, y: str
) -> "Picture":
    """Return the picture of two columns; raises as `Experiment.plot`.

    `names` are the columns that identify the cell of a row.
    """
    from aggopt.release.figures.figure import (
        WIDE,
        Series,
        add_series_legend,
        draw_tradeoff,
        label_axes,
        make_panels,
    )

    cells = _list_cells(rows, names, x, y)
    kinds = [n for n in names if n not in ("table", "k", "seed")]
    tables = list(dict.fromkeys(str(cell["table"]) for cell in cells))
    labels = list(dict.fromkeys(_label(kinds, cell) for cell in cells))
    figure, grid = make_panels(len(tables), across=len(tables), high=WIDE)
    for table, panel in zip(tables, grid, strict=True):
        cells_of_table = [cell for cell in cells if cell["table"] == table]
        points = [(cell[x], cell[y]) for cell in cells_of_table]
        series = [
            Series(
                label,
                [(c[x], c[y]) for c in cells_of_table if _label(kinds, c) == label],
            )
            for label in labels
        ]
        draw_tradeoff(panel, series, [points[j] for j in find_front(points)])
        label_axes(panel, x=x, y=y, title=table)
    add_series_legend(grid[-1], labels)
    return figure


def _list_cells(
    rows: Sequence[Figures], names: Sequence[str], x: str, y: str
) -> list[Figures]:
    """Return the first row of each cell that has both figures."""
    columns = {name for row in rows for name in row}
    for name in (x, y):
        require_known("column", name, columns)
    first: dict[tuple[str, ...], Figures] = {}
    for row in rows:
        first.setdefault(tuple(repr(row.get(name)) for name in names), row)
    both = [r for r in first.values() if is_number(r.get(x)) and is_number(r.get(y))]
    if not both:
        raise JobError(
            f"No cell has a number in both {x!r} and {y!r}.",
            fix="name columns of numbers, such as x='linkage', y='pil'.",
        )
    return both


def _label(names: Sequence[str], cell: Figures) -> str:
    """Return the label of a cell from these columns."""
    return ", ".join(str(cell[n]) for n in names if cell.get(n) is not None)
