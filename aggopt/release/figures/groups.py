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
    legend,
    panels,
    say,
    short,
)

MOST = 12  # panels, rarest combinations first


@dataclass(frozen=True, eq=False)
class Sizes:
    """Number of records of each combination of some attributes, (m,)."""

    attributes: tuple[str, ...]
    sizes: AnyInt
    what: str = "record"  # that is counted, or "unit"


def groups(found: Sequence[Sizes], k: int) -> Picture:
    """Return a picture of how often each size occurs, a panel for each of `found`."""
    shown = sorted(found, key=lambda each: int(each.sizes.min()))[:MOST]
    figure, grid = panels(len(shown))
    for panel, each in zip(grid, shown, strict=True):
        sizes, counts = np.unique(each.sizes, return_counts=True)
        bars = panel.bar(sizes, counts, width=0.8, color=RELEASED)
        line = panel.axvline(k - 0.5, color=VERMILION, linestyle="--")
        legend(panel, (bars, line), ("combinations", f"k = {k}"))
        panel.xaxis.set_major_locator(MaxNLocator(integer=True))
        panel.yaxis.set_major_locator(MaxNLocator(integer=True))
        title = ", ".join(map(short, each.attributes[:3]))
        more = len(each.attributes) - 3
        say(
            panel,
            x=f"{each.what}s that share a combination",
            y="combinations",
            title=f"{title} and {more} more" if more > 0 else title,
        )
    if len(found) > MOST:
        figure.suptitle(f"The {MOST} of {len(found)} blocks with the rarest")
    return figure
