"""Types and numbers that files of other programs do not have."""

from decimal import Decimal

import pyarrow as pa
import pytest

from aggopt.errors import TableError
from aggopt.output.held_types import TYPES, require_held

WHOLE = 2**53
HELD = {
    "truth": [True, None],
    "whole": [WHOLE, -WHOLE],
    "small": pa.array([1, None], pa.uint8()),
    "float": [0.5, None],
    "single": pa.array([0.5, float("nan")], pa.float32()),
    "text": ["a", None],
    "large": pa.array(["a", "b"], pa.large_string()),
    "nothing": pa.nulls(2),
    "none": pa.nulls(2, pa.int64()),
    "day": pa.array([0, 1], pa.date32()),
    "time": pa.array([0, 1], pa.time64("us")),
    "moment": pa.array([0, 1], pa.timestamp("ns")),
}


def test_what_such_files_hold_passes() -> None:
    require_held(pa.table(HELD), ".sav")
    spans = pa.table({"span": pa.array([1], pa.duration("s"))})
    require_held(spans, ".xlsx", (*TYPES, pa.types.is_duration))


def test_other_types_are_named_with_their_columns() -> None:
    other = {
        "span": pa.array([1, 2], pa.duration("s")),
        "here": pa.array([1, 2], pa.timestamp("us", "UTC")),
        "price": [Decimal("1.5"), None],
    }
    with pytest.raises(TableError) as refused:
        require_held(pa.table({**HELD, **other}), ".dta")
    assert str(refused.value) == (
        "Columns of types that a .dta file does not have: 'span' (duration[s]), 'here' "
        "(timestamp[us, tz=UTC]), 'price' (decimal128(2, 1)).\nTo fix: make them "
        "numbers, text, or dates without a time zone, before masking; or write a "
        ".parquet file."
    )


def test_numbers_that_would_be_rounded_or_are_infinite_are_refused() -> None:
    large = {
        "a": [WHOLE + 1, 0],
        "b": [0, -WHOLE - 1],
        "c": [0.0, float("inf")],
        "d": [float("-inf"), None],
    }
    with pytest.raises(TableError) as refused:
        require_held(pa.table({**HELD, **large}), ".xpt")
    assert str(refused.value) == (
        "Columns of numbers with more digits than a .xpt file has, or infinite: 'a', "
        "'b', 'c', 'd'.\nTo fix: make them text before masking; or write a .parquet or "
        "a .csv file."
    )
