"""Risk against loss: each point is a link."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from markupsafe import Markup

from aggopt.release.report.charts import svg
from aggopt.release.report.page import format_whole

TOP = 18
BOTTOM = 48
ROW = 22  # height of a row of the key
MARKS = 6  # series of different looks
LETTER = 7  # width of a letter of a label
BOLD = 8  # the same in bold
LINE = 14  # height of a label
FEW = 8  # points whose labels may be on any side, and cover another point
MARK = 6  # half the width of a mark


@dataclass(frozen=True)
class _MapLayout:
    """How large a map is, and how many series a row of its key has."""

    only: str
    width: int
    height: int
    left: int
    right: int
    key: int
    letters: int


BROAD = _MapLayout("broad", 760, 330, 74, 24, 3, 26)
SLIM = _MapLayout("narrow", 330, 300, 62, 12, 1, 32)


@dataclass(frozen=True)
class Point:
    """A point of a map.

    Attributes
    ----------
    series
        A line joins the points of one series, in their order.
    label
        Text next to it if there is room; nothing if it is empty.
    x, y
        Shares, 0 or more.
    says
        Text for screen readers, and for a pointer that rests on it.
    href
        Target of its link: "#id" of a row or a job on the page.
    """

    series: str
    label: str
    x: float
    y: float
    says: str
    href: str


def draw_scatter(
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

    `x` and `y` name the axes.  The point `chosen` has a ring, and `mark` next to it. A
    dashed line joins the points of `front`, which get their labels first; another one
    is at the `limit` of x.  With `joined` unset the points of a series have a look in
    common, no line.  There is a broad map and a narrow one, and a page shows the one
    that it has room for.
    """
    series = list(dict.fromkeys(point.series for point in points))

    def map_of(layout: _MapLayout) -> Markup:
        top = TOP + ROW * -(-len(series) // layout.key)
        largest = max(p.x for p in points), max(p.y for p in points)
        axes = _Axes(layout, top, *largest)
        body = [*_draw_key(series, layout), *_draw_frame(axes, x, y)]
        for number, name in enumerate(series):
            mine = [axes.of(p) for p in points if p.series == name]
            line = joined and len(mine) > 1
            body += [svg.path(mine, f"path s{number % MARKS}")] if line else []
        body += _draw_front(axes, [points[j] for j in front])
        body += _draw_limit(axes, limit)
        ring = list[_Box]()
        if chosen is not None:
            across, up = axes.of(points[chosen])
            half = BOLD * len(mark) / 2
            ring.append(_Box(across - half, up + 30 - LINE, across + half, up + 32))
            body.append(svg.circle(across, up, 12, "ring"))
            body.append(svg.text(across, up + 28, mark, "value", anchor="middle"))
        labels = _labels(points, axes, front, ring)
        for j, point in enumerate(points):
            look = series.index(point.series)
            body += _draw_linked_point(point, labels.get(j), axes.of(point), look)
        return svg.canvas(
            layout.width, axes.height, title, body, linked=True, only=layout.only
        )

    return map_of(BROAD) + map_of(SLIM)


class _Box(NamedTuple):
    """The room of a text or a mark."""

    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: "_Box") -> bool:
        return (
            self.left < other.right
            and other.left < self.right
            and self.top < other.bottom
            and other.top < self.bottom
        )


class _Label(NamedTuple):
    """A label next to a point: the start or end of its text, and its room."""

    x: float
    y: float
    anchor: str
    box: _Box


def _labels(
    points: Sequence[Point], axes: "_Axes", front: Sequence[int], ring: Sequence[_Box]
) -> dict[int, _Label]:
    """Return the labels that have room, by point, first the labels of `front`.

    A label overlaps no other one and no text in `ring`.  One of the `front`, or of few
    points, is on a side of its point on which it covers no other point, if possible.
    Another label is to the right and covers no point, or is left out.
    """
    marks = [_box_of_mark(*axes.of(point)) for point in points]
    placed = dict[int, _Label]()
    rest = [j for j in range(len(points)) if j not in front]
    for j in (*front, *rest):
        important = j in front or len(points) <= FEW
        texts = [*ring, *(label.box for label in placed.values())]
        others = [mark for i, mark in enumerate(marks) if i != j]
        free = [
            label
            for label in list(_sides(points[j], axes))[: None if important else 1]
            if label.box.left >= axes.layout.left
            and label.box.right <= axes.layout.width
            and not any(map(label.box.overlaps, texts))
        ]
        clear = [place for place in free if not any(map(place.box.overlaps, others))]
        sides = (*clear, *free) if important else clear
        for label in sides[:1]:
            placed[j] = label
    return placed


