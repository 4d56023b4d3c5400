"""An attribute before and after masking."""

from typing import TYPE_CHECKING

import numpy as np

from aggopt.measure.safe_figures import Density
from aggopt.release.figures.distributions import Distribution
from aggopt.release.figures.figure import (
    ORIGINAL,
    RELEASED,
    Picture,
    add_legend,
    label_axes,
    make_panels,
    set_named_ticks,
    shorten_label,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NAMES = ("original", "released")
TICKS = 6  # edges that are named, at most
LINE = 50  # characters that fit side by side below a panel


def draw_before_after(distribution: Distribution) -> Picture:
    """Return the publishable picture: it shows no single record's value."""
    figure, (panel,) = make_panels(1)
    if isinstance(distribution.what, Density):
        _draw_bins(panel, distribution, distribution.what)
    else:
        _draw_levels(panel, distribution)
    return figure


def _draw_bins(panel: "Axes", distribution: Distribution, what: Density) -> None:
    edges, widths = np.array(what.edges), np.array(what.widths)
    before, after = np.array(what.original), np.array(what.released)
    bars = panel.stairs(after / widths, edges, fill=True, color=RELEASED)
    steps = panel.stairs(before / widths, edges, color=ORIGINAL, linewidth=1.5)
    add_legend(panel, (steps, bars), NAMES)
    places = _choose_places(len(edges))
    names = [distribution.ticks[j] for j in places]
    if len(edges) > 2:  # else the only bin has all there is
        names[0], names[-1] = f"≤ {names[0]}", f"≥ {names[-1]}"
    set_named_ticks(panel.xaxis, edges[places].tolist(), names)
    if sum(map(len, names)) > LINE:
        panel.tick_params(axis="x", rotation=30)
    unit = f", {distribution.unit}" if distribution.unit else ""
    x = f"{shorten_label(distribution.name)}{unit} (the outer bins are open)"
    label_axes(
        panel,
        x=x,
        y=f"% of records per {_find_unit(distribution)}",
        title=shorten_label(distribution.name),
    )


def _find_unit(distribution: Distribution) -> str:
    """Return the unit of a height."""
    return distribution.unit.removesuffix("s") or "unit"


def _choose_places(count: int) -> list[int]:
    """Return which of the edges are labelled: the first, the last, some between."""
    few = min(count, TICKS)
    return [round(j * (count - 1) / (few - 1)) for j in range(few)]


def _draw_levels(panel: "Axes", distribution: Distribution) -> None:
    y = np.arange(len(distribution.ticks))
    above = panel.barh(y - 0.2, distribution.what.original, 0.4, color=ORIGINAL)
    below = panel.barh(y + 0.2, distribution.what.released, 0.4, color=RELEASED)
    add_legend(panel, (above, below), NAMES)
    set_named_ticks(panel.yaxis, y.tolist(), distribution.ticks)
    panel.invert_yaxis()
    label_axes(panel, x="% of records", title=shorten_label(distribution.name))
