"""Figures without the state of pyplot, in colours that everyone can distinguish.

The colours are from Okabe and Ito (2008), "Color Universal Design", without the
yellow, which is faint on white.  Names of columns are text for any content: text
between two dollars is not read as a formula, and long names are cut.
"""

from collections.abc import Sequence
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
