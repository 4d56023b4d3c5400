"""Entries of a confidential attribute as the numbers or the text that they spell.

A table in memory and its file give equal results.  Values that a file writes as one
text are one value.  Values that a file keeps apart are refused rather than read as one.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from math import copysign, isfinite, isnan
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from aggopt.core.plural import is_or_are
from aggopt.data.parsing.parse_text import MISSING
from aggopt.data.restore_types import to_plain_column
from aggopt.errors import JobError, TableError

_WHOLE = re.compile(r"[+-]?\d{1,1000}")
_NUMBER = r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?"
_DOUBTFUL = frozenset(
    (
        *("-", "--", "---", "?", "??", "???", "*", "..", "...", "na", "n.a.", "n.a"),
        *("nan", "nil", "null", "missing", "unknown", "not known", "unspecified"),
        *("not available", "not applicable", "not specified", "#value!", "#div/0!"),
        *("inf", "+inf", "-inf", "infinity", "+infinity", "-infinity"),
    )
)
Entry = Callable[[Any], Any]
Entries = np.ndarray[Any, np.dtype[np.object_]]


def list_entries(column: nw.Series[Any]) -> Entries:
    """Return the entries (n,) of a column unchanged; whole numbers are not rounded.

    Raises
    ------
    TableError
        They are of a type, or of several, that no file can hold.
    """
    entries = np.empty(len(column), dtype=object)
    try:
        arrow = to_plain_column(column.to_arrow())
        if pa.types.is_temporal(arrow.type):
            entries[:] = [
                None if v is None else Moment(v) for v in _count_moments(arrow)
            ]
        else:
            entries[:] = [_mark_negative_zero(v) for v in column.to_list()]
        return entries
    except MemoryError:
        raise
    except Exception:  # of four libraries, and each message may quote an entry
        pass
    raise TableError(
        "The values are of a type, or of several, that no file can hold.",
        fix="make them plain numbers or text first.",
    )


@dataclass(frozen=True, eq=False)
class Values:
    """The values of a column's entries.

    Attributes
    ----------
    distinct : (m,)
        The distinct values; None for missing ones.
    which : (n,)
        Index of each record's value among them.
    """

    distinct: Entries = field(repr=False)
    which: npt.NDArray[np.intp] = field(repr=False)

    @classmethod
    def of(cls, column: nw.Series[Any], entry: Entry) -> "Values":
        """Return the values of a column.

        It raises as `list_entries` and `require_apart`.
        """
        which, distinct_entries = pd.factorize(
            list_entries(column), use_na_sentinel=False
        )
        distinct = np.empty(len(distinct_entries), dtype=object)
        distinct[:] = [entry(value) for value in distinct_entries]
        require_apart(distinct)
        return cls(distinct, which)

    @property
    def all(self) -> Entries:
        """The value of each record, (n,)."""
        return np.asarray(self.distinct[self.which])

    def count(self, test: Callable[[Any], bool]) -> int:
        """Return how many records have a value that passes a test."""
        passes = np.array([test(value) for value in self.distinct], dtype=bool)
        return int(passes[self.which].sum())


class Moment(int):
    """A date or a time in its own small units: one of Python's may be rounded."""


def make_entry_reader(decimal: str) -> Entry:
    """Return the function that reads an entry as the number that it spells, or as text.

    Missing entries, or text that represents them in a CSV file, become None.  An
    infinite number becomes its text in a file.
    """
    number = re.compile(_NUMBER.replace(r"\.", re.escape(decimal)))

    def entry(value: Any) -> Any:
        if not isinstance(value, str):
            return _to_python(value)
        text = value.strip()
        if text in MISSING:
            return None
        if _WHOLE.fullmatch(text):
            return int(text)
        if number.fullmatch(text):
            return _replace_infinite(float(text.replace(decimal, ".")))
        return text

    return entry


def read_tree(tree: Any, entry: Entry) -> Any:
    """Return a tree with its names read as entries are.

    Raises
    ------
    JobError
        It names one value twice, in two spellings.
    """
    if isinstance(tree, Mapping):
        below = {entry(name): read_tree(part, entry) for name, part in tree.items()}
        if len(below) < len(tree):
            raise JobError(
                "The tree names one value twice, in two spellings.",
                fix="name it once.",
            )
        return below
    if isinstance(tree, list | tuple):
        return [entry(value) for value in tree]
    return entry(tree)


def require_apart(distinct: Iterable[Any]) -> None:
    """Refuse entries that differ and are read as one: the release has them apart."""
    present = [value for value in distinct if value is not None]
    merged = len(present) - len(set(present))
    if merged:
        raise TableError(
            f"{merged} of {len(present)} different entries {is_or_are(merged)} read as "
            "a value that another one has, too.",
            fix="spell each value in one way (no 1 beside 01 or 1.0, no blanks around "
            "text), or shorten numbers of more digits than a float has.",
        )


def is_date(value: object) -> bool:
    """Whether a value is a date, a time or a span of time."""
    return isinstance(value, Moment)


def is_doubtful(value: object) -> bool:
    """Whether a value is text that often represents missing values.

    It still counts as a value of its own.  "none", which may be an answer, is not
    included.
    """
    return isinstance(value, str) and value.lower() in _DOUBTFUL


def _count_moments(moments: Any) -> list[int | None]:
    narrow = pa.types.is_date32(moments.type) or pa.types.is_time32(moments.type)
    counts: list[int | None] = moments.cast(
        pa.int32() if narrow else pa.int64()
    ).to_pylist()
    return counts


def _mark_negative_zero(value: Any) -> Any:
    """Return the text "-0" for minus zero, and any other value unchanged."""
    negative = isinstance(value, float) and value == 0 and copysign(1, value) < 0
    return "-0" if negative else value


def _to_python(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, float):
        return None if isnan(value) else _replace_infinite(value)
    if isinstance(value, Decimal) and not value.is_nan():
        is_whole = value.is_finite() and value == value.to_integral_value()
        return int(value) if is_whole else _replace_infinite(float(value))
    if isinstance(value, int) or not pd.api.types.is_scalar(value):
        return value
    return None if pd.isna(value) else value


def _replace_infinite(number: float) -> float | str:
    return number if isfinite(number) else str(number)
