"""How an attribute is distributed, before and after: a chart and its table."""

from collections.abc import Sequence
from itertools import pairwise

from aggopt.data.table import Table
from aggopt.measure.safe_figures import Density
from aggopt.release.figures.distributions import Distribution, make_distribution
from aggopt.release.report.charts import bars, densities
from aggopt.release.report.number_format import format_share
from aggopt.release.report.parts import DataTable, Figure

BINS = 2  # one alone says nothing


def draw_distribution(
    name: str, original: Table | None, released: Table
) -> Figure | None:
    """Return the distribution of an attribute, of the release alone without original.

    None for fewer than ten records, or a single bin.
    """
    shares = make_distribution(
        released if original is None else original, released, name
    )
    if shares is None or len(shares.what.released) < BINS:
        return None
    after = [percent / 100 for percent in shares.what.released]
    before = [percent / 100 for percent in shares.what.original]
    original_shares = None if original is None else before
    if isinstance(shares.what, Density):
        label, edges = f"Distribution of {name}", shares.what.edges
        widths = shares.what.widths
        chart = densities.draw_density(
            label, edges, widths, shares.ticks, original_shares, after
        )
        return Figure(
            chart, name, _make_table(name, _name_bins(shares), original_shares, after)
        )
    levels = shares.what.levels
    chart = bars.draw_pairs(f"Categories of {name}", levels, original_shares, after)
    return Figure(chart, name, _make_table(name, levels, original_shares, after))


def _name_bins(shares: Distribution) -> list[str]:
    """Return the names of the bins; the outer ones are open."""
    inner = [f"{tick} {shares.unit}".strip() for tick in shares.ticks[1:-1]]
    between = [f"{low} to {high}" for low, high in pairwise(inner)]
    return [f"below {inner[0]}", *between, f"{inner[-1]} and above"]


def _make_table(
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
