"""A CSV file is written letter by letter as a job says."""

from datetime import timedelta
from decimal import Decimal

import pyarrow as pa
import pytest
from refusals import refused

from aggopt.data.formats.csv import describe_formulas, write_csv
from aggopt.errors import TableError
from aggopt.job import Input

SINGLE = pa.array([0.1, 2.5], pa.float32())
COMMA = Input(separator=";", decimal=",")
PLAIN = [
    (Input(), "price,x,y,note\n1.50,0.1,0.10000000149011612,a\n,2.5,2.5,c\n"),
    (COMMA, "price;x;y;note\n1,50;0,1;0,10000000149011612;a\n;2,5;2,5;c\n"),
]


def written(folder, note, how=None, kind=None):
    """Return the file of a decimal, two numbers of 32 bits, one masked, and text."""
    price = pa.array([Decimal("1.50"), None])
    text = pa.array([note, "c"], kind or pa.string())
    table = pa.table({"price": price, "x": SINGLE, "y": SINGLE, "note": text})
    write_csv(folder / "t.csv", table, how or Input(), masked=["x"])
    return (folder / "t.csv").read_bytes().decode()


@pytest.mark.parametrize(("how", "text"), PLAIN)
def test_separator_decimal_point_and_digits_are_those_of_the_job(
    tmp_path, how, text
) -> None:
    assert written(tmp_path, "a", how) == text


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_all_but_numbers_is_quoted_where_a_bare_carriage_return_asks_for_it(
    tmp_path, kind
) -> None:
    lines = written(tmp_path, "a\rb", kind=kind).split("\n")
    assert lines[0] == '"price","x","y","note"'
    assert lines[1].startswith("1.50,0.1,")  # of a point: decimals stay numbers
    assert lines[1].endswith(',"a\rb"')


def test_without_being_asked_no_column_is_shortened(tmp_path) -> None:
    write_csv(tmp_path / "t.csv", pa.table({"x": SINGLE}), Input())
    assert (tmp_path / "t.csv").read_text() == "x\n0.10000000149011612\n2.5\n"


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_names_that_a_csv_file_has_for_what_is_missing_are_refused(
    tmp_path, kind
) -> None:
    table = pa.table(
        {
            "a": pa.array(["", "QQ", None, " NA ", "null"], kind),
            "b": pa.array(["QQ", "none", None, "missing", "-"], kind),
            "c": pa.array([*"QRST", ""], kind),
            "x": [1.0, None, 2.0, 3.0, 4.0],
        }
    )
    with refused(TableError, "CSV", "'a'", "'c'"):
        write_csv(tmp_path / "t.csv", table, Input(), masked=table.column_names)
    assert not (tmp_path / "t.csv").exists()
    write_csv(tmp_path / "t.csv", table, Input(), masked=["b", "x"])


def test_columns_of_other_types_are_written_as_they_are(tmp_path) -> None:
    table = pa.table({"n": [1, None], "x": [0.1 + 0.2, 1e300], "b": [True, None]})
    write_csv(tmp_path / "t.csv", table, Input(), masked=["n", "x"])
    text = "n,x,b\n1,0.30000000000000004,True\n,1e+300,\n"
    assert (tmp_path / "t.csv").read_text() == text


def test_masked_durations_are_spelled_as_iso_does(tmp_path) -> None:
    spans = [timedelta(-1, 0, 500000), timedelta(3, 3661), None]
    columns = {"x": pa.array(spans, pa.duration("us")), "y": pa.array(spans)}
    columns["z"] = pa.array(spans, pa.duration("ms"))
    write_csv(tmp_path / "t.csv", pa.table(columns), Input(), masked=["x", "z"])
    assert (tmp_path / "t.csv").read_text().splitlines() == [
        "x,y,z",
        "-P0DT23H59M59.5S,-1 days +00:00:00.500000,-P0DT23H59M59.5S",
        "P3DT1H1M1S,3 days 01:01:01,P3DT1H1M1S",
        ",,",
    ]


FORMULAS = ["=1+1", "@SUM(A1)", "+x", "-2+3", "\t=1", " =1", "-5", "+1.5e3", "-", "a=b"]


@pytest.mark.parametrize("kind", [pa.string(), pa.dictionary(pa.int8(), pa.string())])
def test_names_and_entries_that_a_spreadsheet_runs_are_counted_by_column(kind) -> None:
    table = pa.table(
        {
            "note": pa.array([*FORMULAS, None], pa.string()).cast(kind),
            "=x": pa.array(range(-5, 6)),
            "plain": pa.array(["-5"] * 11).cast(kind),
        }
    )
    ends = "may be run as a formula by a spreadsheet that opens the CSV file."
    assert list(describe_formulas(table, Input())) == [
        f"'note': 6 entries {ends}",
        f"'=x': its name {ends}",
    ]
    plain = pa.table({"note": pa.array(["-1,5"]), "other": pa.array([-1.5])})
    assert not list(describe_formulas(plain, COMMA))
    assert len(list(describe_formulas(plain, Input()))) == 1
