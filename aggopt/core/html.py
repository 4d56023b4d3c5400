"""Small tables, as text and as HTML for notebooks; whatever is in them is escaped."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import fields
from html import escape
from itertools import zip_longest
from textwrap import wrap
from typing import Any

Rows = Iterable[Sequence[Any]]
BOX = 'tabindex="0" style="max-width: 100%; overflow-x: auto"'  # scrolls by itself
COLOURS = {
    "green": "#1d7a4c",
    "amber": "#b87a00",
    "red": "#a8281c",
}  # as the report has


def render_html_table(header: Sequence[str], rows: Rows) -> str:
    """Return a table in HTML.

    Examples
    --------
    >>> render_html_table(["name"], [["<b>"]])
    '<table><tr><th scope="col">name</th></tr><tr><td>&lt;b&gt;</td></tr></table>'
    """
    lines = [
        _render_row('th scope="col"', header),
        *(_render_row("td", row) for row in rows),
    ]
    return f"<table>{''.join(lines)}</table>"


def render_html_lines(text: str) -> str:
    """Return plain text in HTML, its line ends and columns kept."""
    return f"<pre>{escape(text)}</pre>"


def render_html_list(entries: Iterable[str]) -> str:
    """Return a list in HTML, or nothing if it has no entries."""
    items = "".join(f"<li>{escape(entry)}</li>" for entry in entries)
    return f"<ul>{items}</ul>" if items else ""


def render_html_seal(state: str, heading: str) -> str:
    """Return the seal of an audit in HTML, in its colour.

    Examples
    --------
    >>> render_html_seal("green", "k = 5 holds").removeprefix("<p style=")
    '"border-left: 6px solid #1d7a4c; padding-left: 8px">k = 5 holds</p>'
    """
    border = f"border-left: 6px solid {COLOURS[state]}; padding-left: 8px"
    return f'<p style="{border}">{escape(heading)}</p>'


def render_html_section(title: str, *parts: str) -> str:
    """Return parts that are HTML under a title that is plain text.

    They are in a box with its own scroll bar, so that they never widen a notebook.
    """
    return f"<div {BOX}><strong>{escape(title)}</strong>{''.join(parts)}</div>"


def render_html_details(title: str, *parts: str) -> str:
    """Return parts that are HTML, shown after a click on the title."""
    return f"<details><summary>{escape(title)}</summary>{''.join(parts)}</details>"


class HtmlFields:
    """An object that a notebook shows as a table of the fields of its repr."""

    def _repr_html_(self) -> str:
        names = (f.name for f in fields(self) if f.repr)  # type: ignore[arg-type]
        entries = [(name, getattr(self, name)) for name in names]
        return render_html_section(
            type(self).__name__, render_html_table(("", "value"), entries)
        )


def render_text_table(
    header: Sequence[str],
    rows: Rows,
    *,
    right: Collection[int] = (),
    width: int | None = None,
    keys: int = 1,
) -> str:
    """Return a table in plain text, columns aligned.

    Columns whose positions are in `right` are aligned to the right.  If the table is
    wider than `width`, text continues in further lines, broken between words.  Columns
    that still do not fit follow below, after a repeat of the first `keys` columns.  No
    word and no number is cut.

    Examples
    --------
    >>> print(render_text_table(["name", "gap"], [["age", None]]))
    name  gap
    age   none
    >>> header, row = ["k", "loss", "risk"], [5, 12.5, 0.25]
    >>> print(render_text_table(header, [row], right=[1, 2], width=9))
    k  loss
    5  12.5
    <BLANKLINE>
    k  risk
    5  0.25
    """
    cells = [[_render_cell(entry) for entry in row] for row in (header, *rows)]
    columns = list(zip(*cells, strict=True))
    wide = [
        max(_find_longest(cell.splitlines()) for cell in column) for column in columns
    ]
    if width is not None:
        wide = _reduce_columns(columns, wide, right, width)
    panels = (
        [range(len(wide))] if width is None else _split_into_panels(wide, keys, width)
    )
    return "\n\n".join(_list_panel_lines(cells, panel, wide, right) for panel in panels)


GAP = "  "  # between columns
JOINED = "\N{NO-BREAK SPACE}%"  # at which no line is broken
NARROWEST = 16  # characters of a column of text, below which columns go below others


def _find_longest(texts: Iterable[str]) -> int:
    return max(map(len, texts), default=0)


def _reduce_columns(
    columns: Sequence[Sequence[str]],
    wide: list[int],
    right: Collection[int],
    width: int,
) -> list[int]:
    """Return the widths of columns, with text columns narrowed as needed."""
    narrow = list(wide)
    for j in sorted(set(range(len(wide))) - set(right), key=lambda j: -wide[j]):
        excess = sum(narrow) + len(GAP) * (len(narrow) - 1) - width
        if excess > 0:
            words = _find_longest(word for cell in columns[j] for word in cell.split())
            minimum = min(narrow[j], max(words, NARROWEST))
            narrow[j] = max(minimum, narrow[j] - excess)
    return narrow


def _split_into_panels(
    wide: Sequence[int], keys: int, width: int
) -> list[Sequence[int]]:
    """Return the columns of each panel: the first `keys`, and others that fit."""
    first = list(range(keys))
    taken = sum(wide[j] + len(GAP) for j in first)
    panels = [list(first)]
    room = width - taken
    for j in range(keys, len(wide)):
        if wide[j] > room and len(panels[-1]) > keys:
            panels.append(list(first))
            room = width - taken
        panels[-1].append(j)
        room -= wide[j] + len(GAP)
    return list(panels)


def _list_panel_lines(
    cells: Sequence[Sequence[str]],
    columns: Sequence[int],
    wide: Sequence[int],
    right: Collection[int],
) -> str:
    """Return the lines of some columns side by side."""
    lines = []
    for row in cells:
        parts = [_wrap_line(row[j], wide[j]) for j in columns]
        for line in zip_longest(*parts, fillvalue=""):
            padded = (
                part.rjust(wide[j]) if j in right else part.ljust(wide[j])
                for j, part in zip(columns, line, strict=True)
            )
            lines.append(GAP.join(padded).rstrip())
    return "\n".join(lines)


def wrap_lines(text: str, width: int) -> str:
    """Return text in lines of at most `width` characters, broken between words.

    Lines that follow begin as the first one does, with its spaces.  A number and its
    percent sign are in one line.

    Examples
    --------
    >>> print(wrap_lines("  one two three", 10))
      one two
      three
    >>> print(wrap_lines("at most 20 % of it", 10))
    at most
    20 % of it
    """
    return "\n".join(_wrap_line(text, width))


def _wrap_line(text: str, width: int) -> list[str]:
    """Return the lines of a text, each line longer than `width` broken at words."""
    folded: list[str] = []
    for line in text.split("\n"):
        indent = line[: len(line) - len(line.lstrip(" "))]
        folded += (
            [line]
            if len(line) <= width
            else wrap(
                line.replace(" %", JOINED),
                width,
                subsequent_indent=indent,
                expand_tabs=False,
                replace_whitespace=False,
                break_long_words=False,
                break_on_hyphens=False,
            )
        )
    return [line.replace(JOINED, " %") for line in folded]


def _render_row(kind: str, entries: Sequence[Any]) -> str:
    end = kind.split()[0]
    cells = (f"<{kind}>{escape(_render_cell(entry))}</{end}>" for entry in entries)
    return f"<tr>{''.join(cells)}</tr>"


def _render_cell(entry: Any) -> str:
    if entry is None:
        return "none"
    return f"{entry:.6g}" if isinstance(entry, float) else str(entry)


def truncate_names(names: str, max_length: int = 40) -> str:
    """Return names shortened to `max_length` characters: the first names, and "…".

    >>> truncate_names("groups of age, height, income, weight, region", 20)
    'groups of age, …'
    """
    if len(names) <= max_length:
        return names
    first = names[: max_length - 1].rpartition(", ")[0]
    return f"{first}, …" if first else f"{names[: max_length - 1]}…"
