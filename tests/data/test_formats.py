"""Endings of files, and packages that are missing."""

from pathlib import Path

import pytest

from aggopt.data.readers import formats
from aggopt.data.readers.formats import (
    ENDINGS,
    READ_ONLY,
    WRITTEN,
    check_ending,
    release_ending,
)
from aggopt.errors import TableError

NEEDED = {".sav": "stats", ".dta": "stats", ".sas7bdat": "stats", ".xlsx": "excel"}


@pytest.mark.parametrize("ending", ENDINGS)
def test_known_endings_pass(ending) -> None:
    check_ending(Path(f"t{ending}"))
    check_ending(Path(f"t{ending.upper()}"))
    if ending in WRITTEN:
        check_ending(Path(f"t{ending}"), written=True)


@pytest.mark.parametrize("name", ["t.xls", "t", "csv", "t.csv.gz"])
def test_others_are_refused_with_the_list(name) -> None:
    for known, written in ((ENDINGS, False), (WRITTEN, True)):
        with pytest.raises(TableError) as refused:
            check_ending(Path(name), written=written)
        assert refused.value.problem == f"{name} ends in none of {', '.join(known)}."


def test_a_release_may_be_of_the_kind_of_its_table() -> None:
    for ending in WRITTEN:
        assert release_ending(Path(f"t{ending.upper()}")) == ending
    assert (release_ending(Path("t.por")), release_ending(Path("t.sas7bdat"))) == (
        ".sav",
        ".xpt",
    )


def test_what_is_only_read_is_not_written() -> None:
    assert {*ENDINGS} - {*WRITTEN} == {*READ_ONLY} == {".por", ".sas7bdat"}
    for ending in READ_ONLY:
        with pytest.raises(TableError, match="are read, and not written") as refused:
            check_ending(Path(f"t{ending}"), written=True)
        assert ".sav" in refused.value.fix


@pytest.mark.parametrize("ending", NEEDED)
def test_a_missing_package_is_refused_with_what_installs_it(
    monkeypatch, ending
) -> None:
    monkeypatch.setattr(formats, "find_spec", lambda name: None)
    with pytest.raises(TableError, match=f"{ending} files are read and writ") as said:
        check_ending(Path(f"t{ending}"))
    assert f"pip install 'aggopt[{NEEDED[ending]}]'" in said.value.fix


def test_csv_and_parquet_need_nothing_more(monkeypatch) -> None:
    monkeypatch.setattr(formats, "find_spec", lambda name: None)
    for ending in (".csv", ".parquet"):
        check_ending(Path(f"t{ending}"))
