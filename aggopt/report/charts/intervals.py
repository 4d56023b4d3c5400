"""Coefficients and their intervals, before and after, in standard errors."""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from aggopt.report.charts import svg
from aggopt.report.words import figure, share

WIDTH, LEFT, RIGHT, TOP, ROW = 760, 150, 110, 30, 46


@dataclass(frozen=True)
class Interval:
    """A coefficient and its interval, before and after, and how far these overlap.

    Estimate, low and high are in standard errors of the original, from the original
    estimate.
    """

    name: str
    before: tuple[float, float, float]
    after: tuple[float, float, float]
    overlap: float


def intervals(label: str, rows: Sequence[Interval], *, farthest: float = 8.0) -> Markup:
    """Return a row for each coefficient; what is beyond `farthest` is cut off there."""
    height = TOP + ROW * len(rows) + 30
    reach = max(abs(v) for row in rows for v in (*row.before, *row.after))
    end = min(max(3.0, 1.05 * reach), farthest)

    def x(value: float) -> float:
        within = min(max(value, -end), end)
        return LEFT + (WIDTH - LEFT - RIGHT) * (within + end) / (2 * end)

    body = [svg.text(WIDTH - RIGHT + 16, 16, "overlap", "tick")]
    above = "standard errors from the original coefficient"
    body.append(svg.text(x(0), 16, above, "tick", anchor="middle"))
    for mark in svg.ticks(-end, end, 8):
        kind = "grid" if mark else "axis"
        body.append(svg.line(x(mark), TOP - 6, x(mark), height - 28, kind))
        body.append(
            svg.text(x(mark), height - 12, figure(mark), "tick", anchor="middle")
        )
    for number, row in enumerate(rows):
        y = TOP + number * ROW
        body.append(svg.name(0, y + 20, row.name, 18))
        (at, low, high), (own, least, most) = row.before, row.after
        body.append(svg.line(x(low), y + 10, x(high), y + 10, "ori"))
        body.append(svg.circle(x(at), y + 10, 4, "ori"))
        body.append(svg.line(x(least), y + 24, x(most), y + 24, "rel"))
        body.append(svg.rect(x(own) - 4, y + 20, 8, 8, "rel-dot"))
        says = share(max(row.overlap, 0.0))
        body.append(svg.text(WIDTH - RIGHT + 16, y + 22, says, "value"))
    return svg.canvas(WIDTH, height, label, body, wide=True)
