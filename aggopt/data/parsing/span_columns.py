"""Numbers whose groups publish true statements: their rules, and columns of text."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from aggopt.core.types import Floats, Labels
from aggopt.data.parsing.columns import to_floats
from aggopt.data.restore_types import take_rows
from aggopt.encoding import AttributeType
from aggopt.encoding.clock import Clock
from aggopt.encoding.spans import NumberSpans
from aggopt.errors import JobError, naming


def find_spans(
    frame: nw.DataFrame[Any],
    names: Iterable[str],
    types: Mapping[str, AttributeType],
    clocks: Mapping[str, Clock],
) -> dict[str, NumberSpans]:
    """Return the statements that groups publish about numbers, by name.

    Raises
    ------
    JobError
        Dates are to publish a statement.
    TableError
        Values are outside the cut points; the message has their number alone.
    """
    spans = {}
    for name in names:
        declared = types.get(name, AttributeType())
        if not declared.is_truthful:
            continue
        if name in clocks:
            raise make_date_error(name, str(declared.publish))
        with naming(f"Column {name!r}", name):
            spans[name] = NumberSpans.of(declared.rule, to_floats(frame[name]))
    return spans


def make_date_error(name: str, publish: str) -> JobError:
    """Return the error of dates that are to publish a statement."""
    return JobError(
        f"[attributes.{name}] publish = {publish!r} is of numbers and names, and the "
        "column has dates or times.",
        fix="leave publish out, or make the dates numbers, as years.",
    )


def find_group_ends(x: Floats, labels: Labels) -> tuple[Floats, Floats]:
    """Return the least and the greatest value of each group (g,); nan without any."""
    size = int(labels.max()) + 1
    present = ~np.isnan(x)
    lowest = np.full(size, np.inf)
    highest = np.full(size, -np.inf)
    np.minimum.at(lowest, labels[present], x[present])
    np.maximum.at(highest, labels[present], x[present])
    empty = lowest > highest
    return np.where(empty, np.nan, lowest), np.where(empty, np.nan, highest)


def make_text_column(
    column: nw.Series[Any], texts: Sequence[str | None]
) -> nw.Series[Any]:
    """Return text (n,) as a column of this one's name, kind of table and index."""
    series = nw.new_series(
        column.name, list(texts), nw.String, backend=column.implementation
    )
    return take_rows(series, np.arange(len(texts)), like=column)
