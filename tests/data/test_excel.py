"""Reading Excel files: one sheet, one type a column, nothing worked out."""

import datetime as dt
import re
import tempfile
from zipfile import ZIP_DEFLATED, ZipFile

import openpyxl
import pyarrow as pa
import pytest
from refusals import refused

from aggopt.data.formats import excel
from aggopt.data.formats import excel as excel_file
from aggopt.data.formats.excel import write_excel
from aggopt.data.readers.read import read_as_text
from aggopt.errors import TableError
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
    return read_as_text(folder / "t.xlsx", Input())


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
    hidden,
    merged,
    with_entry("A2", "=B2"),
    with_entry("A1", "=B2"),
    with_entry("A2", "#VALUE!"),
    with_entry("B3", SECRET),
    with_entry("B3", DAY),
    with_entry("B3", True),
    with_entry("C2", SECRET),
    with_entry("B1", "x"),
]


@pytest.mark.parametrize("spoilt", REFUSED)
def test_what_is_not_one_plain_table_is_refused(tmp_path, spoilt) -> None:
    with refused(TableError) as error:
        sheet(tmp_path, ["x", "y"], [1, 2], [3, 4], spoilt=spoilt)
    assert SECRET not in str(error.value)


def test_an_empty_workbook_is_refused(tmp_path) -> None:
    with refused(TableError, "t.xlsx"):
        sheet(tmp_path)


def test_a_line_of_names_alone_has_no_records(tmp_path) -> None:
    table = sheet(tmp_path, ["x", "y"])
    assert (table.num_rows, table.column_names) == (0, ["x", "y"])


@pytest.mark.parametrize(
    "content",
    [
        b"PK\x03\x04 " + SECRET.encode(),
        bytes.fromhex("d0cf11e0a1b11ae1") + SECRET.encode(),
    ],
)
def test_files_that_cannot_be_read_are_refused(tmp_path, content) -> None:
    (tmp_path / "t.xlsx").write_bytes(content)
    with refused(TableError) as error:
        read_as_text(tmp_path / "t.xlsx", Input())
    assert SECRET not in str(error.value)
    assert error.value.__cause__ is None


SHEET = "xl/worksheets/sheet1.xml"


