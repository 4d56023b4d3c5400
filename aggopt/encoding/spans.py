"""Text of true statements about numbers: a value, a range, an interval, or nothing.

"37" is the value of all records of a group.  "[20, 30]" is a range, from its least to
its greatest value.  "[20, 30)" is an interval between cut points without the upper one,
which only the last interval includes.  "*" is a suppressed value.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from aggopt.core.types import F64, I64, Bool
from aggopt.encoding.domain import ANYTHING
from aggopt.encoding.generalisation_rule import (
    INTERVAL,
    SUPPRESS,
    GeneralisationRule,
    read_cuts,
    require_enclosed,
)
from aggopt.encoding.typed_column import NAME, WORDS, TypedColumn
from aggopt.errors import TableError

_SPAN = re.compile(r"\[([^,\[\]()]+), ([^,\[\]()]+)([\])])")


@dataclass(frozen=True, eq=False)
class NumberSpans:
    """Statements about the values of one number.

    Attributes
    ----------
    publish
        "range", "interval" or "suppress".
    lowest, highest, mean
        Of the originals: a suppressed value counts as their mean in measures.
    cuts : (c,)
        Cut points of intervals; empty for the others.
    """

    publish: str
    lowest: float
    highest: float
    mean: float
    cuts: F64 = field(repr=False)

    @classmethod
    def of(cls, rule: GeneralisationRule, values: F64) -> "NumberSpans":
        """Return the statements about numbers (n,), nan where missing.

        Raises
        ------
        JobError
            The rule has no meaning for numbers.
        TableError
            Values are outside the cut points; the message has their number alone.
        """
        publish = rule.choose("numeric")
        cuts = read_cuts(rule.cuts) if publish == INTERVAL else np.empty(0)
        present = values[~np.isnan(values)]
        if publish == INTERVAL:
            require_enclosed(present, cuts)
        if not len(present):
            return cls(publish, 0.0, 0.0, 0.0, cuts)
        ends = float(present.min()), float(present.max())
        return cls(publish, *ends, float(present.mean()), cuts)

    def widen(self, lowest: F64, highest: F64) -> tuple[F64, F64]:
        """Return the published ends of groups (g,); infinite if suppressed."""
        if self.publish == SUPPRESS:
            differs = lowest < highest
            return np.where(differs, -np.inf, lowest), np.where(differs, np.inf, lowest)
        if self.publish == INTERVAL:
            low, high = (self._find_cells(x) for x in (lowest, highest))
            single = lowest == highest
            return (
                np.where(single, lowest, self.cuts[low]),
                np.where(single, lowest, self.cuts[high + 1]),
            )
        return lowest, highest

    def _find_cells(self, values: F64) -> I64:
        """Return the cell of each value, from 0: the last includes both cut points."""
        place = np.searchsorted(self.cuts, values, "right")
        return np.clip(place, 1, len(self.cuts) - 1) - 1

    def write(self, lowest: F64, highest: F64) -> list[str]:
        """Return the text of what groups publish, from their least to greatest (g,)."""
        ends = zip(*(x.tolist() for x in self.widen(lowest, highest)), strict=True)
        return [self._write(low, high) for low, high in ends]

    def _write(self, low: float, high: float) -> str:
        """Return the text of one published statement."""
        if low == high:
            return spell_number(low)
        if low == -np.inf:
            return ANYTHING
        is_open = self.publish == INTERVAL and high < self.cuts[-1]
        return f"[{spell_number(low)}, {spell_number(high)}{')' if is_open else ']'}"

    def compute_middles(self, lowest: F64, highest: F64) -> F64:
        """Return the number that measures take for published ends (g,)."""
        suppressed = np.isinf(lowest)
        low, high = (np.where(suppressed, self.mean, x) for x in (lowest, highest))
        return np.where(low == high, low, low / 2 + high / 2)

    def compute_losses(self, lowest: F64, highest: F64) -> F64:
        """Return the loss of published ends (g,), 0 to 1, without the weight."""
        low, high = self.lowest, self.highest
        if self.publish == INTERVAL:
            low, high = float(self.cuts[0]), float(self.cuts[-1])
        half = high / 2 - low / 2
        width = np.where(np.isinf(lowest), np.inf, highest / 2 - lowest / 2)
        if half <= 0:
            return np.asarray(width > 0, np.float64)
        return np.asarray(np.minimum(width / half, 1.0))


def spell_number(value: float) -> str:
    """Return a number as text with as few digits as tell it apart.

    >>> spell_number(20.0), spell_number(0.1), spell_number(-2.5)
    ('20', '0.1', '-2.5')
    """
    text = f"{value + 0.0:.15g}"
    return text if float(text) == value else repr(value + 0.0)


def read_spans(texts: Sequence[str | None]) -> tuple[F64, F64]:
    """Return the ends of published texts (n,): nan if missing, infinite of "*".

    Raises
    ------
    TableError
        Some are no such statement; the message has their number alone.

    Examples
    --------
    >>> read_spans(["37", "[20, 30]", "[-2.5, 0)"])
    (array([37. , 20. , -2.5]), array([37., 30.,  0.]))
    """
    ends = [(np.nan, np.nan) if text is None else _read_span(text) for text in texts]
    wrong = sum(end is None for end in ends)
    if wrong:
        raise TableError(
            f"{wrong} of {len(ends)} different entries are no published statement "
            "about numbers.",
            fix='publish a value, "[20, 30]", "[20, 30)" or "*" in each record.',
        )
    pairs = np.array(ends, np.float64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


def _read_span(text: str) -> tuple[float, float] | None:
    """Return the ends of one published statement; None if the text is none."""
    if text == ANYTHING:
        return -np.inf, np.inf
    match = _SPAN.fullmatch(text)
    try:
        low = float(match[1] if match else text)
        high = float(match[2] if match else text)
    except ValueError:
        return None
    is_valid = np.isfinite(low) and np.isfinite(high) and low <= high
    return (low, high) if is_valid else None


def is_statement_column(column: nw.Series[Any]) -> bool:
    """Whether a column of a number has text, as published statements are."""
    return column.dtype in WORDS or column.dtype == nw.Object


def read_span_column(column: nw.Series[Any]) -> tuple[F64, F64]:
    """Return the ends of a column's published statements (n,), nan where missing.

    Raises
    ------
    TableError
        Some entries are no statements; the message has their number alone.
    """
    if not is_statement_column(column):
        values = np.asarray(column.to_numpy()).astype(np.float64)
        return values, values
    codes, distinct = pd.factorize(TypedColumn(column, NAME).entries)
    lowest, highest = read_spans([*map(str, distinct), None])
    return lowest[codes], highest[codes]  # missing has the code -1


def mark_wide(lowest: F64, highest: F64) -> Bool:
    """Whether published ends (n,) hold more than one value."""
    return np.asarray(lowest < highest)


def compute_span_losses(
    spans: NumberSpans, values: F64, lowest: F64, highest: F64
) -> F64:
    """Return the loss of the statement that is published for each record (n,), 0 to 1.

    A statement that is not true of the value of its record loses all: 1.
    """
    is_true = (lowest <= values) & (values <= highest)
    return np.where(is_true, spans.compute_losses(lowest, highest), 1.0)
