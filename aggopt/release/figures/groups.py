"""Number of records that share a combination."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.ticker import MaxNLocator

from aggopt.core.types import AnyInt
from aggopt.release.figures.figure import (
    RELEASED,
    VERMILION,
    Picture,
    add_legend,
    label_axes,
    make_panels,
    shorten_label,
)

MOST = 12  # panels, rarest combinations first


@dataclass(frozen=True, eq=False)
class Sizes:
    """Number of records of each combination of some attributes, (m,)."""

    attributes: tuple[str, ...]
    sizes: AnyInt
    what: str = "record"  # that is counted, or "unit"


def draw_groups(size_counts: Sequence[Sizes], k: int) -> Picture:
    """Return a picture of how often each size occurs, a panel for each count."""
    shown = sorted(size_counts, key=lambda panel_sizes: int(panel_sizes.sizes.min()))[
        :MOST
    ]
    figure, grid = make_panels(len(shown))
    for panel, panel_sizes in zip(grid, shown, strict=True):
        sizes, counts = np.unique(panel_sizes.sizes, return_counts=True)
        bars = panel.bar(sizes, counts, width=0.8, color=RELEASED)
        line = panel.axvline(k - 0.5, color=VERMILION, linestyle="--")
        add_legend(panel, (bars, line), ("combinations", f"k = {k}"))
        panel.xaxis.set_major_locator(MaxNLocator(integer=True))
        panel.yaxis.set_major_locator(MaxNLocator(integer=True))
        title = ", ".join(map(shorten_label, panel_sizes.attributes[:3]))
        more = len(panel_sizes.attributes) - 3
        label_axes(
            panel,
            x=f"{panel_sizes.what}s that share a combination",
            y="combinations",
            title=f"{title} and {more} more" if more > 0 else title,
        )
    if len(size_counts) > MOST:
        figure.suptitle(f"The {MOST} of {len(size_counts)} blocks with the rarest")
    return figure
