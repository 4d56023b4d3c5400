"""Reading files of SPSS, Stata and SAS: types, texts of codes, what is missing."""

import datetime as dt
from contextlib import suppress

import numpy as np
import pandas as pd
import pyarrow as pa
import pyreadstat
import pytest
from refusals import refused

from aggopt.data.readers.codebook import read_codebooks
from aggopt.data.readers.read import read_as_text, read_file
from aggopt.errors import TableError
from aggopt.job import AttributeSection, Input
from aggopt.job.roles import Roles

SECRET = "Ms Secret"
WRITERS = {
    ".sav": pyreadstat.write_sav,
    ".zsav": lambda frame, path: pyreadstat.write_sav(frame, path, compress=True),
    ".por": pyreadstat.write_por,
    ".dta": pyreadstat.write_dta,
    ".xpt": pyreadstat.write_xport,
}


def sav(folder, columns, **how):
    """Return the path of an SPSS file of these columns."""
    pyreadstat.write_sav(pd.DataFrame(columns), folder / "t.sav", **how)
    return folder / "t.sav"


def roles(quasi, other=()):
    return Roles(quasi_identifier=(quasi,), other=other)


def settled(path, quasi="x", other=(), **said):
    """Return a table read for a job that says this of its quasi-identifier."""
    about = {quasi: AttributeSection(**said)} if said else {}
    return read_file(path, roles(quasi, other), Input(), about)


@pytest.mark.smoke
@pytest.mark.parametrize("ending", WRITERS)
def test_types_are_those_of_the_values(tmp_path, ending) -> None:
    frame = pd.DataFrame(
        {
            "N": [1.0, None, 3.0],
            "X": [0.1 + 0.2, 2.0, None],
            "S": ["a", None, ""],
            "D": [dt.date(2020, 2, 29), None, dt.date(1900, 1, 1)],
            "M": [dt.datetime(2020, 2, 29, 12, 30), None, dt.datetime(1999, 1, 1)],
            "T": [dt.time(23, 59, 1), None, dt.time()],
            "O": [None, np.nan, None],
        }
    ).astype({"O": float})
    WRITERS[ending](frame, tmp_path / f"t{ending}")
    table = read_as_text(tmp_path / f"t{ending}", Input())
    kinds = dict(zip(table.column_names, table.schema.types, strict=True))
    assert kinds == {
        "N": pa.int64(),
        "X": pa.float64(),
        "S": pa.string(),
        "D": pa.date32(),
        "M": pa.timestamp("us"),
        "T": pa.time64("us"),
        "O": pa.float64(),
    }
    frame = frame.astype(object).where(frame.notna(), None).replace("", None)
    assert table.to_pydict() == {name: frame[name].tolist() for name in frame}


@pytest.mark.parametrize(
    "values", [[1.0, -0.0], [1.0, 0.5], [1.0, 2.0**53], [1.0, -(2.0**53)]]
)
def test_floats_stay_floats_where_whole_numbers_would_not_be_the_same(
    tmp_path, values
) -> None:
    column = read_as_text(sav(tmp_path, {"x": values}), Input())["x"]
    assert column.type == pa.float64()
    assert np.signbit(column.to_numpy()).tolist() == np.signbit(values).tolist()
    largest = read_as_text(sav(tmp_path, {"x": [2.0**53 - 1]}), Input())["x"]
    assert largest.to_pylist() == [2**53 - 1]
    assert largest.type == pa.int64()


CODES = {"x": [1.0, 3.0, 1.0, None, 2.0]}
TEXTS = {1.0: "low", 2.0: "middle", 3.0: "high", 4.0: "none has it"}


def test_codes_that_all_have_a_text_are_these_texts(tmp_path) -> None:
    path = sav(tmp_path, CODES, variable_value_labels={"x": TEXTS})
    column = read_as_text(path, Input())["x"]
    assert column.to_pylist() == ["low", "high", "low", None, "middle"]
    assert not column.type.ordered
    assert column.chunk(0).dictionary.to_pylist() == ["low", "middle", "high"]


@pytest.mark.smoke
def test_an_ordinal_column_has_the_order_of_all_codes(tmp_path) -> None:
    path = sav(
        tmp_path,
        CODES,
        variable_value_labels={"x": {**TEXTS, -9.0: "refused"}},
        variable_measure={"x": "ordinal"},
        missing_ranges={"x": [-9]},
    )
    for table in (read_as_text(path, Input()), settled(path, "y", ("x",))):
        column = table["x"]
        assert column.type.ordered
        levels = column.chunk(0).dictionary.to_pylist()
        assert [text for text in levels if text != "refused"] == list(TEXTS.values())


def test_codes_that_are_text(tmp_path) -> None:
    path = sav(
        tmp_path,
        {"x": ["F", "", "M"]},
        variable_value_labels={"x": {"F": "female", "M": "male"}},
    )
    assert read_as_text(path, Input())["x"].to_pylist() == ["female", None, "male"]


