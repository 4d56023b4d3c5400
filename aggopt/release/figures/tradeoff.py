"""Plot of two figures of many releases against each other, such as risk and loss."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from aggopt.release.figures.figure import GREY, MARKS, SERIES, add_legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
