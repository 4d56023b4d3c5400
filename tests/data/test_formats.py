"""Formats of files: their declarations, and the laws that all of them obey."""

import datetime
import tomllib
from decimal import Decimal
from pathlib import Path

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from refusals import refused
from tables import job

from aggopt.data.formats import registry
from aggopt.data.formats.registry import (
    FORMATS,
    find_release_suffix,
    list_packages,
    list_suffixes,
    name_suffixes,
    require_format,
)
from aggopt.data.parsing.entries import (
    Values,
    is_date,
    is_doubtful,
    list_entries,
    make_entry_reader,
    read_tree,
    require_apart,
)
from aggopt.data.readers.read import read_as_text, read_file
from aggopt.errors import JobError, TableError
from aggopt.job import Input
from aggopt.privacy import distinct_l, find_groups
from aggopt.release.files.write_table import write_table

ROOT = Path(__file__).parents[2]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"][
    "optional-dependencies"
]
WRITTEN = list_suffixes(written=True)
ONLY_READ = [suffix for suffix in FORMATS if suffix not in WRITTEN]
JOB = job(roles={"quasi-identifier": ["x", "s"], "other": ["o"]})
COLUMNS = {"x": [1.5, -0.1, None], "s": ["a", "b", None], "o": [1, 2, 3]}


@pytest.mark.parametrize("suffix", WRITTEN)
def test_a_table_that_is_written_is_read_again(tmp_path, suffix) -> None:
    path = tmp_path / f"t{suffix}"
    write_table(path, pa.table(COLUMNS), JOB, {})
    assert read_file(path, JOB.roles, Input()).to_pydict() == {
        **COLUMNS,
        "o": ["1", "2", "3"] if FORMATS[suffix].has_text_entries else [1, 2, 3],
    }


@pytest.mark.parametrize("suffix", WRITTEN)
def test_equal_tables_give_equal_bytes(tmp_path, suffix) -> None:
    first, second = (tmp_path / f"{name}{suffix}" for name in "ab")
    for path in (first, second):
        write_table(path, pa.table(COLUMNS), JOB, {})
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize("suffix", [s for s in WRITTEN if FORMATS[s].open_blocks])
def test_blocks_are_the_table(tmp_path, suffix) -> None:
    path = tmp_path / f"t{suffix}"
    write_table(path, pa.table(COLUMNS), JOB, {})
    blocks = FORMATS[suffix].open_blocks(path, Input())
    assert blocks.records == 3
    assert pa.concat_tables(list(blocks.tables)).equals(read_as_text(path, Input()))


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_file_that_is_none_of_its_format_is_refused_unquoted(
    tmp_path, suffix
) -> None:
    path = tmp_path / f"t{suffix}"
    path.write_bytes(b'"Ms Secret\0' * 999)
    with pytest.raises(TableError) as error:
        read_as_text(path, Input())
    assert "Secret" not in str(error.value)


@pytest.mark.parametrize("suffix", FORMATS)
def test_its_extra_installs_its_package(suffix) -> None:
    format = FORMATS[suffix]
    assert list_packages(Path(f"t{suffix}")) == tuple(filter(None, [format.package]))
    extra = EXTRAS[format.extra] if format.extra else [format.package]
    assert any(line.startswith(format.package) for line in extra)


def row_of_page(suffix: str) -> str:
    """Return the line on a format in the table of the page on files."""
    format = FORMATS[suffix]
    written = "yes" if format.is_written else "no"
    needs = f"`pip install 'aggopt[{format.extra}]'` " if format.extra else ""
    return f"| `{suffix}` | {format.when} | yes | {written} | {needs}|"


def test_the_page_has_a_row_for_each_format() -> None:
    page = (ROOT / "docs" / "files.md").read_text("utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| `.")]
    assert rows == [row_of_page(suffix) for suffix in FORMATS]


@pytest.mark.parametrize("suffix", FORMATS)
def test_known_suffixes_pass(suffix) -> None:
    require_format(Path(f"t{suffix}"))
    require_format(Path(f"t{suffix.upper()}"))
    if suffix in WRITTEN:
        require_format(Path(f"t{suffix}"), written=True)


