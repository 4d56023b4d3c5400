"""Small tables, as text and as HTML for notebooks; whatever is in them is escaped."""

from collections.abc import Iterable, Sequence
from dataclasses import fields
from html import escape
from typing import Any

Rows = Iterable[Sequence[Any]]
COLOURS = {
    "green": "#1d7a4c",
    "amber": "#b87a00",
    "red": "#a8281c",
}  # as the report has


def table(header: Sequence[str], rows: Rows) -> str:
    """Return a table in HTML.

    Examples
    --------
    >>> table(["name"], [["<b>"]])
    '<table><tr><th>name</th></tr><tr><td>&lt;b&gt;</td></tr></table>'
    """
    lines = [_row("th", header), *(_row("td", row) for row in rows)]
    return f"<table>{''.join(lines)}</table>"


def lines(text: str) -> str:
    """Return plain text in HTML, its line ends and columns kept."""
    return f"<pre>{escape(text)}</pre>"


def listed(entries: Iterable[str]) -> str:
    """Return a list in HTML, or nothing if it has no entries."""
    items = "".join(f"<li>{escape(entry)}</li>" for entry in entries)
    return f"<ul>{items}</ul>" if items else ""


def sealed(state: str, heading: str) -> str:
    """Return the seal of an audit in HTML, in its colour.

    Examples
    --------
    >>> sealed("green", "k = 5 holds").removeprefix("<p style=")
    '"border-left: 6px solid #1d7a4c; padding-left: 8px">k = 5 holds</p>'
    """
    border = f"border-left: 6px solid {COLOURS[state]}; padding-left: 8px"
    return f'<p style="{border}">{escape(heading)}</p>'


def titled(title: str, *parts: str) -> str:
    """Return parts that are HTML under a title that is plain text."""
    return f"<div><strong>{escape(title)}</strong>{''.join(parts)}</div>"


def folded(title: str, *parts: str) -> str:
    """Return the same, opened by a click on the title."""
    return f"<details><summary>{escape(title)}</summary>{''.join(parts)}</details>"


class Listed:
    """What a notebook shows as a table of its fields, those that its repr has."""

    def _repr_html_(self) -> str:
        own = (f.name for f in fields(self) if f.repr)  # type: ignore[arg-type]
        entries = [(name, getattr(self, name)) for name in own]
        return titled(type(self).__name__, table(("", "value"), entries))


def as_text(header: Sequence[str], rows: Rows) -> str:
    """Return a table in plain text, columns aligned.

    Examples
    --------
    >>> print(as_text(["name", "gap"], [["age", None]]))
    name  gap
    age   none
    """
    cells = [[_cell(entry) for entry in row] for row in (header, *rows)]
    wide = [max(map(len, column)) for column in zip(*cells, strict=True)]
    padded = (
        "  ".join(entry.ljust(width) for entry, width in zip(row, wide, strict=True))
        for row in cells
    )
    return "\n".join(line.rstrip() for line in padded)


def _row(kind: str, entries: Sequence[Any]) -> str:
    cells = (f"<{kind}>{escape(_cell(entry))}</{kind}>" for entry in entries)
    return f"<tr>{''.join(cells)}</tr>"


def _cell(entry: Any) -> str:
    if entry is None:
        return "none"
    return f"{entry:.6g}" if isinstance(entry, float) else str(entry)
