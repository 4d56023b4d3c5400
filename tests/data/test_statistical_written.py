"""What is in a file of SPSS, Stata or SAS, read by the library that others use."""

import datetime as dt
from pathlib import Path

import pyarrow as pa
import pyreadstat
import pytest
from refusals import refused

from aggopt.data.formats import statistical as statistical_file
from aggopt.data.formats.statistical import write_statistical
from aggopt.data.readers.codebook import Codebook
from aggopt.errors import TableError

READERS = {
    ".sav": pyreadstat.read_sav,
    ".zsav": pyreadstat.read_sav,
    ".dta": pyreadstat.read_dta,
    ".xpt": pyreadstat.read_xport,
}
DAY, TIME = dt.date(2020, 2, 29), dt.time(23, 59, 1)
MOMENT = dt.datetime(1999, 12, 31, 23, 59, 59)
REGION = Codebook("Region", ((1.0, "North"), (2.0, "South"), (3.0, "Isle")), True)


def written(folder, ending, columns, books=None):
    """Return what a reader finds in a file: columns as lists, and what is said."""
    path = folder / f"t{ending}"
    write_statistical(path, pa.table(columns), books or {})
    declares = {"user_missing": True} if ending.endswith("sav") else {}
    return READERS[ending](path, output_format="dict", **declares)


@pytest.mark.smoke
@pytest.mark.parametrize("ending", READERS)
def test_entries_of_every_type_come_back(tmp_path, ending) -> None:
    columns = {
        "x": pa.array([0.1 + 0.2, None, -1e70], pa.float64()),
        "y": pa.array([0.5, 0.25, float("nan")], pa.float32()),
        "n": pa.array([2**53, None, -3], pa.int64()),
        "s": pa.array(["a", None, "ä" * 300], pa.string()),
        "l": pa.array(["", "b", "c"], pa.large_string()),
        "d": pa.array([DAY, None, dt.date(1900, 1, 1)], pa.date32()),
        "t": pa.array([TIME, None, dt.time()], pa.time64("ns")),
        "m": pa.array([MOMENT, None, dt.datetime(2020, 1, 1)], pa.timestamp("ns")),
        "o": pa.nulls(3),
        "e": pa.nulls(3, pa.string()),
        "c": ["1", "2", None],
        "u": pa.nulls(3, pa.date32()),
        "v": pa.nulls(3, pa.time64("us")),
    }
    found, _ = written(tmp_path, ending, columns)
    assert found["x"] == [0.1 + 0.2, None, -1e70]
    assert found["y"] == [0.5, 0.25, None]
    assert found["n"] == [2**53, None, -3]
    assert found["s"] == ["a", "", "ä" * 300]
    assert found["l"] == ["", "b", "c"]
    assert found["d"] == [DAY, None, dt.date(1900, 1, 1)]
    assert found["t"] == [TIME, None, dt.time()]
    assert found["m"] == [MOMENT, None, dt.datetime(2020, 1, 1)]
    assert found["o"] == [None] * 3
    assert found["e"] == [""] * 3
    assert found["c"] == ["1", "2", ""]
    assert {*found["u"], *found["v"]} <= {None, ""}


@pytest.mark.parametrize("ending", READERS)
def test_labels_of_columns_are_those_that_are_given(tmp_path, ending) -> None:
    books = {"a": Codebook("Age"), "b": Codebook("")}
    _, about = written(tmp_path, ending, {"a": [1.0], "b": [2.0]}, books)
    assert about.column_names_to_labels["a"] == "Age"
    assert not about.column_names_to_labels["b"]
    assert not about.file_label
    assert about.notes == []


@pytest.mark.parametrize(
    ("ending", "longest"), [(".sav", 256), (".zsav", 256), (".dta", 80), (".xpt", 256)]
)
def test_labels_are_cut_to_what_the_format_has(tmp_path, ending, longest) -> None:
    for label in ("x" * 300, "ä" * 300, "x" + "ä" * 300):
        _, about = written(tmp_path, ending, {"a": [1.0]}, {"a": Codebook(label)})
        kept = about.column_names_to_labels["a"]
        assert label.startswith(kept)
        assert longest - 2 < len(kept.encode()) <= longest


@pytest.mark.parametrize("ending", [".sav", ".zsav", ".dta"])
def test_texts_have_their_codes_again_and_only_those_that_occur(
    tmp_path, ending
) -> None:
    columns = {"r": ["South", None, "North", "South"], "z": ["a", "b", "b", None]}
    found, about = written(tmp_path, ending, columns, {"r": REGION})
    assert found["r"] == [2, None, 1, 2]
    assert found["z"] == ["a", "b", "b", ""]
    assert about.variable_value_labels == {"r": {1: "North", 2: "South"}}
    if ending != ".dta":
        assert about.variable_measure == {"r": "ordinal", "z": "nominal"}


