"""Relations: coefficients with their intervals, and squares of correlations."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from aggopt.release.report.charts import svg
from aggopt.release.report.page import format_figure, format_share


@dataclass(frozen=True)
class _IntervalLayout:
    """Positions of the parts of a row: the name, and the intervals."""

    only: str
    width: int
    left: int
    right: int
    row: int
    bar: int
    letters: int
    marks: int


BROAD = _IntervalLayout("broad", 760, 150, 110, 46, 10, 18, 8)
SLIM = _IntervalLayout(
    "narrow", 330, 8, 62, 70, 30, 28, 4
)  # the name above the intervals
TOP = 30


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


def draw_intervals(
    label: str, rows: Sequence[Interval], *, farthest: float = 8.0
) -> Markup:
    """Return a row for each coefficient: a broad chart and a narrow one.

    Intervals are cut off at `farthest`.  A page shows the chart that it has room for.
    """
    reach = max(abs(v) for row in rows for v in (*row.before, *row.after))
    end = min(max(3.0, 1.05 * reach), farthest)
    return _draw_intervals(label, rows, end, BROAD) + _draw_intervals(
        label, rows, end, SLIM
    )


def _draw_intervals(
    label: str, rows: Sequence[Interval], end: float, at: _IntervalLayout
) -> Markup:
    height = TOP + at.row * len(rows) + 30

    def x(value: float) -> float:
        within = min(max(value, -end), end)
        return at.left + (at.width - at.left - at.right) * (within + end) / (2 * end)

    beside = at.width - at.right + 16
    body = [svg.text(beside, 16, "overlap", "tick")]
    above = "standard errors from the original"
    body.append(svg.text(x(0), 16, above, "tick", anchor="middle"))
    for mark in svg.choose_ticks(-end, end, at.marks):
        kind = "grid" if mark else "axis"
        body.append(svg.line(x(mark), TOP - 6, x(mark), height - 28, kind))
        body.append(
            svg.text(x(mark), height - 12, format_figure(mark), "tick", anchor="middle")
        )
    for number, row in enumerate(rows):
        first = TOP + number * at.row
        y = first + at.bar
        body.append(svg.name(0, first + 20, row.name, at.letters))
        (old, low, high) = row.before
        (new, new_low, new_high) = row.after
        body.append(svg.line(x(low), y, x(high), y, "ori"))
        body.append(svg.circle(x(old), y, 4, "ori"))
        body.append(svg.line(x(new_low), y + 14, x(new_high), y + 14, "rel"))
        body.append(svg.rect(x(new) - 4, y + 10, 8, 8, "rel-dot"))
        says = format_share(max(row.overlap, 0.0))
        body.append(svg.text(beside, y + 12, says, "value"))
    return svg.canvas(at.width, height, label, body, only=at.only)


WIDTH = 330
LEFT = 88
ABOVE = 30
ROW = 30
PALE = 0.6  # of the strongest colour: the text on it is to be read


def draw_square(
    label: str,
    names: Sequence[str],
    values: Sequence[Sequence[float]],
    says: Callable[[float], str],
    *,
    strongest: float = 1.0,
) -> Markup:
    """Return a square of values (d, d); `strongest` is the one with the full colour."""
    wide = (WIDTH - LEFT) / len(names)
    body = [*_named(names, wide)]
    for i, row in enumerate(values):
        for j, value in enumerate(row):
            x = LEFT + j * wide
            y = ABOVE + i * ROW
            if i == j:
                body.append(svg.rect(x + 1, y + 1, wide - 2, ROW - 2, "diag"))
                continue
            strength = PALE * min(abs(value) / strongest, 1.0)
            kind = "pos" if value > 0 else "neg"
            body.append(svg.rect(x + 1, y + 1, wide - 2, ROW - 2, kind, fill=strength))
            if wide >= 34:  # room for a number
                middle = x + wide / 2
                body.append(
                    svg.text(
                        middle, y + 0.65 * ROW, says(value), "cell", anchor="middle"
                    )
                )
    return svg.canvas(WIDTH, ABOVE + ROW * len(names), label, body)


def _named(names: Sequence[str], wide: float) -> Iterator[Markup]:
    """Yield the name of each column above it, and of each row to its left.

    If names are cut, rows and columns have numbers.
    """
    letters = int(wide / 8)
    cut = any(len(name) > letters for name in names)
    for j, name in enumerate(names):
        beside = svg.shorten(f"{j + 1} {name}" if cut else name, 11)
        middle = LEFT + (j + 0.5) * wide
        end = ABOVE + (j + 0.65) * ROW
        above = str(j + 1) if cut else name
        yield svg.text(middle, 18, above, "tick", anchor="middle", full=name)
        yield svg.text(LEFT - 8, end, beside, "tick", anchor="end", full=name)
