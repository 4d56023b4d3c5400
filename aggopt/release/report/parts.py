"""What pages are made of: tables, and charts with the table behind them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

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
