"""A column of a table, and its type in memory."""

from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from datetime import date, time, timedelta
from decimal import Decimal
from functools import cached_property
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt
import pandas as pd

from aggopt.core.columns import iter_columns, list_plain_entries
from aggopt.core.memory import require_memory
from aggopt.core.plural import plural
from aggopt.core.standardise import Scale
from aggopt.core.types import F64, I64, Bool
from aggopt.core.validation import check_vector, is_number
from aggopt.encoding.clock import ONE_TYPE, Clock, Moments
from aggopt.encoding.iso_text import parse_text_dates, require_dates
from aggopt.errors import TableError


@dataclass(frozen=True, eq=False)
class NumericColumn:
    """Numbers, and the distance between them.

    Attributes
    ----------
    values : (n,)
        In their own units; dates in units of their clock, from the first date on.
    by_range
        Whether distances are |x - x'| / range; otherwise distances of z-scores.
    clock
        Unit and origin of dates, times of day and durations; None for numbers.
    weights : (n,)
        Sampling weights of the records; None if absent or all equal.
    range
        Least and greatest value of the table that these records are some of; None if
        they are all of it.
    """

    values: F64 = field(repr=False)
    by_range: bool = False
    clock: Clock | None = None
    weights: F64 | None = field(default=None, repr=False)
    range: tuple[float, float] | None = field(default=None, repr=False)

    @cached_property
    def ends(self) -> tuple[float, float]:
        """Least and greatest value of the table; nan without any."""
        if self.range is not None:
            return self.range
        return float(np.fmin.reduce(self.values)), float(np.fmax.reduce(self.values))

    def rows(self, records: npt.NDArray[Any]) -> "NumericColumn":
        """Return the column of these records alone, without weights."""
        values = self.values[records]
        return replace(self, values=values, weights=None, range=self.ends)

    @cached_property
    def scale(self) -> Scale:
        """Mean and standard deviation, weighted where records have weights."""
        return Scale.of(self.values[:, None], self.weights)

    @property
    def constant(self) -> bool:
        """Whether all values are equal."""
        return bool(self.scale.constant[0])

    def points(self, values: F64) -> F64:
        """Return coordinates (len(values), q) of values on the scale of this column.

        Their squared distances are the distances; a column that is constant has none.
        By range the values are a path, whose edges are the gaps between them.
        """
        if self.constant:
            return np.empty((len(values), 0))
        if not self.by_range:
            return self.scale.standardise(values[:, None])
        distinct = np.unique(values)
        n = len(values)
        p = len(distinct) - 1
        require_memory(16 * n * p, f"{p} coordinates of {n} records")
        half_range = self.values.max() / 2 - self.values.min() / 2
        lengths = (distinct[1:] / 2 - distinct[:-1] / 2) / half_range
        return np.where(values[:, None] > distinct[:-1], np.sqrt(lengths), 0.0)


NUMBER = "number"
MOMENT = "date"
WORDS = (nw.String, nw.Categorical, nw.Enum)  # types of columns of text
NAME = "name"
RANKED = "ordered"
DEFAULT = {NUMBER: "numeric", MOMENT: "numeric", NAME: "nominal", RANKED: "ordinal"}
_PYTHON = (  # types of entries without a column type
    (NAME, lambda v: isinstance(v, str)),
    (NAME, lambda v: isinstance(v, bool | np.bool_)),
    (NUMBER, lambda v: is_number(v) or isinstance(v, Decimal)),
    (MOMENT, lambda v: type(v) is date),
    (MOMENT, lambda v: isinstance(v, date) and type(v) is not date),
    (MOMENT, lambda v: isinstance(v, time)),
    (MOMENT, lambda v: isinstance(v, timedelta)),
)


