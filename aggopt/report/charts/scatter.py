"""Risk against loss: each point is a link."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from aggopt.report.charts import svg
from aggopt.report.words import whole

WIDTH, HEIGHT = 760, 330
LEFT, RIGHT, TOP, BOTTOM = 74, 24, 18, 48
KEY, ROW = 3, 22  # series in a row of the key, and its height
MARKS = 6  # series of different looks


@dataclass(frozen=True)
class Point:
    """A point of a map.

    Attributes
    ----------
    series
        Points of one series are joined by a line, in the order that they come in.
    label
        What stands beside it; nothing, if that is empty.
    x, y
        Shares, 0 or more.
    says
        What a screen reader says of it, and what is shown where a pointer rests on it.
    href
        Where its link leads: "#id" of a row or a job on the same page.
    """

    series: str
    label: str
    x: float
    y: float
    says: str
    href: str


def scatter(
    points: Sequence[Point],
    *,
    title: str,
    x: str,
    y: str,
    chosen: int | None = None,
    mark: str = "this release",
    joined: bool = True,
    front: Sequence[int] = (),
    limit: float | None = None,
) -> Markup:
    """Return a map of points, at least one: x to the right, y up, both in percent.

    `x` and `y` name the axes.  The point `chosen` has a ring, and `mark` beside it.
    A dashed line joins those of `front`, by their places; another stands at the `limit`
    of x.  With `joined` unset the points of a series have a look in common, no line.
    """
    series = list(dict.fromkeys(point.series for point in points))
    top = TOP + ROW * -(-len(series) // KEY)
    axes = _Axes(top, max(p.x for p in points), max(p.y for p in points))
    body = [*_key(series), *_frame(axes, x, y)]
    for number, name in enumerate(series):
        mine = [axes.of(p) for p in points if p.series == name]
        line = joined and len(mine) > 1
        body += [svg.path(mine, f"path s{number % MARKS}")] if line else []
    body += _front(axes, [points[j] for j in front])
    body += _limit(axes, limit)
    if chosen is not None:
        across, up = axes.of(points[chosen])
        body.append(svg.circle(across, up, 12, "ring"))
        body.append(svg.text(across, up + 28, mark, "value", anchor="middle"))
    for point in points:
        body += _linked(point, axes.of(point), series.index(point.series))
    return svg.canvas(WIDTH, HEIGHT + top - TOP, title, body, wide=True, linked=True)


@dataclass(frozen=True)
class _Axes:
    top: int
    x_most: float
    y_most: float

    @property
    def bottom(self) -> int:
        return HEIGHT + self.top - TOP - BOTTOM

    @property
    def ends(self) -> tuple[float, float]:
        """The largest shares that are drawn."""
        return 1.12 * max(self.x_most, 1e-3), 1.15 * max(self.y_most, 1e-3)

    def of(self, point: Point) -> tuple[float, float]:
        return self.at(point.x, point.y)

    def at(self, x: float, y: float) -> tuple[float, float]:
        right, up = self.ends
        across = LEFT + (WIDTH - LEFT - RIGHT) * x / right
        return across, self.bottom - (self.bottom - self.top) * y / up


def _frame(axes: _Axes, x: str, y: str) -> Iterator[Markup]:
    right, up = axes.ends
    for value in svg.ticks(0.0, right):
        across, ground = axes.at(value, 0)
        yield svg.line(across, axes.top, across, ground, "grid")
        said = _percent(value, right)
        yield svg.text(across, ground + 18, said, "tick", anchor="middle")
    for value in svg.ticks(0.0, up):
        across, height = axes.at(0, value)
        yield svg.line(across, height, WIDTH - RIGHT, height, "grid")
        yield svg.text(
            across - 8, height + 4, _percent(value, up), "tick", anchor="end"
        )
    middle = (LEFT + WIDTH - RIGHT) / 2
    yield svg.text(
        middle, axes.bottom + 40, f"{x} \N{RIGHTWARDS ARROW}", "tick", anchor="middle"
    )
    half = (axes.top + axes.bottom) / 2
    said = f"{y} \N{RIGHTWARDS ARROW}"
    yield svg.text(16, half, said, "tick", anchor="middle", upright=True)


def _front(axes: _Axes, points: Sequence[Point]) -> Iterator[Markup]:
    if len(points) > 1:
        yield svg.path(map(axes.of, points), "front")


def _limit(axes: _Axes, limit: float | None) -> Iterator[Markup]:
    if limit is None or limit > axes.ends[0]:
        return
    across, ground = axes.at(limit, 0)
    yield svg.line(across, axes.top, across, ground, "limit")


def _percent(value: float, largest: float) -> str:
    """Return a share of an axis; with decimals where its marks are closer than 1 %."""
    if largest >= 0.05:
        return f"{whole(100 * value)} %"
    return f"{100 * value:.2g} %"


def _key(series: Sequence[str]) -> Iterator[Markup]:
    wide = (WIDTH - LEFT) / KEY
    for number, name in enumerate(series):
        x, y = LEFT + wide * (number % KEY) + 8, 15 + ROW * (number // KEY)
        yield _mark(x, y, number % MARKS)
        yield svg.name(x + 12, y + 5, name, 26, f"series s{number % MARKS}")


def _linked(point: Point, at: tuple[float, float], series: int) -> Iterator[Markup]:
    x, y = at
    body = _mark(x, y, series % MARKS)
    if point.label:
        body += svg.text(x + 9, y - 8, point.label, "tick")
    yield Markup('<a href="{}" aria-label="{}"><title>{}</title>{}</a>').format(
        point.href, point.says, point.says, body
    )


def _mark(x: float, y: float, series: int) -> Markup:
    """Return the mark of a series: shapes differ, not colours alone."""
    kind = f"dot s{series}"
    if series == 0:
        return svg.circle(x, y, 5, kind)
    if series == 1:
        return svg.rect(x - 5, y - 5, 10, 10, kind)
    corners = {
        2: [(0, -6), (6, 5), (-6, 5)],
        3: [(0, -7), (6, 0), (0, 7), (-6, 0)],
        4: [(0, 6), (6, -5), (-6, -5)],
        5: [
            (-2, -6),
            (2, -6),
            (2, -2),
            (6, -2),
            (6, 2),
            (2, 2),
            (2, 6),
            (-2, 6),
            (-2, 2),
            (-6, 2),
            (-6, -2),
            (-2, -2),
        ],
    }[series]
    return svg.path([(x + right, y + down) for right, down in corners], kind)