def test_a_sas_file_has_the_texts_themselves(tmp_path) -> None:
    columns = {"r": ["South", None, "North"], "n": [1.0, 2.0, 3.0]}
    found, _ = written(tmp_path, ".xpt", columns, {"r": REGION, "n": REGION})
    assert found == {"r": ["South", "", "North"], "n": [1.0, 2.0, 3.0]}


def test_a_text_that_no_code_has_makes_the_column_text(tmp_path) -> None:
    found, about = written(tmp_path, ".sav", {"r": ["North", "*"]}, {"r": REGION})
    assert found["r"] == ["North", "*"]
    assert about.variable_value_labels == {}
    assert about.variable_measure == {"r": "nominal"}


def test_codes_without_a_text_are_spelled(tmp_path) -> None:
    book = Codebook("", ((1.0, "low"), (9.5, "half")))
    found, about = written(tmp_path, ".sav", {"r": ["low", "4", "half"]}, {"r": book})
    assert found["r"] == [1.0, 4.0, 9.5]
    assert about.variable_value_labels == {"r": {1.0: "low", 9.5: "half"}}
    assert about.variable_measure == {"r": "nominal"}
    found, about = written(tmp_path, ".dta", {"r": ["low", "4", "half"]}, {"r": book})
    assert found["r"] == ["low", "4", "half"]  # Stata has texts of whole numbers alone
    assert about.variable_value_labels == {}


def test_codes_that_are_text(tmp_path) -> None:
    book = Codebook("", (("F", "female"), ("M", "male")))
    columns = {"s": ["male", "X", None]}
    found, about = written(tmp_path, ".sav", columns, {"s": book})
    assert found["s"] == ["M", "X", ""]
    assert about.variable_value_labels == {"s": {"M": "male"}}
    found, about = written(tmp_path, ".dta", columns, {"s": book})
    assert found["s"] == ["male", "X", ""]


@pytest.mark.parametrize("ending", [".sav", ".dta"])
def test_numbers_keep_the_texts_of_codes_that_occur(tmp_path, ending) -> None:
    book = Codebook("", ((0.0, "bad"), (10.0, "good"), (99.0, "none")))
    found, about = written(tmp_path, ending, {"x": [0, 5, 10, None]}, {"x": book})
    assert found["x"] == [0, 5, 10, None]
    assert about.variable_value_labels == {"x": {0: "bad", 10: "good"}}
    assert about.variable_measure["x"] == {".sav": "scale"}.get(ending, "unknown")


def test_stata_has_no_texts_of_broken_numbers(tmp_path) -> None:
    book = Codebook("", ((0.0, "bad"),))
    found, about = written(tmp_path, ".dta", {"x": [0.0, 0.5]}, {"x": book})
    assert found["x"] == [0.0, 0.5]
    assert about.variable_value_labels == {}


def test_spss_has_texts_of_broken_numbers(tmp_path) -> None:
    book = Codebook("", ((0.0, "bad"),))
    _, about = written(tmp_path, ".sav", {"x": [0.0, 0.5]}, {"x": book})
    assert about.variable_value_labels == {"x": {0.0: "bad"}}


@pytest.mark.parametrize(
    ("entries", "book", "kind"),
    [
        (["a", None], Codebook(), "string"),
        ([None, None], REGION, "float64"),
        (["North", None], REGION, "float64"),
        (["female", None], Codebook("", (("F", "female"),)), "string"),
    ],
)
def test_columns_have_one_type_whatever_is_missing(entries, book, kind) -> None:
    column = pa.chunked_array([pa.array(entries, pa.string())])
    prepared = statistical_file._prepare(column, book, ".sav")
    assert str(prepared.values.dtype) == kind


def test_codes_that_are_missing_are_declared_where_they_occur(tmp_path) -> None:
    ends = ((-5.0, -1.0), (90.0, 90.0))
    books = {
        "a": Codebook("", (), missing=ends),
        "b": Codebook("", ((-2.0, "refused"), (90.0, "n")), missing=ends),
        "c": Codebook("", (), missing=(("F", "F"),)),
        "d": Codebook("", (), missing=ends),
    }
    columns = {
        "a": [-4.0, -2.0, 90.0, 7.0],
        "b": ["refused", "1", "1", None],
        "c": ["F", "M", "M", "F"],
        "d": [1.0, 2.0, 3.0, 4.0],
    }
    found, about = written(tmp_path, ".sav", columns, books)
    assert found["a"] == columns["a"]
    assert found["b"] == [-2.0, 1.0, 1.0, None]
    assert about.missing_ranges == {
        "a": [{"lo": -4.0, "hi": -2.0}, {"lo": 90.0, "hi": 90.0}],
        "b": [{"lo": -2.0, "hi": -2.0}],
        "c": [{"lo": "F", "hi": "F"}],
    }