def test_stata_has_texts_too(tmp_path) -> None:
    pyreadstat.write_dta(
        pd.DataFrame(CODES), tmp_path / "t.dta", variable_value_labels={"x": TEXTS}
    )
    column = read_as_text(tmp_path / "t.dta", Input())["x"]
    assert column.to_pylist() == ["low", "high", "low", None, "middle"]


SOME = {"x": [0.0, 5.0, 10.0, None, 99.0]}
ENDS = {"variable_value_labels": {"x": {0.0: "bad", 10.0: "good", 99.0: "refused"}}}


def test_where_some_codes_have_a_text_the_job_says_what_they_are(tmp_path) -> None:
    path = sav(tmp_path, SOME, **ENDS)
    with refused(TableError, "'x'"):
        settled(path)
    assert settled(path, kind="numeric")["x"].to_pylist() == [0, 5, 10, None, 99]
    names = ["bad", "5", "good", None, "refused"]
    assert settled(path, kind="nominal")["x"].to_pylist() == names
    ordered = settled(path, order=["bad", 5, "good", "refused"])
    assert ordered["x"].to_pylist() == names
    assert settled(path, "y", ("x",))["x"].to_pylist() == [0, 5, 10, None, 99]


def test_codes_of_a_wish_are_numbers(tmp_path) -> None:
    both = {"x": [1.0, 2.0, 3.0], "far": [0.0, 1.0, 1.0]}
    texts = {"far": {0.0: "near", 1.0: "far"}}
    path = sav(tmp_path, both, variable_value_labels=texts)
    asked = Roles(quasi_identifier=("x",), wish=("far",))
    assert read_file(path, asked, Input())["far"].to_pylist() == [0, 1, 1]
    path = sav(tmp_path, both, variable_value_labels={"far": {0.0: "near"}})
    with refused(TableError, "'far'"):
        read_file(path, asked, Input())


def test_codes_with_texts_may_be_numbers_all_the_same(tmp_path) -> None:
    path = sav(tmp_path, CODES, variable_value_labels={"x": TEXTS})
    numbers = settled(path, kind="numeric")["x"]
    assert numbers.to_pylist() == [1, 3, 1, None, 2]
    assert numbers.type == pa.int64()
    texts = {"x": {"F": "female", "M": "male"}}
    path = sav(tmp_path, {"x": ["F", "M"]}, variable_value_labels=texts)
    with refused(TableError, "'x'"):
        settled(path, kind="numeric")


@pytest.mark.parametrize(
    "texts",
    [{1.0: "low", 2.0: "low", 3.0: "high"}, {1.0: "3", 3.0: "1"}, {1.0: "2", 3.0: "x"}],
)
def test_two_codes_never_become_one_text(tmp_path, texts) -> None:
    path = sav(tmp_path, CODES, variable_value_labels={"x": texts})
    column = read_as_text(path, Input())["x"]
    assert len(column.drop_null().unique()) == 3
    with pytest.raises(TableError):
        settled(path)


def test_a_text_of_an_unused_code_stands_for_none(tmp_path) -> None:
    texts = {**TEXTS, 4.0: "high"}
    path = sav(tmp_path, CODES, variable_value_labels={"x": texts})
    table = read_as_text(path, Input())
    book = read_codebooks(table)["x"]
    assert book.encode_texts(table["x"].to_pylist()) == [1.0, 3.0, 1.0, None, 2.0]


DECLARED = {
    "variable_value_labels": {"x": {-9.0: "not asked"}, "y": {99.0: "refused"}},
    "missing_ranges": {"x": [-9, {"lo": 98, "hi": 1e300}], "y": [99], "s": ["X"]},
}
ASKED = {
    "x": [-9.0, 98.0, 1e6, 20.0, 97.0],
    "y": [99.0, 1.0, 2.0, None, 99.0],
    "s": ["X", "a", "b", "", "X"],
}


def test_codes_that_are_declared_missing_are_no_values(tmp_path) -> None:
    path = sav(tmp_path, ASKED, **DECLARED)
    assert read_as_text(path, Input()).to_pydict() == {
        "x": [None, None, None, 20, 97],
        "y": [None, 1, 2, None, None],
        "s": [None, "a", "b", None, None],
    }
    kept = settled(path, "x", ("y", "s"))
    assert kept.to_pydict() == {
        "x": [None, None, None, 20, 97],
        "y": [99, 1, 2, None, 99],
        "s": ["X", "a", "b", None, "X"],
    }
    books = read_codebooks(kept)
    assert books["x"].missing == ()
    assert books["y"].missing == ((99.0, 99.0),)
    assert books["y"].texts == ((99.0, "refused"),)
    assert books["s"].missing == (("X", "X"),)


