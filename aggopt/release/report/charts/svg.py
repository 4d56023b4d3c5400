"""Shapes and texts of a chart, escaped, and scales with round numbers."""

from collections.abc import Iterable
from math import ceil, floor, log10

from markupsafe import Markup


def canvas(
    width: float,
    height: float,
    label: str,
    body: Iterable[Markup],
    *,
    linked: bool = False,
    only: str = "",
) -> Markup:
    """Return a chart.

    `label` is the text for screen readers.  One that is linked holds links, which a
    reader can go to one by one.  One is shown `only` on a "broad" page, or on a
    "narrow" one.
    """
    kind = f"chart {only}".rstrip()
    role = "group" if linked else "img"
    inner = Markup("").join(body)
    return Markup(
        '<svg class="{}" viewBox="0 0 {} {}" role="{}" aria-label="{}">{}</svg>'
    ).format(kind, _format_number(width), _format_number(height), role, label, inner)


def text(
    x: float,
    y: float,
    words: object,
    kind: str = "",
    *,
    anchor: str = "start",
    upright: bool = False,
    full: str = "",
) -> Markup:
    """Return a text; `full` is shown when a pointer rests on it."""
    title = Markup("<title>{}</title>").format(full) if full else ""
    turning = Markup(' transform="rotate(-90 {} {})"').format(
        _format_number(x), _format_number(y)
    )
    return Markup(
        '<text x="{}" y="{}" class="{}" text-anchor="{}"{}>{}{}</text>'
    ).format(
        _format_number(x),
        _format_number(y),
        kind,
        anchor,
        turning if upright else "",
        title,
        words,
    )


def name(x: float, y: float, full: str, longest: int, kind: str = "label") -> Markup:
    """Return a name, cut to `longest` characters."""
    shown = shorten(full, longest)
    return text(x, y, shown, kind, full="" if shown == full else full)


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Markup:
    """Return a line."""
    return Markup('<line x1="{}" y1="{}" x2="{}" y2="{}" class="{}"/>').format(
        _format_number(x1),
        _format_number(y1),
        _format_number(x2),
        _format_number(y2),
        kind,
    )


def rect(
    x: float, y: float, width: float, height: float, kind: str, *, fill: float = 1.0
) -> Markup:
    """Return a rectangle; `fill` is how opaque it is, 0..1."""
    opaque = (
        Markup(' fill-opacity="{}"').format(_format_number(fill, 2)) if fill < 1 else ""
    )
    return Markup('<rect x="{}" y="{}" width="{}" height="{}" class="{}"{}/>').format(
        _format_number(x),
        _format_number(y),
        _format_number(max(width, 0.0)),
        _format_number(max(height, 0.0)),
        kind,
        opaque,
    )


def circle(x: float, y: float, radius: float, kind: str) -> Markup:
    """Return a circle."""
    return Markup('<circle cx="{}" cy="{}" r="{}" class="{}"/>').format(
        _format_number(x), _format_number(y), _format_number(radius), kind
    )


def path(points: Iterable[tuple[float, float]], kind: str) -> Markup:
    """Return a line through points."""
    at = "L".join(f"{_format_number(x)},{_format_number(y)}" for x, y in points)
    return Markup('<path d="M{}" class="{}"/>').format(at, kind)


def shorten(full: str, longest: int) -> str:
    """Return a name, or its beginning if it is longer.

    Examples
    --------
    >>> shorten("age", 8), len(shorten("progression", 8))
    ('age', 8)
    """
    return (
        full
        if len(full) <= longest
        else f"{full[: longest - 1]}\N{HORIZONTAL ELLIPSIS}"
    )


def round_step(width: float, count: int) -> float:
    """Return the smallest of 1, 2, 5, 10, ... that fits at most so often into a width.

    Examples
    --------
    >>> round_step(0.31, 7), round_step(80.0, 16)
    (0.05, 5.0)
    """
    ten = 10.0 ** floor(log10(width / count))
    step = next(s for s in (1, 2, 5, 10) if s * ten * count >= width * (1 - 1e-9))
    return float(f"{step * ten:.12g}")


def choose_ticks(low: float, high: float, count: int = 7) -> list[float]:
    """Return round numbers from `low` to `high`, which are not equal.

    Examples
    --------
    >>> choose_ticks(0.0, 0.31)
    [0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3]
    """
    step = round_step(high - low, count)
    first = ceil(low / step - 1e-9)
    last = floor(high / step + 1e-9)
    return [float(f"{number * step:.12g}") for number in range(first, last + 1)]


def _format_number(number: float, digits: int = 1) -> str:
    return f"{round(number, digits):g}"
