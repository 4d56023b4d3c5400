"""A release is written by the ending of its name, and reads as it was."""

import datetime as dt
from decimal import Decimal

import pandas as pd
import pyarrow as pa
import pyreadstat
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from refusals import refused
from tables import job

from aggopt.data.readers.codebook import Codebook, read_codebooks
from aggopt.data.readers.read import read_as_text, read_file
from aggopt.errors import TableError
from aggopt.job import Input
from aggopt.release.files import write_table as table_file
from aggopt.release.files.write_table import blank_missing_codes, write_table

STATISTICAL = (".sav", ".zsav", ".dta", ".xpt")
KINDS = (*STATISTICAL, ".xlsx", ".parquet")
ASKED = job(roles={"quasi-identifier": ["x", "s"], "other": ["o"]})
COLUMNS = {"x": [1.5, 2.5, None], "s": ["a", "b", "b"], "o": [1, 2, 3]}
MISSING = Codebook("", ((98.0, "asked"), (99.0, "refused")), missing=((98.0, 99.0),))


def written(folder, ending, books=None, **columns):
    """Return the path of a table of three columns, some of them other ones."""
    path = folder / f"t{ending}"
    write_table(path, pa.table({**COLUMNS, **columns}), ASKED, books or {})
    return path


@pytest.mark.parametrize("ending", [*KINDS, ".SAV", ".XLSX"])
def test_a_file_is_of_the_kind_that_its_ending_says(tmp_path, ending) -> None:
    path = written(tmp_path, ending)
    assert read_file(path, ASKED.roles, Input()).to_pydict() == COLUMNS


def test_a_csv_file_is_written_as_the_job_says(tmp_path) -> None:
    path = tmp_path / "t.csv"
    asked = job(roles=ASKED.roles, input={"separator": ";", "decimal": ","})
    single = pa.array([0.1, 2.5, None], pa.float32())
    write_table(path, pa.table({**COLUMNS, "x": single}), asked, {})
    assert path.read_text() == "x;s;o\n0,1;a;1\n2,5;b;2\n;b;3\n"


@pytest.mark.parametrize("ending", [*KINDS, ".csv"])
def test_codes_that_are_missing_are_values_only_where_that_is_declared(
    tmp_path, ending
) -> None:
    path = written(tmp_path, ending, {"o": MISSING}, o=[1, 99, 98])
    found = read_as_text(path, Input())["o"].to_pylist()
    assert [int(v) if v else None for v in found] == [1, None, None]
    if ending in (".sav", ".zsav"):
        kept = read_as_text(path, Input(), keep=["o"])["o"].to_pylist()
        assert kept == [1, 99, 98]


@pytest.mark.parametrize(
    ("entries", "book", "expected"),
    [
        ([1, 99, None], MISSING, [1, None, None]),
        ([1.0, 98.5, 97.9], MISSING, [1.0, None, 97.9]),
        (["refused", "1", None], MISSING, [None, "1", None]),
        (["*", "refused", "x"], MISSING, ["*", "refused", "x"]),
        (["F", "M"], Codebook("", (), missing=(("F", "F"),)), [None, "M"]),
        ([1, 2], MISSING, [1, 2]),
        ([99, 98], MISSING, [None, None]),
    ],
)
def test_codes_become_null(entries, book, expected) -> None:
    column = pa.chunked_array([pa.array(entries)])
    found = blank_missing_codes(column, book)
    assert found.to_pylist() == expected
    assert found.type == column.type


@pytest.mark.parametrize("ending", STATISTICAL)
def test_truth_values_are_texts_of_codes(tmp_path, ending) -> None:
    book = {"o": Codebook("Whether", ((7.0, "seven"),))}
    path = written(tmp_path, ending, book, o=[True, None, False])
    assert read_as_text(path, Input())["o"].to_pylist() == ["True", None, "False"]
    reader = {"dta": pyreadstat.read_dta, "xpt": pyreadstat.read_xport}
    read_it = reader.get(ending[1:], pyreadstat.read_sav)
    found, about = read_it(path, output_format="dict")
    assert about.column_names_to_labels["o"] == "Whether"
    if ending != ".xpt":
        assert found["o"] == [1, None, 0]
        assert about.variable_value_labels == {"o": {0: "False", 1: "True"}}


@pytest.mark.parametrize("ending", STATISTICAL)
def test_truth_values_of_which_nothing_is_said(tmp_path, ending) -> None:
    path = written(tmp_path, ending, o=[True, None, False])
    assert read_as_text(path, Input())["o"].to_pylist() == ["True", None, "False"]


def test_what_is_read_back_is_read_as_the_job_says(tmp_path) -> None:
    """Of which only some codes have a text, that is refused unless it says what."""
    asked = job(roles=ASKED.roles, attributes={"s": {"kind": "nominal"}})
    table = pa.table({**COLUMNS, "s": ["low", "4", "low"]})
    book = {"s": Codebook("", ((1.0, "low"),))}
    write_table(tmp_path / "t.sav", table, asked, book)
    found, _ = pyreadstat.read_sav(tmp_path / "t.sav", output_format="dict")
    assert found["s"] == [1.0, 4.0, 1.0]


def test_excel_has_durations(tmp_path) -> None:
    spans = [dt.timedelta(0), None, dt.timedelta(days=400, seconds=1)]
    path = written(tmp_path, ".xlsx", o=spans)
    assert read_as_text(path, Input())["o"].to_pylist() == spans