def _box_of_mark(x: float, y: float) -> _Box:
    return _Box(x - MARK, y - MARK, x + MARK, y + MARK)


def _sides(point: Point, axes: "_Axes") -> Iterator[_Label]:
    """Yield the places of a label: to the right and to the left, above and below."""
    (x, y) = axes.of(point)
    wide = LETTER * len(point.label)
    for base in (y - 8, y + 18):
        up = base - LINE + 3
        down = base + 3
        yield _Label(x + 9, base, "start", _Box(x + 9, up, x + 9 + wide, down))
        yield _Label(x - 9, base, "end", _Box(x - 9 - wide, up, x - 9, down))


@dataclass(frozen=True)
class _Axes:
    layout: _MapLayout
    top: int
    x_most: float
    y_most: float

    @property
    def height(self) -> int:
        return self.layout.height + self.top - TOP

    @property
    def bottom(self) -> int:
        return self.height - BOTTOM

    @property
    def right(self) -> int:
        return self.layout.width - self.layout.right

    @property
    def ends(self) -> tuple[float, float]:
        """The largest shares that are drawn."""
        return 1.12 * max(self.x_most, 1e-3), 1.15 * max(self.y_most, 1e-3)

    def of(self, point: Point) -> tuple[float, float]:
        return self.at(point.x, point.y)

    def at(self, x: float, y: float) -> tuple[float, float]:
        right, up = self.ends
        left = self.layout.left
        across = left + (self.right - left) * x / right
        return across, self.bottom - (self.bottom - self.top) * y / up


def _draw_frame(axes: _Axes, x: str, y: str) -> Iterator[Markup]:
    right, up = axes.ends
    for value in svg.choose_ticks(0.0, right):
        across, ground = axes.at(value, 0)
        yield svg.line(across, axes.top, across, ground, "grid")
        label = _percent(value, right)
        yield svg.text(across, ground + 18, label, "tick", anchor="middle")
    for value in svg.choose_ticks(0.0, up):
        across, height = axes.at(0, value)
        yield svg.line(across, height, axes.right, height, "grid")
        yield svg.text(
            across - 8, height + 4, _percent(value, up), "tick", anchor="end"
        )
    middle = (axes.layout.left + axes.right) / 2
    yield svg.text(
        middle, axes.bottom + 40, f"{x} \N{RIGHTWARDS ARROW}", "tick", anchor="middle"
    )
    half = (axes.top + axes.bottom) / 2
    label = f"{y} \N{RIGHTWARDS ARROW}"
    yield svg.text(16, half, label, "tick", anchor="middle", upright=True)


def _draw_front(axes: _Axes, points: Sequence[Point]) -> Iterator[Markup]:
    if len(points) > 1:
        yield svg.path(map(axes.of, points), "front")


def _draw_limit(axes: _Axes, limit: float | None) -> Iterator[Markup]:
    if limit is None or limit > axes.ends[0]:
        return
    across, ground = axes.at(limit, 0)
    yield svg.line(across, axes.top, across, ground, "limit")


def _percent(value: float, largest: float) -> str:
    """Return a share of an axis; with decimals where its marks are closer than 1 %."""
    if largest >= 0.05:
        return f"{format_whole(100 * value)} %"
    return f"{100 * value:.2g} %"


def _draw_key(series: Sequence[str], layout: _MapLayout) -> Iterator[Markup]:
    left = layout.left if layout.key > 1 else 4
    wide = (layout.width - left) / layout.key
    for number, name in enumerate(series):
        x = left + wide * (number % layout.key) + 8
        y = 15 + ROW * (number // layout.key)
        yield _mark(x, y, number % MARKS)
        yield svg.name(x + 12, y + 5, name, layout.letters, f"series s{number % MARKS}")


def _draw_linked_point(
    point: Point, label: _Label | None, at: tuple[float, float], series: int
) -> Iterator[Markup]:
    body = _mark(*at, series % MARKS)
    if label is not None and point.label:
        body += svg.text(label.x, label.y, point.label, "tick", anchor=label.anchor)
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
