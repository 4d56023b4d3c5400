"""Bars of attacks, categories and group sizes, and densities in bins."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf

from markupsafe import Markup

from aggopt.release.report.charts import svg
from aggopt.release.report.page import format_share

WIDE = 760
NARROW = 330
DIGIT = 8  # width of one above a column
BETWEEN = 6  # from one count to the next


@dataclass(frozen=True)
class AttackBar:
    """An attack, how often it succeeds, by chance, and at most; shares 0..1."""

    name: str
    says: str
    share: float
    chance: float
    limit: float | None = None

    @property
    def gain(self) -> float:
        """Share of success above chance; negative if a blind guess succeeds more."""
        return self.share - self.chance


def draw_attacks(rows: Sequence[AttackBar]) -> Markup:
    """Return how often attacks succeed, one row each: a broad chart and a narrow one.

    A page shows the one that it has room for.
    """
    return _draw_attacks(rows, BROAD) + _draw_attacks(rows, SLIM)


@dataclass(frozen=True)
class _Layout:
    """Positions of the parts of a row: the text on the attack, and its bars."""

    only: str
    width: int
    left: int
    right: int
    row: int
    bar: int
    marks: tuple[float, ...]


BROAD = _Layout("broad", WIDE, 300, 58, 58, 8, (0.0, 0.25, 0.5, 0.75, 1.0))
SLIM = _Layout("narrow", NARROW, 4, 46, 98, 48, (0.0, 0.5, 1.0))  # words above bars


def _draw_attacks(rows: Sequence[AttackBar], at: _Layout) -> Markup:
    top = 26
    label = "How often attacks succeed"
    height = top + at.row * len(rows) + 8

    def x(part: float) -> float:
        return at.left + (at.width - at.left - at.right) * part

    body = []
    for mark in at.marks:
        body.append(svg.line(x(mark), top - 4, x(mark), height - 8, "grid"))
        anchor = "start" if at is SLIM and mark == 0 else "middle"
        body.append(svg.text(x(mark), 14, format_share(mark), "tick", anchor=anchor))
    for number, attack in enumerate(rows):
        first = top + number * at.row
        y = first + at.bar
        body.append(svg.name(0, first + 18, attack.name, 36))
        body.append(svg.text(0, first + 36, attack.says, "hint"))
        body.append(svg.rect(x(0), y, x(attack.share) - x(0), 22, "risk"))
        if attack.limit is not None:
            limit = x(attack.limit)
            body.append(svg.line(limit, y - 6, limit, y + 28, "limit"))
        wide = max(x(attack.chance) - x(0), 1.5)
        body.append(svg.rect(x(0), y + 25, wide, 6, "base"))
        beside = x(max(attack.share, attack.limit or 0)) + 7
        body.append(svg.text(beside, y + 16, format_share(attack.share), "value"))
    return svg.canvas(at.width, height, label, body, only=at.only)


def draw_pairs(
    label: str,
    names: Sequence[str],
    before: Sequence[float] | None,
    after: Sequence[float],
) -> Markup:
    """Return shares of categories: released as bars, originals as a line across."""
    left = 120
    row = 24
    largest = max([*after, *(before or ()), 0.01])

    def x(part: float) -> float:
        return left + (NARROW - left - 46) * part / largest

    body = list[Markup]()
    for number, name in enumerate(names):
        y = row * number
        body.append(svg.name(0, y + 16, name, 16, "tick"))
        body.append(svg.rect(left, y + 4, x(after[number]) - left, 16, "rel"))
        end = after[number]
        if before is not None:
            original = before[number]
            body.append(svg.line(x(original), y + 1, x(original), y + 23, "ori"))
            end = max(end, original)
        body.append(svg.text(x(end) + 7, y + 17, format_share(after[number]), "tick"))
    return svg.canvas(NARROW, row * len(names) + 4, label, body)


def count_fitting(largest: int) -> int:
    """Return how many columns with counts up to `largest` fit side by side."""
    return int((NARROW - 18) // (len(str(largest)) * DIGIT + BETWEEN))


def draw_columns(
    label: str, counts: Sequence[tuple[str, int, bool]], below: str
) -> Markup:
    """Return counts as columns: a name, a count, and whether it is allowed.

    `below` is the text under them.
    """
    height = 190
    top = 20
    bottom = 40
    left = 10
    largest = max(count for _, count, _ in counts)
    step = (NARROW - 18) / len(counts)
    ground = height - bottom

    def each() -> Iterator[Markup]:
        for number, (name, count, allowed) in enumerate(counts):
            x = left + number * step
            y = ground - (ground - top) * count / largest
            kind = "rel" if allowed else "risk"
            yield svg.rect(x + 4, y, step - 8, ground - y, kind)
            middle = x + step / 2
            yield svg.text(middle, y - 5, count, "value", anchor="middle")
            yield svg.text(middle, ground + 17, name, "tick", anchor="middle")
        yield svg.line(left, ground, NARROW - 8, ground, "axis")
        yield svg.text(NARROW / 2, height - 6, below, "tick", anchor="middle")

    return svg.canvas(NARROW, height, label, each())


WIDTH = 330
HEIGHT = 170
LEFT = 10
RIGHT = 10
TOP = 10
BOTTOM = 28
CHARACTER = 7.6  # width of one below the axis, about
FAINT = 0.55  # how opaque open bins are, so that they are seen to be others
APART = 8  # from one name to the next, at least


def draw_density(
    label: str,
    edges: Sequence[float],
    widths: Sequence[float],
    ticks: Sequence[str],
    before: Sequence[float] | None,
    after: Sequence[float],
) -> Markup:
    """Return densities of shares in two bins or more, between `edges` of these names.

    The outer bins are open: their outer edges have no name below the axis, and their
    areas are fainter.  Heights are shares by `widths`, which for open bins may exceed
    the drawn widths.
    """
    ends = list(pairwise(edges))
    areas = [_compute_heights(after, widths), _compute_heights(before or (), widths)]
    highest = max(max(part) for part in areas if part) or 1.0
    ground = HEIGHT - BOTTOM

    def x(value: float) -> float:
        wide = edges[-1] - edges[0]
        return LEFT + (WIDTH - LEFT - RIGHT) * (value - edges[0]) / wide

    def y(height: float) -> float:
        return ground - (ground - TOP) * height / highest

    def area(number: int) -> Markup:
        (low, up) = ends[number]
        top = y(areas[0][number])
        fill = FAINT if number in (0, len(ends) - 1) else 1.0
        size = x(up) - x(low) - 1.4, ground - top
        return svg.rect(x(low) + 0.7, top, *size, "rel", fill=fill)

    body = [area(number) for number in range(len(ends))]
    if before is not None:
        steps = [(x(edges[0]), float(ground))]
        for (low, up), high in zip(ends, areas[1], strict=True):
            steps += [(x(low), y(high)), (x(up), y(high))]
        body.append(svg.path([*steps, (x(edges[-1]), float(ground))], "ori"))
    body.append(svg.line(LEFT, ground, WIDTH - RIGHT, ground, "axis"))
    inner = [(x(e), t) for e, t in zip(edges, ticks, strict=True)][1:-1]
    for at, tick in _drop_touching(inner):
        body.append(svg.line(at, ground, at, ground + 4, "axis"))
        body.append(svg.text(at, ground + 18, tick, "tick", anchor="middle"))
    return svg.canvas(WIDTH, HEIGHT, label, body)


def _drop_touching(labels: Sequence[tuple[float, str]]) -> Iterator[tuple[float, str]]:
    """Yield the first name, and each other that does not touch the one before."""
    end = -inf
    for at, name in labels:
        half = len(name) * CHARACTER / 2
        if at - half >= end + APART:
            end = at + half
            yield at, name


def _compute_heights(shares: Sequence[float], widths: Sequence[float]) -> list[float]:
    return [share / width for share, width in zip(shares, widths, strict=False)]