def test_excel_has_truth_values(tmp_path) -> None:
    path = written(tmp_path, ".xlsx", o=[True, None, False])
    assert read_as_text(path, Input())["o"].to_pylist() == [True, None, False]


@pytest.mark.parametrize("ending", [*STATISTICAL, ".xlsx"])
def test_masked_names_that_are_empty_would_be_missing(tmp_path, ending) -> None:
    with pytest.raises(TableError) as error:
        written(tmp_path, ending, s=["", "b", ""], x=["a", "b", ""])
    assert str(error.value) == (
        "Columns have entries that are empty text, and missing when they are read from "
        f"a {ending} file ('x': 1; 's': 2).\nTo fix: write a .parquet file; or, before "
        "masking, give what is empty another name, or make it missing."
    )
    assert not (tmp_path / f"t{ending}").exists()
    path = written(tmp_path, ending, o=["", "b", ""])
    assert read_as_text(path, Input())["o"].to_pylist() == [None, "b", None]


@pytest.mark.parametrize("ending", [".sav", ".xpt"])
def test_what_does_not_read_as_it_was_is_refused(tmp_path, ending) -> None:
    with pytest.raises(TableError) as error:
        written(tmp_path, ending, s=["a ", "b", "c "], o=["x", "y ", None])
    assert str(error.value) == (
        f"A {ending} file does not hold some entries as they are ('s': 2; 'o': 1).\n"
        "To fix: write a .parquet file; or, before masking, shorten long text, remove "
        "blanks at its ends, and round times to milliseconds."
    )


SMALL = pa.array([dt.datetime(2020, 1, 1, 0, 0, 0, 1)] * 3, pa.timestamp("us"))
LOST = [
    (".xpt", [1e-200, 1.0, 2.0]),
    (".xpt", [1.0, 1e300, -1e300]),
    (".xpt", [-0.0, 0.0, 1.0]),
    (".dta", SMALL),
    (".sav", pa.array([1, 10**9, None], pa.timestamp("ns"))),
    (".sav", pa.array([1, 10**9, None], pa.time64("ns"))),
    (".xlsx", ["", "a\r\nb", "\ra"]),
]


@pytest.mark.parametrize(("ending", "values"), LOST)
def test_what_a_kind_of_file_rounds_or_cuts_is_refused(
    tmp_path, ending, values
) -> None:
    with refused(TableError):
        written(tmp_path, ending, o=values)


@pytest.mark.parametrize("ending", [*STATISTICAL, ".xlsx"])
def test_types_and_numbers_that_it_does_not_support_are_refused(
    tmp_path, ending
) -> None:
    moments = pa.array([1, 2, 3], pa.timestamp("us", "UTC"))
    with pytest.raises(TableError, match=rf"a {ending} file does not have: 'o'"):
        written(tmp_path, ending, o=moments)
    with refused(TableError, "'x'"):
        written(tmp_path, ending, x=[float("inf"), 1.0, 2.0])


def differing(one, other):
    first, second = (pa.chunked_array([pa.array(c)]) for c in (one, other))
    return table_file._count_differing(first, second)


def test_entries_are_compared_bit_by_bit() -> None:
    assert differing([0.0, 1.0], [-0.0, 1.0]) == 1
    assert differing([0.1 + 0.2], [0.3]) == 1
    assert differing([1, None, 3], [1.0, float("nan"), 3.0]) == 0
    assert differing([float("nan"), 1.0], [None, 1.0]) == 0
    assert differing([None, 1.0], [2.0, None]) == 2
    assert differing([True, False], [1, 0]) == 0
    assert differing(["a", ""], ["a", None]) == 0
    assert differing([None, "b"], ["a", "c"]) == 2
    assert differing(["1", "2"], [1, 2]) == 2
    assert differing([1, 2, 3], [1, 2]) == 3
    assert differing([dt.date(2020, 1, 1)], [dt.date(2020, 1, 2)]) == 1
    assert differing([Decimal(1)], [Decimal(1)]) == 0
    assert differing([dt.timedelta(0), None], [None, dt.timedelta(0)]) == 2


CODE = st.integers(-9, 12).map(float)
NAME = st.text(st.characters(codec="ascii", categories=["L", "N"]), max_size=4)


@settings(
    max_examples=20,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(
    st.dictionaries(CODE, NAME, max_size=6),
    st.lists(CODE | st.none(), min_size=1, max_size=9),
    st.sampled_from([".sav", ".dta"]),
)
def test_what_was_read_is_written_and_read_as_the_same(
    tmp_path, texts, codes, ending
) -> None:
    """Codes with any texts, those of other codes among them, stay what they are."""
    path = tmp_path / f"t{ending}"
    write = {".sav": pyreadstat.write_sav, ".dta": pyreadstat.write_dta}[ending]
    values = {code: text for code, text in texts.items() if text}
    frame = pd.DataFrame({"o": codes}, dtype=float)
    write(frame, path, variable_value_labels={"o": values} if values else None)
    before = read_as_text(path, Input())
    books = read_codebooks(before)
    columns = {**{n: ["a"] * len(codes) for n in "xs"}, "o": _plain(before["o"])}
    write_table(path, pa.table(columns), ASKED, books)
    assert read_as_text(path, Input())["o"].to_pylist() == before["o"].to_pylist()
    read_it = {".sav": pyreadstat.read_sav, ".dta": pyreadstat.read_dta}[ending]
    assert read_it(path, output_format="dict")[0]["o"] == codes


def _plain(column):
    return column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column
