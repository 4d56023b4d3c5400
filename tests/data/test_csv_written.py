"""A CSV file is written letter by letter as a job says."""

from datetime import timedelta
from decimal import Decimal

import pyarrow as pa
import pytest
from refusals import refused

from aggopt.data.formats.csv import describe_formulas, write_csv
from aggopt.data.readers import csv_dialect as dialect
from aggopt.data.readers.csv_dialect import may_be_thousands, read_with_dialect
from aggopt.errors import JobError, TableError
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


# --- separator and decimal point of a CSV file, found by looking


FOUND = {
    "a,b\n1.5,x\n2.5,y\n": (",", "."),
    "a;b\n1,5;x\n2,5;y\n": (";", ","),
    "a;b\n1.5;x\n2.5;y\n": (";", "."),
    "a;b\n1;x\n2;y\n": (";", "."),
    "a\tb\n1,5\tx, y\n2,5\ty, z\n": ("\t", ","),
    "a|b|c\n1,5|x;y|z\n": ("|", ","),
    'a,b\n"1;2;3",x\n"4;5;6",y\n': (",", "."),
    '"a;b",c\n1,x\n2,y\n': (",", "."),
    "weight, kg;height\n70;1,8\n80;1,7\n": (";", ","),
    "a;b\n1,5;x\n2,5;y\n3;z;too many\n2;y\n": None,
    "\ufeffa;b\n1,5;x\n": (";", ","),
    "a\n1.5\n2\n": (",", "."),
    "a;b": (";", "."),
    'a;b\n"one\ntwo";1,5\n': (";", ","),
}


@pytest.mark.parametrize("text", FOUND)
def test_what_is_looked_for_is_found(tmp_path, text):
    path = tmp_path / "people.csv"
    path.write_text(text, encoding="utf-8", newline="")
    if FOUND[text] is None:  # the strict rules hold all the same
        with pytest.raises(TableError):
            read_with_dialect(path)
        return
    table, how = read_with_dialect(path)
    assert (how.separator, how.decimal) == FOUND[text]
    assert not how.multiline
    assert table.num_columns == len(table.column_names) >= 1


def test_what_is_given_is_not_looked_for(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("a;b\n1,5;x\n")
    _, how = read_with_dialect(path, ";", ".")
    assert (how.separator, how.decimal) == (";", ".")
    with refused(TableError, "'|'"):
        read_with_dialect(path, "|")
    with refused(JobError, "'::'"):
        read_with_dialect(path, "::")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_file_longer_than_what_is_looked_at(tmp_path, end, monkeypatch):
    monkeypatch.setattr(dialect, "SAMPLE", 2**12)
    path, rows = tmp_path / "people.csv", 2**10
    path.write_text(f"a;b{end}" + f"1,5;x{end}" * rows, newline="")
    table, how = read_with_dialect(path)
    assert (how.separator, how.decimal) == (";", ",")
    assert len(table) == rows


def test_a_header_longer_than_what_is_looked_at(tmp_path, monkeypatch):
    monkeypatch.setattr(dialect, "SAMPLE", 2**12)
    path, wide = tmp_path / "people.csv", 100
    names = ";".join(5 * "attribute " + str(j) for j in range(wide))
    path.write_text(names + "\n" + ";".join(["1,5"] * wide) + "\n")
    table, how = read_with_dialect(path)
    assert (how.separator, how.decimal, table.num_columns) == (";", ",", wide)


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        (["1,234", "12,345,678", "5"], True),
        (["1,234", "1,5"], False),
        (["0,234", "0,500"], False),
        (["1", "2", "NA"], False),
        (["x", ""], False),
    ],
)
def test_commas_that_may_separate_thousands(entries, expected):
    import pyarrow as pa

    assert may_be_thousands(pa.chunked_array([entries])) is expected
