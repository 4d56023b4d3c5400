"""Each record before and after masking: for its owner alone."""

from typing import TYPE_CHECKING

import numpy as np

from aggopt.core.types import F64
from aggopt.data.table import Table
from aggopt.release.figures.distributions import (
    LONG,
    is_date,
    level_names,
    nodes,
    numbers,
    unit_of,
)
from aggopt.release.figures.figure import (
    BLUE,
    GREY,
    Picture,
    named_ticks,
    panels,
    say,
    short,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def records(original: Table, released: Table, name: str) -> Picture:
    """Return the picture of a quasi-identifier in two tables of equal records.

    Of a number, a date or a time each record's value before against after; of a
    category the number of records that moved from level to level.
    """
    figure, (panel,) = panels(1, high=5.0)
    if name in original.domains:
        _of_levels(panel, original, released, name)
    else:
        _of_numbers(panel, original, released, name)
    return figure


def against(panel: "Axes", before: F64, after: F64) -> None:
    """Draw each record's value (n,) before against after, and the line of equality."""
    ends = [np.nanmin([before, after]), np.nanmax([before, after])]
    panel.plot(ends, ends, color=GREY, linewidth=1, zorder=1)
    panel.scatter(before, after, s=9, alpha=0.5, color=BLUE, linewidths=0)


def _of_numbers(panel: "Axes", original: Table, released: Table, name: str) -> None:
    both, unit = [numbers(table, name) for table in (original, released)], ""
    clock = original.clocks.get(name)
    if clock is not None:
        unit = "days" if is_date(clock) else unit_of(both[1])
        both = [seconds / LONG[unit] for seconds in both]
    if clock is not None and is_date(clock):
        panel.xaxis_date()  # days since 1970, as matplotlib counts
        panel.yaxis_date()
        unit = ""
    against(panel, *both)
    in_units = f", {unit}" if unit else ""
    title = f"{short(name)}: each point is a record. Private"
    say(panel, x=f"original{in_units}", y=f"released{in_units}", title=title)


def _of_levels(panel: "Axes", original: Table, released: Table, name: str) -> None:
    before, after = (nodes(table, name) for table in (original, released))
    there = (before >= 0) & (after >= 0)
    seen = np.unique(np.concatenate([before[there], after[there]]))
    counts = np.zeros((len(seen), len(seen)))
    at = tuple(np.searchsorted(seen, codes[there]) for codes in (before, after))
    np.add.at(counts, at, 1)
    image = panel.imshow(counts, cmap="viridis")
    panel.figure.colorbar(image, label="records")
    names = [level_names(original, name)[j] for j in seen.tolist()]
    for axis in (panel.xaxis, panel.yaxis):
        named_ticks(axis, range(len(names)), names)
    panel.tick_params(axis="x", rotation=90)
    title = f"{short(name)}: how many records moved. Private"
    say(panel, x="released", y="original", title=title)
