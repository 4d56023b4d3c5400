"""Figures without the state of pyplot, and risk against loss of many releases.

The colours are from Okabe and Ito (2008), "Color Universal Design", without the
yellow, which is faint on white.  Names of columns are text for any content: text
between two dollars is not read as a formula, and long names are cut.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BLUE = "#0072B2"
ORANGE = "#E69F00"
VERMILION = "#D55E00"
GREY = "#999999"
ORIGINAL = "#000000"
RELEASED = "#56B4E9"
SERIES = (BLUE, ORANGE, "#009E73", "#CC79A7", VERMILION, RELEASED, ORIGINAL)
MARKS = "o^sDvP*X<>"
NAME = 28  # characters of a name, beyond which it is cut
WIDE = 5.0  # inches of a panel


class Picture(Figure):
    """A figure of matplotlib: a notebook shows it, `.savefig("it.pdf")` writes it."""

    def _repr_png_(self) -> bytes:
        """Return it as a notebook shows it."""
        bytes_ = BytesIO()
        self.savefig(bytes_, format="png", dpi=110)
        return bytes_.getvalue()


def make_panels(
    count: int, *, across: int = 3, wide: float = WIDE, high: float = 4.0
) -> tuple[Picture, list["Axes"]]:
    """Return a picture of panels, at most `across` of them side by side.

    `wide` and `high` are the inches of one.
    """
    columns = min(count, across)
    rows = -(-count // columns)
    size = (wide * columns, high * rows)
    figure = Picture(figsize=size, layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False).ravel().tolist()
    for panel in grid[count:]:
        panel.remove()
    for panel in grid[:count]:
        panel.spines[["top", "right"]].set_visible(False)
        panel.set_axisbelow(True)
    return figure, grid[:count]


def shorten_label(name: str) -> str:
    """Return a name, cut if it is long, in one line.

    >>> shorten_label("x" * 40)
    'xxxxxxxxxxxxxxxxxxxxxxxxxxx…'
    """
    line = " ".join(name.split())
    return line if len(line) <= NAME else f"{line[: NAME - 1]}…"


def label_axes(panel: "Axes", *, x: str = "", y: str = "", title: str = "") -> None:
    """Name the axes of a panel, and the panel."""
    for text in (panel.set_xlabel(x), panel.set_ylabel(y), panel.set_title(title)):
        text.set_parse_math(False)


def set_named_ticks(axis: Any, places: Sequence[float], names: Sequence[str]) -> None:
    """Put names at places of an axis."""
    axis.set_ticks(places, labels=list(map(shorten_label, names)))
    for text in axis.get_ticklabels():
        text.set_parse_math(False)


def add_legend(panel: "Axes", handles: Sequence[Any], names: Sequence[str]) -> None:
    """Add a legend; it includes names that begin with an underscore."""
    box = panel.legend(handles, list(map(shorten_label, names)), frameon=False)
    for text in box.get_texts():
        text.set_parse_math(False)


@dataclass(frozen=True)
class Series:
    """Points of one kind.

    `shades` are a third figure of each point, shown by its colour; without shades, the
    series has one colour.
    """

    name: str
    points: Sequence[tuple[float, float]]
    shades: Sequence[float] = ()


def draw_tradeoff(
    panel: "Axes",
    series: Sequence[Series],
    best: Sequence[tuple[float, float]],
    texts: Sequence[str] = (),
) -> Any:
    """Draw series, and a line through the points that no other beats; return a mark.

    Each series has a shape of its own, and a colour unless it has shades.  The text
    `texts` of the best points is drawn next to them.
    """
    shades = [shade for entry in series for shade in entry.shades]
    scale = {"vmin": min(shades), "vmax": max(shades)} if shades else {}
    marks = [_draw_series(panel, entry, j, scale) for j, entry in enumerate(series)]
    line = panel.plot(*zip(*best, strict=True), color=GREY) if best else []
    for entry in line:
        entry.set_zorder(1)
    for place, words in zip(best, texts, strict=False):
        text = panel.annotate(
            words, place, textcoords="offset points", xytext=(5, 4), fontsize=8
        )
        text.set_parse_math(False)
        text.set_in_layout(False)  # however long it is
    panel.grid(color="0.92")
    return marks[0] if marks else None


def add_series_legend(panel: "Axes", names: Sequence[str]) -> None:
    """Add a legend of the series, in the order of drawing."""
    add_legend(panel, panel.collections, names)


def _draw_series(
    panel: "Axes", series: Series, place: int, scale: dict[str, float]
) -> Any:
    style: dict[str, Any] = {"color": SERIES[place % len(SERIES)]}
    if series.shades:
        style = {"c": list(series.shades), "cmap": "viridis", **scale}
    return panel.scatter(
        [x for x, _ in series.points],
        [y for _, y in series.points],
        marker=MARKS[place % len(MARKS)],
        zorder=2,
        **style,
    )
