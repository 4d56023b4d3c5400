"""Types and numbers that files of other programs do not have."""

from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from refusals import refused

from aggopt.data.formats.registry import FORMATS
from aggopt.errors import TableError
from aggopt.job import Input
from aggopt.release.files.type_support import (
    require_supported_table,
    require_unchanged_types,
)

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
    require_supported_table(pa.table(HELD), FORMATS[".sav"])
    spans = pa.table({"span": pa.array([1], pa.duration("s"))})
    require_supported_table(spans, FORMATS[".xlsx"])


def test_other_types_are_named_with_their_columns() -> None:
    other = {
        "span": pa.array([1, 2], pa.duration("s")),
        "here": pa.array([1, 2], pa.timestamp("us", "UTC")),
        "price": [Decimal("1.5"), None],
    }
    with refused(TableError, "'span'", "[s]", "'here'"):
        require_supported_table(pa.table({**HELD, **other}), FORMATS[".dta"])


def test_numbers_that_would_be_rounded_or_are_infinite_are_refused() -> None:
    large = {
        "a": [WHOLE + 1, 0],
        "b": [0, -WHOLE - 1],
        "c": [0.0, float("inf")],
        "d": [float("-inf"), None],
    }
    with refused(TableError, "'a'", "'b'", "'c'"):
        require_supported_table(pa.table({**HELD, **large}), FORMATS[".xpt"])


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "people.parquet"
    columns = {
        **HELD,
        "code": pa.array(["a", "b"]).dictionary_encode(),
        "span": pa.array([1, 2], pa.duration("s")),
        "here": pa.array([1, 2], pa.timestamp("us", "UTC")),
        "parts": [[1], [2]],
    }
    pyarrow.parquet.write_table(pa.table(columns), path)
    return path


@pytest.mark.parametrize(
    ("name", "ending", "says"),
    [
        ("span", ".sav", "types that a .sav file does not have: 'span' (duration[s])"),
        ("span", ".xlsx", None),
        ("here", ".xlsx", "does not have: 'here' (timestamp[us, tz=UTC])"),
        ("here", ".csv", None),
        ("here", ".parquet", None),
        ("parts", ".csv", "Columns that no file can hold: 'parts'."),
        ("code", ".dta", None),
        ("lost", ".dta", None),
    ],
)
def test_what_a_parquet_file_publishes_as_it_is_may_be_refused_early(
    table, name, ending, says
) -> None:
    to, names = table.with_name(f"masked{ending}"), [*HELD, name]
    if says is None:
        require_unchanged_types(to, table, names, Input())
        return
    with refused(TableError):
        require_unchanged_types(to, table, names, Input())


def test_of_other_files_and_broken_ones_nothing_is_said_early(tmp_path) -> None:
    broken = tmp_path / "people.parquet"
    require_unchanged_types(Path("masked.sav"), broken, ["age"], Input())
    broken.write_text("no table")
    require_unchanged_types(Path("masked.sav"), broken, ["age"], Input())
    csv = broken.rename(tmp_path / "people.csv")
    require_unchanged_types(Path("masked.sav"), csv, ["age"], Input())
    csv.write_text('age\n"1')
    require_unchanged_types(Path("masked.sav"), csv, ["age"], Input())


def test_columns_are_looked_at_of_files_that_are_called_parquet(tmp_path) -> None:
    table, to = tmp_path / "people.parquet", Path("masked.sav")
    first = pa.table({"span": pa.array([1], pa.duration("s")), "age": [1.0]})
    pyarrow.parquet.write_table(first, table)
    with refused(TableError, "'span'"):
        require_unchanged_types(to, table, ["span"], Input())
    require_unchanged_types(to, table, ["age"], Input())
    require_unchanged_types(
        to, table.rename(tmp_path / "people.csv"), ["span"], Input()
    )


LONG = 32767


@pytest.mark.parametrize(
    ("ending", "most"),
    [
        (".sav", "é" * (LONG // 2) + "a"),
        (".zsav", "a" * LONG),
        (".xpt", "a" * LONG),
        (".xlsx", "é" * LONG),
    ],
)
def test_text_that_is_too_long_is_refused_and_counted(ending, most) -> None:
    fits = pa.table({"a": [most, None], "b": ["", "x"], "n": [1, 2]})
    require_supported_table(fits, FORMATS[ending])
    longer = pa.array([f"{most}a", None, f"{most}b"], pa.large_string())
    table = pa.table({"a": longer, "b": [most, f"{most}c", ""]})
    with refused(TableError, "32767", "'a'", "'b'"):
        require_supported_table(table, FORMATS[ending])


def test_stata_has_room_for_any_text() -> None:
    require_supported_table(pa.table({"a": ["a" * (LONG + 1)]}), FORMATS[".dta"])


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_entries_that_the_other_kind_does_not_hold_are_refused_early(kind, tmp_path):
    long = pa.table({"age": [1], "note": ["a" * (LONG + 1)], "id": [2**53 + 1]})
    path = tmp_path / f"people.{kind}"
    if kind == "csv":
        path.write_text(f"age;note\n1;{'a' * (LONG + 1)}\n")
    else:
        pyarrow.parquet.write_table(long, path)
    how = Input(separator=";")
    with refused(TableError, "32767"):
        require_unchanged_types(Path("masked.sav"), path, ["note"], how)
    require_unchanged_types(Path("masked.sav"), path, ["age"], how)
    require_unchanged_types(Path("masked.csv"), path, ["age", "note"], how)
    if kind == "parquet":
        with refused(TableError):
            require_unchanged_types(Path("masked.sav"), path, ["id"], how)


def test_only_the_columns_that_are_published_count(tmp_path) -> None:
    table = tmp_path / "people.parquet"
    pyarrow.parquet.write_table(pa.table({"age": [1], "id": [2**53 + 1]}), table)
    require_unchanged_types(Path("masked.sav"), table, ["age", "lost"], Input())
    with refused(TableError, "'id'"):
        require_unchanged_types(Path("masked.sav"), table, ["age", "id"], Input())