def changed(folder, change):
    """Return the path of a workbook whose sheet, as bytes of XML, is changed."""
    sheet(folder, ["x", "y"], [1, 2], [3, 4])
    with ZipFile(folder / "t.xlsx") as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    parts[SHEET] = change(parts[SHEET])
    core = "docProps/core.xml"  # has the time, whose digits change the size
    parts[core] = re.sub(rb"\d{4}-[\d:T-]+Z", b"2026-11-26T08:09:10Z", parts[core])
    with ZipFile(folder / "t.xlsx", "w", ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return folder / "t.xlsx"


def after(mark, text):
    """Return a change that puts text behind the last such mark."""
    return lambda xml: (mark + text).join(xml.rsplit(mark, 1))


def test_a_cell_far_from_the_others_takes_no_memory(tmp_path) -> None:
    with refused(TableError, "16383", "16384"):
        sheet(tmp_path, ["x"], [1], spoilt=with_entry("XFD1048576", 1))
    table = sheet(tmp_path, ["x", "y"], [1, 2], spoilt=with_entry("A1048576", 7))
    assert table.to_pydict() == {"x": [1, 7], "y": [2, None]}
    assert (tmp_path / "t.xlsx").stat().st_size < 10_000


def test_a_workbook_that_unpacks_to_far_more_is_not_unpacked(tmp_path) -> None:
    large = after(b"</row>", b" " * 60_000_000)
    path = changed(tmp_path, large)
    with pytest.raises(TableError) as error:
        read_as_text(path, Input())
    assert error.match(r"t\.xlsx has 6\d\.\d KiB and unpacks to 57 MiB, 9\d\d times")


def test_a_workbook_that_takes_more_memory_than_there_is_is_refused(
    tmp_path, monkeypatch
) -> None:
    path = changed(tmp_path, lambda xml: xml)
    monkeypatch.setattr(excel, "find_available_memory", lambda: 2**16)
    with refused(TableError, "64.0"):
        read_as_text(path, Input())


LINK = b'<hyperlinks><hyperlink ref="%s" location="A1"/></hyperlinks>'
MERGED = b'<mergeCells count="1"><mergeCell ref="%s"/></mergeCells>'


@pytest.mark.parametrize("ranges", [LINK, MERGED], ids=["links", "merged"])
@pytest.mark.parametrize("place", ["A1:XFD1048576", "XFD1048576:A1"])
def test_ranges_of_many_cells_are_not_unfolded(tmp_path, ranges, place) -> None:
    path = changed(tmp_path, after(b"</sheetData>", ranges % place.encode()))
    with refused(TableError, "17179869184"):
        read_as_text(path, Input())


@pytest.mark.parametrize(
    "change",
    [
        after(b"</sheetData>", MERGED % b"A1:&#88;FD1048576"),
        after(b"</sheetData>", LINK % b"A:XFD"),
        lambda xml: b"<!DOCTYPE a [<!ENTITY b 'c'>]>" + xml,
        lambda xml: xml.decode().encode("utf-16"),
    ],
    ids=["entity", "columns", "DOCTYPE", "UTF-16"],
)
def test_ranges_that_hide_make_a_workbook_unreadable(tmp_path, change) -> None:
    with refused(TableError):
        read_as_text(changed(tmp_path, change), Input())


def test_a_link_of_one_cell_is_read_over(tmp_path) -> None:
    path = changed(tmp_path, after(b"</sheetData>", LINK % b"A2"))
    assert read_as_text(path, Input()).to_pydict() == {"x": [1, 3], "y": [2, 4]}


def test_few_entries_in_many_cells_are_refused(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(excel, "SPARSE", 100)
    rows = [[None] * (j % 30) + [1] for j in range(30)]
    with refused(TableError, "30", "900"):
        sheet(tmp_path, [f"x{j}" for j in range(30)], *rows)


def test_a_whole_number_beyond_floats_is_infinite(tmp_path) -> None:
    number = b"9" * 400
    path = changed(
        tmp_path, lambda xml: xml.replace(b"<v>3</v>", b"<v>%s</v>" % number)
    )
    assert read_as_text(path, Input())["x"].to_pylist() == [1.0, float("inf")]


# --- what is in a workbook that is written, read by the library that others use


def written(folder, columns):
    """Return the rows of values, and of types of cells."""
    path = folder / "t.xlsx"
    write_excel(path, pa.table(columns))
    book = openpyxl.load_workbook(path)
    assert book.sheetnames == ["release"]
    rows = list(book.active.iter_rows())
    return (
        [tuple(cell.value for cell in row) for row in rows],
        [tuple(cell.data_type for cell in row) for row in rows],
    )


@pytest.mark.smoke
def test_entries_of_every_type_come_back(tmp_path) -> None:
    moment = dt.datetime(2020, 1, 1, 12, 30, 15)
    columns = {
        "x": [0.1 + 0.2, None, float("nan")],
        "n": pa.array([1, None, 2**53], pa.int64()),
        "b": [True, None, False],
        "s": ["007", None, "a b"],
        "d": [dt.date(2020, 2, 29), None, None],
        "t": [dt.time(23, 59, 1), None, None],
        "m": [moment, None, None],
        "l": [dt.timedelta(days=2, seconds=3), None, None],
    }
    values, _ = written(tmp_path, columns)
    assert values[0] == tuple(columns)
    assert values[1] == (
        *(0.30000000000000004, 1, True, "007", dt.datetime(2020, 2, 29)),
        *(dt.time(23, 59, 1), moment, dt.timedelta(days=2, seconds=3)),
    )
    assert values[2] == (None,) * 8
    assert values[3] == (None, 2**53, False, "a b", None, None, None, None)


def test_numbers_have_all_their_digits(tmp_path) -> None:
    numbers = [1 / 3, 1e-300, -1.7e308, 123456789.12345678, 2.0]
    values, kinds = written(tmp_path, {"x": numbers})
    assert [value for (value,) in values[1:]] == numbers
    assert {kind for (kind,) in kinds[1:]} == {"n"}


def test_text_is_no_formula_and_no_error(tmp_path) -> None:
    texts = ["=1+1", "#N/A", "#DIV/0!", "1.5", "True", "+1", "@x", " x "]
    values, kinds = written(tmp_path, {"=name": texts})
    assert [value for (value,) in values] == ["=name", *texts]
    assert {kind for (kind,) in kinds} == {"s"}


def test_the_same_table_gives_the_same_bytes_with_no_time_in_them(
    tmp_path, monkeypatch
) -> None:
    columns = {"x": [1.5], "d": [dt.date(2020, 2, 29)]}
    written(tmp_path, columns)
    first = (tmp_path / "t.xlsx").read_bytes()
    with ZipFile(tmp_path / "t.xlsx") as archive:
        assert {part.date_time[0] for part in archive.infolist()} == {1980}
        assert all(part.compress_type == 8 for part in archive.infolist())
        core = archive.read("docProps/core.xml").decode()
    assert set(re.findall(r"\d{4}-\d\d-\d\dT[\d:]+Z", core)) == {"1980-01-01T00:00:00Z"}
    assert str(dt.datetime.now().year) not in core
    written(tmp_path, columns)
    assert (tmp_path / "t.xlsx").read_bytes() == first


def test_no_record_reaches_the_temporary_folder_of_the_system(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    values, _ = written(tmp_path, {"x": ["a"]})
    assert values == [("x",), ("a",)]
    assert [path.name for path in tmp_path.iterdir()] == ["t.xlsx"]


def test_a_sheet_that_fails_leaves_nothing(tmp_path, monkeypatch):
    def fail(table):
        yield (next(tmp_path.glob("aggopt-*/sheet.xml")).stat().st_mode & 0o777,)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(excel_file, "_iter_rows", fail)
    with pytest.raises(OSError, match="No space"):
        write_excel(tmp_path / "t.xlsx", pa.table({"x": ["a"]}))
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize(("limit", "most"), [("MOST_RECORDS", 3), ("MOST_COLUMNS", 2)])
def test_more_than_a_sheet_has_is_refused(tmp_path, monkeypatch, limit, most) -> None:
    columns = {"x": [1.0, 2.0, 3.0], "y": [1.0, 2.0, 3.0]}
    monkeypatch.setattr(excel_file, limit, most)
    written(tmp_path, columns)
    (tmp_path / "t.xlsx").unlink()
    monkeypatch.setattr(excel_file, limit, most - 1)
    with pytest.raises(TableError) as error:
        written(tmp_path, columns)
    limits = f"{excel_file.MOST_RECORDS} of {excel_file.MOST_COLUMNS}"
    assert str(error.value) == (
        f"3 records of 2 columns are more than a sheet has: {limits}.\n"
        "To fix: write a .parquet or a .csv file."
    )
    assert not (tmp_path / "t.xlsx").exists()


def test_a_sheet_has_so_many_rows_and_columns() -> None:
    assert (excel_file.MOST_RECORDS, excel_file.MOST_COLUMNS) == (1_048_575, 16_384)


def test_control_characters_are_refused_and_not_quoted(tmp_path) -> None:
    fine = ["a\tb\n", None, "\x7f"]
    large = pa.array(["\x00", "\x1f", "\x0b"], pa.large_string())
    columns = {"s": ["Ms Secret\x01", None, "b"], "f": fine, "l": large}
    with refused(TableError, "'s'", "'l'"):
        written(tmp_path, columns)
    assert not (tmp_path / "t.xlsx").exists()
    written(tmp_path, {"f": fine})
