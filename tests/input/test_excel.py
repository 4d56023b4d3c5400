"""Reading Excel files: one sheet, one type a column, nothing worked out."""

import datetime as dt

import openpyxl
import pyarrow as pa
import pytest

from aggopt.errors import TableError
from aggopt.input.files import as_written
from aggopt.job import Input

SECRET = "Ms Secret"


def sheet(folder, *rows, spoilt=None):
    """Return the table of a workbook with these rows on one sheet."""
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    if spoilt:
        spoilt(book)
    book.save(folder / "t.xlsx")
    return as_written(folder / "t.xlsx", Input())


def column(folder, *entries):
    """Return a column of these entries, beside one that has all."""
    table = sheet(folder, ["x", "all"], *([entry, 1] for entry in entries))
    return table["x"]


MOMENT = dt.datetime(2020, 2, 29, 12, 30, 15)
DAY = dt.datetime(2020, 2, 29)
TYPES = [
    ([1, 2.0, None], pa.int64(), [1, 2, None]),
    ([1, 0.25], pa.float64(), [1.0, 0.25]),
    ([True, None, False], pa.bool_(), [True, None, False]),
    (["007", "", None, "NA"], pa.string(), ["007", None, None, "NA"]),
    ([DAY, None], pa.date32(), [DAY.date(), None]),
    ([DAY, MOMENT], pa.timestamp("us"), [DAY, MOMENT]),
    ([dt.time(23, 59), None], pa.time64("us"), [dt.time(23, 59), None]),
    ([dt.timedelta(days=2)], pa.duration("us"), [dt.timedelta(days=2)]),
    ([None, None], pa.float64(), [None, None]),
    ([5, "NA", " . ", "#N/A"], pa.int64(), [5, None, None, None]),
    ([DAY, "NA"], pa.date32(), [DAY.date(), None]),
    (["a", "#N/A"], pa.string(), ["a", None]),
]


@pytest.mark.smoke
@pytest.mark.parametrize(("entries", "kind", "expected"), TYPES)
def test_a_column_has_the_type_of_its_entries(
    tmp_path, entries, kind, expected
) -> None:
    found = column(tmp_path, *entries)
    assert found.type == kind
    assert found.to_pylist() == expected


def test_text_that_looks_like_something_else_is_text(tmp_path) -> None:
    def as_text(book):
        for row, text in enumerate(["=1+1", "#DIV/0!", "1.5"], start=2):
            book.active.cell(row, 1, text).data_type = "s"

    rows = [["x", "all"], [None, 1], [None, 1], [None, 1]]
    found = sheet(tmp_path, *rows, spoilt=as_text)
    assert found["x"].to_pylist() == ["=1+1", "#DIV/0!", "1.5"]


def test_rows_and_columns_without_entries_are_none(tmp_path) -> None:
    table = sheet(
        tmp_path, ["x", "y", None], [1, "a", None], [None, "", None], [2, None, None]
    )
    assert table.to_pydict() == {"x": [1, 2], "y": ["a", None]}


def test_sheets_without_entries_do_not_count(tmp_path) -> None:
    def with_others(book):
        book.create_sheet("empty", 0)

    table = sheet(tmp_path, ["x"], [1], spoilt=with_others)
    assert table.to_pydict() == {"x": [1]}


def hidden(book):
    more = book.create_sheet("more")
    more.append([SECRET])
    more.sheet_state = "hidden"


def merged(book):
    book.active.merge_cells("A2:A3")
    book.active.merge_cells("B2:C2")


def with_entry(place, value):
    return lambda book: book.active.__setitem__(place, value)


REFUSED = [
    (hidden, "has 2 sheets with entries, hidden ones included"),
    (merged, "has 2 ranges of merged cells"),
    (with_entry("A2", "=B2"), "has 1 formula, and"),
    (with_entry("A1", "=B2"), "has 1 formula, and"),
    (with_entry("A2", "#VALUE!"), "has 1 cell with an error"),
    (with_entry("B3", SECRET), r"several types: 'y' \(1 numbers, 1 text\)"),
    (with_entry("B3", DAY), r"'y' \(1 numbers, 1 dates\)"),
    (with_entry("B3", True), r"'y' \(1 truth values, 1 numbers\)"),
    (with_entry("C2", SECRET), "A column has no name"),
    (with_entry("B1", "x"), r"more than once: see columns 1, 2\."),
]


@pytest.mark.parametrize(("spoilt", "message"), REFUSED)
def test_what_is_not_one_plain_table_is_refused(tmp_path, spoilt, message) -> None:
    with pytest.raises(TableError, match=message) as refused:
        sheet(tmp_path, ["x", "y"], [1, 2], [3, 4], spoilt=spoilt)
    assert SECRET not in str(refused.value)


def test_an_empty_workbook_is_refused(tmp_path) -> None:
    with pytest.raises(TableError, match=r"t\.xlsx is empty"):
        sheet(tmp_path)


def test_a_line_of_names_alone_has_no_records(tmp_path) -> None:
    table = sheet(tmp_path, ["x", "y"])
    assert (table.num_rows, table.column_names) == (0, ["x", "y"])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"PK\x03\x04 " + SECRET.encode(), "is not a readable xlsx file"),
        (bytes.fromhex("d0cf11e0a1b11ae1") + SECRET.encode(), "is encrypted, or of a"),
    ],
)
def test_files_that_cannot_be_read_are_refused(tmp_path, content, message) -> None:
    (tmp_path / "t.xlsx").write_bytes(content)
    with pytest.raises(TableError, match=message) as refused:
        as_written(tmp_path / "t.xlsx", Input())
    assert SECRET not in str(refused.value)
    assert refused.value.__cause__ is None
