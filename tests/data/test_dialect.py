"""Separator and decimal point of a CSV file, found by looking."""

import pytest
from refusals import refused

from aggopt.data.readers import csv_dialect as dialect
from aggopt.data.readers.csv_dialect import may_be_thousands, read_with_dialect
from aggopt.errors import JobError, TableError

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
