"""How an attribute is distributed, before and after: a chart and its table."""

from collections.abc import Sequence
from itertools import pairwise

from aggopt.data.table import Table
from aggopt.measure.safe_figures import Density
from aggopt.release.figures.distributions import Distribution, distribution
from aggopt.release.report.charts import bars, densities
from aggopt.release.report.number_format import format_share
from aggopt.release.report.parts import DataTable, Figure

BINS = 2  # one alone says nothing


def draw_distribution(
    name: str, original: Table | None, released: Table
) -> Figure | None:
    """Return the distribution of an attribute, of the release alone without original.

    None where there are fewer than ten records, or one bin is all.
    """
    found = distribution(released if original is None else original, released, name)
    if found is None or len(found.what.released) < BINS:
        return None
    after = [percent / 100 for percent in found.what.released]
    before = [percent / 100 for percent in found.what.original]
    own = None if original is None else before
    if isinstance(found.what, Density):
        label, edges = f"Distribution of {name}", found.what.edges
        widths = found.what.widths
        chart = densities.density(label, edges, widths, found.ticks, own, after)
        return Figure(chart, name, _table(name, _bins(found), own, after))
    levels = found.what.levels
    chart = bars.pairs(f"Categories of {name}", levels, own, after)
    return Figure(chart, name, _table(name, levels, own, after))


def _bins(found: Distribution) -> list[str]:
    """Return what the bins are called, of which the outer ones are open."""
    inner = [f"{tick} {found.unit}".strip() for tick in found.ticks[1:-1]]
    between = [f"{low} to {high}" for low, high in pairwise(inner)]
    return [f"below {inner[0]}", *between, f"{inner[-1]} and above"]


def _table(
    name: str,
    rows: Sequence[str],
    before: Sequence[float] | None,
    after: Sequence[float],
) -> DataTable:
    caption = f"{name}: share of records"
    if before is None:
        cells = [[row, format_share(b)] for row, b in zip(rows, after, strict=True)]
        return DataTable(caption, ["value", "released"], cells, (1,))
    both = zip(rows, before, after, strict=True)
    cells = [[row, format_share(a), format_share(b)] for row, a, b in both]
    return DataTable(caption, ["value", "original", "released"], cells, (1, 2))
