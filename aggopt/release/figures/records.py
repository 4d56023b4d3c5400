"""Each record before and after masking: for its owner alone."""

from typing import TYPE_CHECKING

import numpy as np

from aggopt.core.types import F64
from aggopt.data.table import Table
from aggopt.release.figures.distributions import (
    LONG,
    choose_unit,
    counts_dates,
    list_level_names,
    read_nodes,
    read_plain_numbers,
)
from aggopt.release.figures.figure import (
    BLUE,
    GREY,
    Picture,
    label_axes,
    make_panels,
    set_named_ticks,
    shorten_label,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_records(original: Table, released: Table, name: str) -> Picture:
    """Return the picture of a quasi-identifier in two tables of equal records.

    Of a number, a date or a time each record's value before against after; of a
    category the number of records that moved from level to level.
    """
    figure, (panel,) = make_panels(1, high=5.0)
    if name in original.domains:
        _draw_levels(panel, original, released, name)
    else:
        _draw_numbers(panel, original, released, name)
    return figure


def draw_against(panel: "Axes", before: F64, after: F64) -> None:
    """Draw each record's value (n,) before against after, and the line of equality."""
    ends = [np.nanmin([before, after]), np.nanmax([before, after])]
    panel.plot(ends, ends, color=GREY, linewidth=1, zorder=1)
    panel.scatter(before, after, s=9, alpha=0.5, color=BLUE, linewidths=0)


def _draw_numbers(panel: "Axes", original: Table, released: Table, name: str) -> None:
    both = [read_plain_numbers(table, name) for table in (original, released)]
    unit = ""
    clock = original.clocks.get(name)
    if clock is not None:
        unit = "days" if counts_dates(clock) else choose_unit(both[1])
        both = [seconds / LONG[unit] for seconds in both]
    if clock is not None and counts_dates(clock):
        panel.xaxis_date()  # days since 1970, as matplotlib counts
        panel.yaxis_date()
        unit = ""
    draw_against(panel, *both)
    in_units = f", {unit}" if unit else ""
    title = f"{shorten_label(name)}: each point is a record. Private"
    label_axes(panel, x=f"original{in_units}", y=f"released{in_units}", title=title)


def _draw_levels(panel: "Axes", original: Table, released: Table, name: str) -> None:
    before, after = (read_nodes(table, name) for table in (original, released))
    is_present = (before >= 0) & (after >= 0)
    levels = np.unique(np.concatenate([before[is_present], after[is_present]]))
    counts = np.zeros((len(levels), len(levels)))
    at = tuple(np.searchsorted(levels, codes[is_present]) for codes in (before, after))
    np.add.at(counts, at, 1)
    image = panel.imshow(counts, cmap="viridis")
    panel.figure.colorbar(image, label="records")
    names = [list_level_names(original, name)[j] for j in levels.tolist()]
    for axis in (panel.xaxis, panel.yaxis):
        set_named_ticks(axis, range(len(names)), names)
    panel.tick_params(axis="x", rotation=90)
    title = f"{shorten_label(name)}: how many records moved. Private"
    label_axes(panel, x="released", y="original", title=title)
