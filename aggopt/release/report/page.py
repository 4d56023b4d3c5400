"""One page of HTML that opens offline, its tables and figures, and its numbers."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from math import ceil
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from aggopt.measure.safe_figures import format_percents, round_percent

NO_BREAK = "\N{NO-BREAK SPACE}"
TEMPLATES = Path(__file__).parent / "templates"


def fill_template(template: str, *, script: str = "", **facts: Any) -> str:
    """Return a page: the template of this name, filled with facts.

    It needs no script and loads no address. Its Content-Security-Policy lets a browser
    run and draw only its own contents.

    Parameters
    ----------
    template
        The name of a file in `aggopt/release/report/templates/`.
    script
        Plain JavaScript that adds to the page; none when empty.
    facts
        Values of the template's names.  A name that it uses and that is not among them
        raises.

    Examples
    --------
    >>> "<h1><bdi>&lt;b&gt;</bdi></h1>" in fill_template("base.html", title="<b>")
    True
    """
    style = (TEMPLATES / "style.css").read_text("utf-8")
    return (
        _make_environment()
        .get_template(template)
        .render(
            style=Markup(style),
            script=Markup(script),
            style_hash=_digest(style),
            script_hash=_digest(script) if script else "",
            **facts,
        )
    )


@cache
def _make_environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "share": format_share,
        "figure": format_figure,
        "whole": format_whole,
    }
    environment.filters["unbroken"] = _join_signs
    return environment


def _join_signs(text: str) -> str:
    """Return text whose lines never break before a percent sign, nor after < or >."""
    for sign in (" %", "< ", "> "):
        text = text.replace(sign, sign.replace(" ", NO_BREAK))
    return text


def _digest(text: str) -> str:
    """Return the name of an inline text in a Content-Security-Policy."""
    return f"sha256-{base64.b64encode(sha256(text.encode()).digest()).decode()}"


STACKED = 2  # columns that a phone has room for side by side
FEW = 100  # rows; longer tables scroll, as each stacked cell repeats its heading


@dataclass(frozen=True)
class DataTable:
    """A table: the first cell of a row names it.

    Attributes
    ----------
    caption
        Text above it, which is read aloud.
    head, rows
        Names of the columns, and the cells of each row.
    numeric
        Columns of numbers, from 0, which are aligned right.
    ids
        One a row, for links to it; none when empty.
    """

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[Any]]
    numeric: Sequence[int] = ()
    ids: Sequence[str] = ()

    @property
    def stacked(self) -> bool:
        """Whether a narrow page has the cells of a row below each other."""
        return len(self.head) > STACKED and len(self.rows) <= FEW


@dataclass(frozen=True)
class FoldedTable:
    """A table that opens when its summary is chosen."""

    summary: str
    table: DataTable


@dataclass(frozen=True)
class Figure:
    """A chart, its caption, and a folded table of its numbers."""

    chart: Markup
    caption: str
    table: DataTable


MINUS = "\N{MINUS SIGN}"


def format_share(part: float) -> str:
    """Return a fraction as a whole percentage; 0 % and 100 % are exactly none and all.

    Examples
    --------
    >>> format_share(0.187), format_share(0.004), format_share(0.996), format_share(1.0)
    ('19 %', '< 1 %', '> 99 %', '100 %')
    """
    return format_percents(round_percent(part)).replace("-", MINUS)


def format_upper_bound(part: float) -> str:
    """Return an upper bound on a fraction as a whole percentage, rounded up.

    Examples
    --------
    >>> format_upper_bound(0.361), format_upper_bound(0.36), format_upper_bound(0.0)
    ('37 %', '36 %', '0 %')
    """
    rounding = 1e-9  # 100 * 0.36 may be a little more than 36
    return f"{ceil(100 * part - rounding)} %"


def round_share(part: float) -> float:
    """Return a fraction in whole hundredths: all that a public page knows of it.

    >>> round_share(0.1234)
    0.12
    """
    return round_percent(part) / 100


def format_figure(number: float | None, digits: int = 3) -> str:
    """Return a number to three significant digits, or to `digits`.

    Examples
    --------
    >>> [format_figure(x) for x in (48.518, 123456.0, 0.00123456, None)]
    ['48.5', '123000', '0.00123', 'none']
    """
    if number is None:
        return "none"
    rounded = float(f"{number:.{digits - 1}e}")
    plain = f"{rounded:.15g}" if 1e-4 <= abs(rounded) < 1e9 or not rounded else ""
    return (plain or f"{rounded:.{digits - 1}e}").replace("-", MINUS)


def format_whole(number: float) -> str:
    """Return the nearest whole number.

    Examples
    --------
    >>> format_whole(2.6), format_whole(-0.2)
    ('3', '0')
    """
    return f"{round(number)}".replace("-", MINUS)
