"""What is in a workbook that is written, read by the library that others use."""

import datetime as dt
import re
import tempfile
from zipfile import ZipFile

import openpyxl
import pyarrow as pa
import pytest
from refusals import refused

from aggopt.data.formats import excel as excel_file
from aggopt.data.formats.excel import write_excel
from aggopt.errors import TableError


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