@dataclass(frozen=True, eq=False)
class TypedColumn:
    """A column with at least one value, none of them nested.

    Attributes
    ----------
    what
        "number", "date", "name" (text, truth values, categories) or "ordered"
        (categories in an order).
    format
        How text spells its dates; None as ISO 8601 does.
    """

    series: nw.Series[Any] = field(repr=False)
    what: str
    format: str | None = None

    @classmethod
    def of(
        cls, series: nw.Series[Any], kind: str | None = None, format: str | None = None
    ) -> "TypedColumn":
        """Return a column with its type; text of the `kind` "date" as dates.

        Raises
        ------
        TableError
            All of it is missing, or its values are of several types or of one that
            cannot be compared; or text of the kind "date" spells no dates.
        JobError
            The kind is "date", and the values are none.
        """
        series = parse_text_dates(series, format) if kind == "date" else series
        column = cls(series, _infer_kind(series))
        if column.absent.all():
            raise TableError(
                f"All {len(series)} values are missing.", fix="leave the column out."
            )
        what = column.what or _infer_kind_by_entries(column.entries[~column.absent])
        require_dates(what, kind)
        return cls(series, what, format)

    @cached_property
    def entries(self) -> npt.NDArray[Any]:
        """The values (n,); None or NaN for missing ones."""
        return next(iter_columns(self.series.to_native(), "The column"))[1]

    @cached_property
    def absent(self) -> Bool:
        """Whether each value is missing, (n,)."""
        return np.asarray(pd.isna(self.entries))

    @cached_property
    def coded(self) -> tuple[I64, list[Hashable]]:
        """Code of each value (n,), -1 where missing, and the distinct values."""
        codes, distinct = pd.factorize(self.entries)
        return codes.astype(np.int64), list_plain_entries(np.asarray(distinct))

    @property
    def categories(self) -> list[Hashable] | None:
        """Levels in their order, with or without records; None if unordered."""
        if self.what != RANKED:
            return None
        if isinstance(self.series.dtype, nw.Enum):
            return list(self.series.cat.get_categories().to_list())
        return list(_get_dictionary(self.series).to_pylist())

    @property
    def whole(self) -> bool:
        """Whether the values are whole numbers."""
        return bool(self.series.dtype.is_integer())

    def numeric(self, *, by_range: bool = False) -> NumericColumn:
        """Return the values as numbers; dates count from the first, in whole units.

        Raises
        ------
        TableError
            Some are missing or infinite, or have more digits than a float.
        """
        if self.what != MOMENT:
            return NumericColumn(
                check_vector(self.entries, name="The column"), by_range
            )
        moments = Moments.of(self.series)
        clock = Clock.of(moments, self.format)
        counted = check_vector(clock.numbers(moments), name="The column")
        return NumericColumn(counted, by_range, clock)

    def on(self, scale: NumericColumn) -> F64:
        """Return the values (n,) as numbers that count from where others do.

        Raises
        ------
        TableError
            They are numbers and the others dates, or dates that cannot be counted as
            these are; or as in `numeric`.
        """
        clock = scale.clock
        if (clock is None) == (self.what == MOMENT):
            nouns = {True: "numbers", False: "dates or times"}
            raise TableError(
                f"The values are {nouns[clock is not None]}, and in the original "
                f"{nouns[clock is None]}.",
                fix=ONE_TYPE,
            )
        if clock is None:
            return self.numeric().values
        moments = Moments.of(self.series, clock.type)
        return check_vector(clock.numbers(moments), name="The column")


def _infer_kind(series: nw.Series[Any]) -> str:
    """Return the kind from the type of a column; "" if only the entries show it."""
    kind = series.dtype
    if isinstance(kind, nw.Enum):
        return RANKED
    if isinstance(kind, nw.Categorical):
        arrow = series.implementation.is_pyarrow()
        return RANKED if arrow and series.to_native().type.ordered else NAME
    if kind in (nw.Boolean, nw.String):
        return NAME
    if kind.is_numeric():
        return NUMBER
    return MOMENT if kind.is_temporal() else ""


def _get_dictionary(series: nw.Series[Any]) -> Any:
    """Return the dictionary of an Arrow column, or refuse one whose chunks differ."""
    first, *others = (chunk.dictionary for chunk in series.to_native().chunks)
    if not all(other.equals(first) for other in others):
        raise TableError(
            "The chunks of an ordered column have different dictionaries, and so no "
            "order together.",
            fix='name the levels: order = ["low", "middle", "high"].',
        )
    return first


def _infer_kind_by_entries(entries: npt.NDArray[Any]) -> str:
    for kind, belongs in _PYTHON:
        if all(map(belongs, entries)):
            return kind
    kinds = len({type(entry) for entry in entries})
    raise TableError(
        "The values are of several types, or of one that cannot be compared: "
        f"{plural(kinds, 'type')} among {plural(len(entries), 'value')}.",
        fix="make them all numbers, all text, all truth values or all dates first.",
    )
