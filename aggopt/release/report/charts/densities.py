"""Densities in bins: released as areas, originals as a line in steps."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import inf

from markupsafe import Markup

from aggopt.release.report.charts import svg

WIDTH = 330
HEIGHT = 170
LEFT = 10
RIGHT = 10
TOP = 10
BOTTOM = 28
CHARACTER = 7.6  # width of one below the axis, about
FAINT = 0.55  # how opaque open bins are, so that they are seen to be others
BETWEEN = 8  # from one name to the next, at least


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
        if at - half >= end + BETWEEN:
            end = at + half
            yield at, name


def _compute_heights(shares: Sequence[float], widths: Sequence[float]) -> list[float]:
    return [share / width for share, width in zip(shares, widths, strict=False)]
