"""A picture of an experiment: one measure against another, for each table."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from aggopt.core.validation import is_number
from aggopt.errors import JobError, require_known
from aggopt.experiments._cell import Figures
from aggopt.experiments._front import front

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = 10  # of matplotlib's cycle, after which shapes change
SHAPES = "o^sDvP*X<>"
WIDE = 5.0  # inches of a panel


def drawn(rows: Sequence[Figures], names: Sequence[str], x: str, y: str) -> "Figure":
    """Return the picture of two columns; raises as `Experiment.plot`.

    `names` are the columns that say which cell a row is of.
    """
    from matplotlib.figure import Figure

    cells = _cells(rows, names, x, y)
    kinds = [n for n in names if n not in ("table", "k", "seed")]
    tables = list(dict.fromkeys(str(cell["table"]) for cell in cells))
    labels = list(dict.fromkeys(_label(kinds, cell) for cell in cells))
    figure = Figure(figsize=(WIDE * len(tables), WIDE), layout="constrained")
    panels = figure.subplots(1, len(tables), squeeze=False)[0]
    for table, panel in zip(tables, panels, strict=True):
        own = [cell for cell in cells if cell["table"] == table]
        for place, label in enumerate(labels):
            points = [(c[x], c[y]) for c in own if _label(kinds, c) == label]
            _scatter(panel, points, place, label)
        points = [(cell[x], cell[y]) for cell in own]
        best = [points[j] for j in front(points)]
        panel.plot([a for a, _ in best], [b for _, b in best], color="0.6", zorder=1)
        panel.set(xlabel=x, ylabel=y, title=table)
    panels[-1].legend()
    return figure


def _scatter(
    panel: "Axes", points: list[tuple[float, float]], place: int, label: str
) -> None:
    panel.scatter(
        [a for a, _ in points],
        [b for _, b in points],
        color=f"C{place % COLOURS}",
        marker=SHAPES[place // COLOURS % len(SHAPES)],
        label=label,
    )


def _cells(
    rows: Sequence[Figures], names: Sequence[str], x: str, y: str
) -> list[Figures]:
    """Return the first row of each cell that has both figures."""
    known = {name for row in rows for name in row}
    for name in (x, y):
        require_known("column", name, known)
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
    """Return what a cell has in these columns."""
    return ", ".join(str(cell[n]) for n in names if cell.get(n) is not None)
