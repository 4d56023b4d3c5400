"""Reading CSV and Parquet: what is kept letter by letter, what is refused."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from refusals import refused

from aggopt.data.readers.read import read_as_text, read_file
from aggopt.data.table import Table
from aggopt.errors import AggoptError, JobError, TableError
from aggopt.job import Input
from aggopt.job.roles import Roles

roles = Roles(quasi_identifier=("age", "pay"), other=("note",))
SECRET = "Ms Secret"


def csv(tmp_path, text, **how):
    path = tmp_path / "people.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_file(path, roles, Input(**how))


def test_only_quasi_identifiers_become_numbers(tmp_path):
    table = csv(tmp_path, 'age,pay,note\n1,1.5,007\n 2 ,1e3,""\n+3,-.5,"a, b"\n')
    assert table["age"].to_pylist() == [1, 2, 3]
    assert table.schema.field("age").type == pa.int64()
    assert table["pay"].to_pylist() == [1.5, 1000.0, -0.5]
    assert table["note"].to_pylist() == ["007", "", "a, b"]


def test_numbers_are_read_to_the_last_bit(tmp_path):
    values = np.random.default_rng(0).normal(size=200) * 1e-7
    rows = "\n".join(f"1,{v!r},x" for v in values.tolist())
    table = csv(tmp_path, f"age,pay,note\n{rows}\n")
    assert table["pay"].to_pylist() == values.tolist()


def test_whole_numbers_beyond_64_bits_become_floats(tmp_path):
    table = csv(tmp_path, "age,pay,note\n12345678901234567890,1,x\n")
    assert table["age"].to_pylist() == [12345678901234567890.0]


def test_truth_values_are_read_as_a_release_of_them_is_written(tmp_path):
    table = csv(tmp_path, "age,pay,note\nTrue,1,x\nFalse,2,True\n,3,x\n")
    assert table["age"].to_pylist() == [True, False, None]
    assert table["note"].to_pylist() == ["x", "True", "x"]
    with refused(TableError, "'age'"):
        csv(tmp_path, "age,pay,note\nTrue,1,x\n1,2,x\nFalse,2,x\n")


@pytest.mark.parametrize(("yes", "no"), [("TRUE", "FALSE"), ("true", "false")])
def test_truth_values_are_read_as_other_programs_spell_them(tmp_path, yes, no):
    table = csv(tmp_path, f"age,pay,note\n{yes},1,x\n{no},2,{yes}\n,3,x\n")
    assert table["age"].to_pylist() == [True, False, None]
    assert table["note"].to_pylist() == ["x", yes, "x"]
    for other in ("True", "T", "1"):
        with refused(TableError, "'age'"):
            csv(tmp_path, f"age,pay,note\n{yes},1,x\n{other},2,x\n")


def test_a_header_alone_has_no_records_with_or_without_a_line_end(tmp_path):
    for text in ("age,pay,note", "age,pay,note\n", "age,pay,note\r\n"):
        table = csv(tmp_path, text)
        assert (table.num_rows, table.column_names) == (0, ["age", "pay", "note"])


def test_separator_and_decimal_comma(tmp_path):
    table = csv(
        tmp_path, "age;pay;note\n1;1,5;a,b\n2;2;c\n", separator=";", decimal=","
    )
    assert table["pay"].to_pylist() == [1.5, 2.0]
    assert table["note"].to_pylist() == ["a,b", "c"]


def test_a_byte_order_mark_windows_lines_and_quoted_newlines(tmp_path):
    text = '\ufeffage,pay,note\r\n1,2,"two\r\nlines"\r\n'
    table = csv(tmp_path, text, multiline=True)
    assert table.column_names == ["age", "pay", "note"]
    assert table["note"].to_pylist() == ["two\r\nlines"]


@pytest.mark.parametrize("missing", ["", "NA", "NaN", "null", "None", "."])
def test_missing_entries_become_nulls(tmp_path, missing):
    table = csv(tmp_path, f"age,pay,note\n{missing},2,x\n1,3,y\n")
    assert table["age"].to_pylist() == [None, 1]


def test_parquet_keeps_types(tmp_path):
    frame = pd.DataFrame({"age": [1, 2], "pay": [True, False], "note": ["007", None]})
    frame.to_parquet(tmp_path / "t.parquet")
    table = read_file(tmp_path / "t.parquet", roles, Input())
    assert table["pay"].to_pylist() == [True, False]
    assert table["note"].to_pylist() == ["007", None]


HEADER = "age,pay,note\n"
REFUSED = [
    f"{HEADER}{SECRET},2,x\n1,{SECRET},x\n",
    f"{HEADER}1,2,x\n1,2,{SECRET},4\n",
    f"{HEADER}1,2\n1,2,{SECRET}\n",
    "",
    HEADER.encode() + b"1,2,\xff\xfe\n",
    b"age,pay,n\xf6te\n1,2,x\n",
    f"{HEADER}1,2,{SECRET}".encode("utf-16"),
    f"{HEADER}1,{SECRET}\x00,x\n2,3,x\n",
    f'{HEADER}1,2,"x\n1,2,{SECRET}\n',
    f'{HEADER}1,2,"x\n"\n1,"a""b\n",""",\n{SECRET}\n' * 2,
    f'{HEADER}1,2,a"b\n1,"2\r3","c\r' + "d\n" * 999,
    f'{HEADER}1,2,"x\n1,2,{SECRET}\n1,2,"y\n',
    f'{HEADER}1,2,"a"{SECRET}\n',
    "age;pay;note\n1;2;x\n",
    "age,pay,\n1,2,x\n",
]