def test_dates_that_are_declared_missing_are_missing_in_every_role(tmp_path) -> None:
    days = [dt.date(2020, 1, 1), dt.date(1900, 1, 1)]
    seconds = (days[1] - dt.date(1582, 10, 14)).days * 86_400
    path = sav(tmp_path, {"x": [1.0, 2.0], "d": days}, missing_ranges={"d": [seconds]})
    for table in (read_as_text(path, Input()), settled(path, "x", ("d",))):
        assert table["d"].to_pylist() == [days[0], None]


def test_other_missing_values_of_stata_are_missing(tmp_path) -> None:
    frame = pd.DataFrame({"x": [1.0, "a", 3.0]})
    pyreadstat.write_dta(frame, tmp_path / "t.dta", missing_user_values={"x": ["a"]})
    for table in (
        read_as_text(tmp_path / "t.dta", Input()),
        settled(tmp_path / "t.dta", "y", ("x",)),
    ):
        assert table["x"].to_pylist() == [1, None, 3]


@pytest.mark.parametrize("ending", [".sav", ".dta", ".xpt", ".por"])
def test_times_that_are_no_times_of_a_day_are_refused(tmp_path, ending) -> None:
    day = 86_400_000.0 if ending == ".dta" else 86_400.0
    time = "%tcHH:MM:SS" if ending == ".dta" else "TIME8"
    for values, count in ([[0.0, day - 1], 0], [[0.0, day], 1], [[day * 3, None], 1]):
        path = tmp_path / f"t{ending}"
        WRITERS[ending](
            pd.DataFrame({"X": values}), path, **{"variable_format": {"X": time}}
        )
        if not count:
            assert read_as_text(path, Input())["X"].type == pa.time64("us")
            continue
        with pytest.raises(TableError, match=rf"times of a day \('X': {count}\)"):
            read_as_text(path, Input())


def test_a_file_without_records(tmp_path) -> None:
    table = read_as_text(sav(tmp_path, {"x": np.zeros(0), "y": np.zeros(0)}), Input())
    assert (table.num_rows, table.column_names) == (0, ["x", "y"])


@pytest.mark.parametrize("ending", [*WRITERS, ".sas7bdat"])
def test_files_that_cannot_be_read_are_refused_without_quoting_them(
    tmp_path, ending
) -> None:
    path = tmp_path / f"t{ending}"
    path.write_bytes(f"{SECRET} is not a table. ".encode() * 99)
    with pytest.raises(TableError, match=f"not a readable {ending[1:]} file") as said:
        read_as_text(path, Input())
    assert SECRET not in str(said.value)
    assert said.value.__cause__ is None


@pytest.mark.smoke
def test_a_file_that_ends_early_is_refused(tmp_path) -> None:
    path = sav(tmp_path, {"x": np.arange(100.0)})
    path.write_bytes(path.read_bytes()[:-80])
    with refused(TableError):
        read_as_text(path, Input())


def _cut(path, length):
    path.write_bytes(path.read_bytes()[:length])
    return path


PEOPLE = pd.DataFrame(
    {"age": np.arange(60.0), "pay": np.arange(60) / 7, "sex": ["female", "male"] * 30}
)


@pytest.mark.parametrize("ending", WRITERS)
def test_a_file_cut_anywhere_is_refused_or_read_whole(tmp_path, ending) -> None:
    path = tmp_path / f"t{ending}"
    WRITERS[ending](PEOPLE, path)
    whole = path.read_bytes()
    for length in range(40, len(whole), 40):
        path.write_bytes(whole[:length])
        with suppress(TableError):
            assert read_as_text(path, Input()).num_rows == 60


@pytest.mark.parametrize("lost", [1, 22, 80, 400, 1200])
@pytest.mark.parametrize("version", [5, 8])
def test_a_sas_transport_file_that_ends_early_is_refused(
    tmp_path, version, lost
) -> None:
    path = tmp_path / "t.xpt"
    pyreadstat.write_xport(PEOPLE, path, file_format_version=version)
    assert read_as_text(path, Input()).num_rows == 60
    counted = r"\d+ of 60 records are whole" if version == 8 and lost > 80 else ""
    with pytest.raises(TableError, match=rf"t\.xpt ends early: .*{counted}"):
        read_as_text(_cut(path, path.stat().st_size - lost), Input())


@pytest.mark.parametrize("columns", [["age"], ["sex"], ["age", "pay"], ["pay", "sex"]])
@pytest.mark.parametrize("records", [0, 1, 5, 10, 40])
@pytest.mark.parametrize("version", [5, 8])
def test_whole_sas_transport_files_of_any_length_are_read(
    tmp_path, version, records, columns
) -> None:
    frame = PEOPLE[columns].head(records)
    pyreadstat.write_xport(frame, tmp_path / "t.xpt", file_format_version=version)
    assert read_as_text(tmp_path / "t.xpt", Input()).num_rows == records


def test_a_text_without_a_character_is_none(tmp_path) -> None:
    texts = {1.0: "low", 2.0: "", 3.0: "high"}
    path = sav(tmp_path, CODES, variable_value_labels={"x": texts})
    with refused(TableError, "'x'"):
        settled(path)