@pytest.mark.parametrize("ending", READERS)
def test_no_time_is_in_a_file(tmp_path, ending) -> None:
    label = "22NOV26:19:26:01 22 Nov 2619:26:01 22 Nov 2026 19:26"
    _, about = written(tmp_path, ending, {"x": [1.0]}, {"x": Codebook(label)})
    assert about.creation_time.year == about.modification_time.year == 1970
    assert about.column_names_to_labels["x"] == label
    head = (tmp_path / f"t{ending}").read_bytes()[:120]
    assert dt.datetime.now().strftime("%d %b %Y").encode() not in head
    assert dt.datetime.now().strftime("%d%b%y").upper().encode() not in head


@pytest.mark.parametrize(
    ("pattern", "made"),
    [
        ("sav", b"22 Nov 2619:26:01"),
        ("dta", b"22 Nov 2026 19:26"),
        ("xpt", b"22NOV26:19:26:01"),
    ],
)
def test_the_time_is_looked_for_in_the_header_alone(tmp_path, pattern, made) -> None:
    path = tmp_path / "t"
    path.write_bytes(made + b"--" + made)
    statistical_file._reset_time(path, len(made) + 2)
    found = path.read_bytes()
    assert found[: len(made)] != made
    assert found[len(made) :] == b"--" + made


SHORT = {"x": [1.0], "s": ["y" * 200]}


@pytest.mark.parametrize(
    ("columns", "label", "version"),
    [
        (SHORT, "z" * 40, 5),
        ({**SHORT, "n2345678": [None]}, "", 5),
        ({**SHORT, "n23456789": [1.0]}, "", 8),
        (SHORT, "z" * 41, 8),
        (SHORT, "ä" * 21, 8),
        ({"s": ["y", "y" * 201]}, "", 8),
        ({"s": ["y", None, "ä" * 101]}, "", 8),
    ],
)
def test_a_sas_file_is_of_version_5_where_that_will_do(
    tmp_path, columns, label, version
) -> None:
    columns = {name: pa.array(v) for name, v in columns.items()}
    longest = max(map(len, columns.values()))
    columns = {
        n: v if len(v) == longest else pa.nulls(longest, v.type)
        for n, v in columns.items()
    }
    found, _ = written(tmp_path, ".xpt", columns, {"s": Codebook(label)})
    head = (tmp_path / "t.xpt").read_bytes()[:80]
    assert head.startswith(b"HEADER RECORD*******LIB" + {5: b"RARY", 8: b"V8"}[version])
    assert found["s"] == [entry or "" for entry in columns["s"].to_pylist()]


def test_a_stata_file_is_one_that_version_14_reads(tmp_path) -> None:
    written(tmp_path, ".dta", {"x": [1.0]})
    assert b"<release>118</release>" in (tmp_path / "t.dta").read_bytes()


def test_zsav_is_compressed(tmp_path) -> None:
    for ending in (".sav", ".zsav"):
        written(tmp_path, ending, {"x": [1.0] * 2000})
    assert (tmp_path / "t.sav").read_bytes().startswith(b"$FL2")
    assert (tmp_path / "t.zsav").read_bytes().startswith(b"$FL3")
    sizes = [(tmp_path / f"t{ending}").stat().st_size for ending in (".sav", ".zsav")]
    assert sizes[1] < sizes[0] / 10


def test_what_the_library_refuses_is_not_quoted(tmp_path, monkeypatch) -> None:
    def fails(*given, **how):
        raise ValueError("Ms Secret")

    monkeypatch.setattr(pyreadstat, "write_sav", fails)
    with refused(TableError) as error:
        written(tmp_path, ".sav", {"s": ["Ms Secret"]})
    assert error.value.__suppress_context__


def test_a_disk_that_refuses_is_said_by_who_names_the_place(
    tmp_path, monkeypatch
) -> None:
    def fails(*given, **how):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pyreadstat, "write_sav", fails)
    with pytest.raises(OSError, match="No space"):
        written(tmp_path, ".sav", {"s": ["x"]})


def test_a_relative_path_that_begins_with_a_tilde_is_a_plain_name(
    tmp_path, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_statistical(Path("~t.sav"), pa.table({"x": [1.0]}), {})
    found, _ = pyreadstat.read_sav(tmp_path / "~t.sav", output_format="dict")
    assert found == {"x": [1.0]}
