"""An attribute before and after masking."""

from typing import TYPE_CHECKING

import numpy as np

from aggopt.measure.safe_figures import Density
from aggopt.release.figures.distributions import Distribution
from aggopt.release.figures.figure import (
    ORIGINAL,
    RELEASED,
    Picture,
    legend,
    named_ticks,
    panels,
    say,
    short,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NAMES = ("original", "released")
TICKS = 6  # edges that are named, at most
LINE = 50  # characters that fit side by side below a panel


def before_after(found: Distribution) -> Picture:
    """Return the publishable picture: it shows no single record's value."""
    figure, (panel,) = panels(1)
    if isinstance(found.what, Density):
        _of_bins(panel, found, found.what)
    else:
        _of_levels(panel, found)
    return figure


def _of_bins(panel: "Axes", found: Distribution, what: Density) -> None:
    edges, widths = np.array(what.edges), np.array(what.widths)
    before, after = np.array(what.original), np.array(what.released)
    bars = panel.stairs(after / widths, edges, fill=True, color=RELEASED)
    steps = panel.stairs(before / widths, edges, color=ORIGINAL, linewidth=1.5)
    legend(panel, (steps, bars), NAMES)
    places = _places(len(edges))
    names = [found.ticks[j] for j in places]
    if len(edges) > 2:  # else the only bin has all there is
        names[0], names[-1] = f"≤ {names[0]}", f"≥ {names[-1]}"
    named_ticks(panel.xaxis, edges[places].tolist(), names)
    if sum(map(len, names)) > LINE:
        panel.tick_params(axis="x", rotation=30)
    unit = f", {found.unit}" if found.unit else ""
    x = f"{short(found.name)}{unit} (the outer bins are open)"
    say(panel, x=x, y=f"% of records per {_one(found)}", title=short(found.name))


def _one(found: Distribution) -> str:
    """Return the unit of a height."""
    return found.unit.removesuffix("s") or "unit"


def _places(count: int) -> list[int]:
    """Return which of the edges are labelled: the first, the last, some between."""
    few = min(count, TICKS)
    return [round(j * (count - 1) / (few - 1)) for j in range(few)]


def _of_levels(panel: "Axes", found: Distribution) -> None:
    y = np.arange(len(found.ticks))
    above = panel.barh(y - 0.2, found.what.original, 0.4, color=ORIGINAL)
    below = panel.barh(y + 0.2, found.what.released, 0.4, color=RELEASED)
    legend(panel, (above, below), NAMES)
    named_ticks(panel.yaxis, y.tolist(), found.ticks)
    panel.invert_yaxis()
    say(panel, x="% of records", title=short(found.name))
