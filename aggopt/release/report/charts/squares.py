"""A square of correlations, the stronger the darker."""

from collections.abc import Callable, Iterator, Sequence

from markupsafe import Markup

from aggopt.release.report.charts import svg

WIDTH = 330
LEFT = 88
TOP = 30
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
            y = TOP + i * ROW
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
    return svg.canvas(WIDTH, TOP + ROW * len(names), label, body)


def _named(names: Sequence[str], wide: float) -> Iterator[Markup]:
    """Yield the name of each column above it, and of each row to its left.

    If names are cut, rows and columns have numbers.
    """
    letters = int(wide / 8)
    cut = any(len(name) > letters for name in names)
    for j, name in enumerate(names):
        beside = svg.shorten(f"{j + 1} {name}" if cut else name, 11)
        middle = LEFT + (j + 0.5) * wide
        end = TOP + (j + 0.65) * ROW
        above = str(j + 1) if cut else name
        yield svg.text(middle, 18, above, "tick", anchor="middle", full=name)
        yield svg.text(LEFT - 8, end, beside, "tick", anchor="end", full=name)
