"""Correlations of the originals, and what masking made of them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from aggopt.core.types import F64
from aggopt.release.figures.figure import (
    Picture,
    label_axes,
    make_panels,
    set_named_ticks,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage

MOST = 20  # attributes shown, by change of their correlations, largest first
WRITTEN = 10  # attributes up to which the cells show figures
TITLES = "Originals", "Released less originals"


def draw_correlation_changes(names: Sequence[str], before: F64, after: F64) -> Picture:
    """Return a picture of correlations (d, d) before masking, and of their change."""
    change = after - before
    largest = np.nan_to_num(np.abs(change)).max(axis=1)
    shown = np.sort(np.argsort(-largest, kind="stable")[:MOST])
    cells = np.ix_(shown, shown)
    shown_names = [names[j] for j in shown.tolist()]
    figure, grid = make_panels(2, high=4.5)
    for panel, matrix, title in zip(
        grid, (before[cells], change[cells]), TITLES, strict=True
    ):
        image = _draw_cells(panel, matrix, shown_names)
        label_axes(panel, title=title)
        figure.colorbar(image, ax=panel, shrink=0.8)
    if len(names) > MOST:
        figure.suptitle(f"The {MOST} of {len(names)} attributes that changed most")
    return figure


def _draw_cells(panel: "Axes", matrix: F64, names: Sequence[str]) -> "AxesImage":
    image = panel.imshow(matrix, cmap="RdBu", vmin=-1, vmax=1)
    for axis in (panel.xaxis, panel.yaxis):
        set_named_ticks(axis, range(len(names)), names)
    panel.tick_params(axis="x", rotation=90)
    if len(names) <= WRITTEN:
        for (row, column), figure in np.ndenumerate(matrix):
            says = "" if np.isnan(figure) else f"{figure:.2f}"
            dark = abs(figure) > 0.6
            panel.text(
                column,
                row,
                says,
                ha="center",
                va="center",
                color="white" if dark else "black",
                fontsize=8,
            )
    return image