@pytest.mark.parametrize("text", REFUSED)
def test_files_that_do_not_parse_are_refused_without_quoting_them(tmp_path, text):
    with refused(TableError) as refusal:
        csv(tmp_path, text)
    assert SECRET not in str(refusal.value)
    assert refusal.value.__cause__ is None
    shown = refusal.value.__context__ if not refusal.value.__suppress_context__ else ""
    assert SECRET not in str(shown)


def test_a_damaged_parquet_file_is_refused(tmp_path):
    (tmp_path / "t.parquet").write_bytes(b"PAR1 not really")
    with refused(TableError):
        read_as_text(tmp_path / "t.parquet", Input())


def test_paths_that_are_no_table_are_refused(tmp_path):
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "table.ods").touch()
    for name, message in {
        "none.csv": "There is no file",
        "none.ods": "There is no file",
        "folder.csv": "is a directory",
        "table.ods": "ends in none of .csv, .parquet",
    }.items():
        with pytest.raises(TableError, match=message):
            read_as_text(tmp_path / name, Input())


def test_an_empty_table_has_columns_and_no_records(tmp_path):
    assert csv(tmp_path, "age,pay,note\n").num_rows == 0


def test_entries_may_be_longer_than_a_block(tmp_path):
    long = "x" * 3_000_000
    table = csv(tmp_path, f"age,pay,note\n1,2,{long}\n2,3,y\n")
    assert table["note"].to_pylist() == [long, "y"]


def test_empty_lines_are_no_records_unless_there_is_one_column(tmp_path):
    assert csv(tmp_path, "age,pay,note\n1,2,x\n\n3,4,y\n").num_rows == 2
    path = tmp_path / "one.csv"
    path.write_text("note\nx\n\ny\n")
    assert read_as_text(path, Input())["note"].to_pylist() == ["x", "", "y"]


def test_points_between_thousands_are_not_decimal_points(tmp_path):
    text = "age;pay;note\n1;1.234;x\n"
    with refused(TableError, "'pay'"):
        csv(tmp_path, text, separator=";", decimal=",")


def test_duplicate_names_in_a_parquet_file_are_named(tmp_path):
    pq.write_table(pa.table([[1], [2]], names=["age", "age"]), tmp_path / "t.parquet")
    with refused(TableError, "'age'"):
        read_as_text(tmp_path / "t.parquet", Input())


@pytest.mark.parametrize(
    "first",
    [f"{SECRET},7,{SECRET}", f"{SECRET},x,7", f"{SECRET},x,y", f"{SECRET},x,note"],
)
def test_a_first_line_that_is_a_record_is_not_repeated(tmp_path, first):
    (tmp_path / "t.csv").write_text(f"{first}\n1,2,3\n")
    with refused(AggoptError) as error:
        Table.of(read_file(tmp_path / "t.csv", roles, Input()), roles)
    assert SECRET not in str(error.value)


def test_a_name_that_is_nearly_right_is_seen_beside_the_tables_own(tmp_path):
    (tmp_path / "t.csv").write_text("age,pay,nota\n1,2,x\n")
    with refused(JobError, "'age'", "'pay'", "'nota'"):
        Table.of(read_file(tmp_path / "t.csv", roles, Input()), roles)


def test_entries_of_several_lines_may_hold_records_and_are_refused(tmp_path):
    text = f'{HEADER}1,2,"x\n1,2,{SECRET}\n1,2,y"\n3,4,z\n'
    with refused(TableError) as refusal:
        csv(tmp_path, text)
    assert SECRET not in str(refusal.value)
    assert csv(tmp_path, text, multiline=True).num_rows == 2