@pytest.mark.parametrize("name", ["t.xls", "t", "csv", "t.csv.gz"])
def test_others_are_refused_with_the_list(name, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    with refused(TableError, f"no file {name}"):
        require_format(Path(name))
    Path(name).touch()
    for suffixes, written in ((tuple(FORMATS), False), (WRITTEN, True)):
        with pytest.raises(TableError) as error:
            require_format(Path(name), written=written)
        assert error.value.problem == f"{name} ends in none of {', '.join(suffixes)}."


def test_suffixes_are_listed_in_words() -> None:
    assert name_suffixes().startswith(".csv, .parquet, .xlsx, ")
    assert name_suffixes().endswith(" or .rds")


def test_a_release_may_have_the_format_of_its_table() -> None:
    for suffix in WRITTEN:
        assert find_release_suffix(Path(f"t{suffix.upper()}")) == suffix
    assert [find_release_suffix(Path(f"t{s}")) for s in ONLY_READ] == [
        *(".sav", ".xpt", ".csv")
    ]


def test_formats_that_are_only_read_are_not_written() -> None:
    assert ONLY_READ == [".por", ".sas7bdat", ".rds"]
    for suffix in ONLY_READ:
        with refused(TableError):
            require_format(Path(f"t{suffix}"), written=True)


@pytest.mark.parametrize("suffix", [s for s in FORMATS if FORMATS[s].package])
def test_a_missing_package_is_refused_with_what_installs_it(
    monkeypatch, suffix
) -> None:
    monkeypatch.setattr(registry, "find_spec", lambda name: None)
    with pytest.raises(TableError, match=f"{suffix} files are read and wri") as error:
        require_format(Path(f"t{suffix}"))
    assert f"pip install 'aggopt[{FORMATS[suffix].extra}]'" in error.value.fix


def test_csv_and_parquet_need_nothing_more(monkeypatch) -> None:
    monkeypatch.setattr(registry, "find_spec", lambda name: None)
    for suffix in (".csv", ".parquet"):
        require_format(Path(f"t{suffix}"))


# --- entries of confidential attributes, in memory and as a file repeats them


@pytest.mark.parametrize(
    ("value", "text", "meant"),
    [
        (1, "1", 1),
        (np.int64(7), " +7 ", 7),
        (1.5, "1.50", 1.5),
        (Decimal("2.50"), "2.5", 2.5),
        (Decimal("2.0"), "2", 2),
        (10**20, str(10**20), 10**20),
        (True, "True", "True"),
        (np.inf, "inf", "inf"),
        (-np.inf, "-inf", "-inf"),
        ("flu", "flu ", "flu"),
        (None, "", None),
        (np.nan, "NA", None),
        (pd.NA, ".", None),
        (pd.NaT, "n/a", None),
        (Decimal("NaN"), "NaN", None),
    ],
)
def test_a_value_is_what_its_text_is(value, text, meant) -> None:
    entry = make_entry_reader(".")
    for given in (value, text):
        found = entry(given)
        assert found == meant
        assert type(found) is type(meant)


def test_a_decimal_comma() -> None:
    entry = make_entry_reader(",")
    assert (entry("1,5"), entry("1.5"), entry("1e999")) == (1.5, "1.5", "inf")


def test_text_that_may_stand_for_what_is_missing_is_counted() -> None:
    entries = ["-", "Unknown", "inf", "-", "none", "flu", None, "3"]
    values = Values.of(
        nw.new_series("x", entries, backend="polars"), make_entry_reader(".")
    )
    assert values.count(is_doubtful) == 4
    assert values.all.tolist() == [*entries[:-1], 3]


def test_refusals() -> None:
    with refused(TableError):
        require_apart([1, 1.0, "a", "a", None])
    with refused(JobError):
        read_tree({"1": ["a"], "01": ["b"]}, make_entry_reader("."))
    for odd in ([1, "a"], [[1], [2]], [b"a", b"b"], [10**30, 1], [1j, 2j]):
        frame = nw.from_native(pd.DataFrame({"x": pd.Series(odd, dtype=object)}))
        with refused(TableError) as error:
            list_entries(frame["x"])
        assert error.value.__cause__ is None


@pytest.mark.parametrize("kind", [pl.Datetime("ns"), pl.Duration("ns"), pl.Time])
def test_times_are_told_apart_to_the_nanosecond(kind) -> None:
    column = pl.Series("x", [0, 1, 2, None]).cast(kind)
    found = list_entries(nw.from_native(column.to_frame())["x"])
    assert len(set(found.tolist())) == 4
    assert sum(map(is_date, found)) == 3
    assert distinct_l([0, 0, 0], column.head(3)) == 3
    assert find_groups(column).tolist() == [1, 2, 3, 0]


def test_dates_are_dates_and_the_two_zeros_are_one() -> None:
    day = datetime.date(2020, 1, 2)
    frame = nw.from_native(pd.DataFrame({"day": [day, None], "zero": [0.0, -0.0]}))
    assert sum(map(is_date, list_entries(frame["day"]))) == 1
    zeros = list_entries(frame["zero"])
    assert zeros[0] != zeros[1]  # as a file has them
    with refused(TableError):
        require_apart(map(make_entry_reader(","), zeros))
