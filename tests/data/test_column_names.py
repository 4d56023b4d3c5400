"""Names that a kind of file does not allow are refused before there is a file."""

from pathlib import Path

import pytest
from refusals import refused

from aggopt.data.formats.registry import require_column_names
from aggopt.errors import TableError
from aggopt.release.files.output_paths import ReleaseFiles

ALLOWED = {
    "sav": ["a", "Ä.b_$#@1", "a" * 64, "é" * 32, "_x"[1:], "strL", "without"],
    "dta": ["a", "_x", "é1", "a" * 32, "A", "strx", "xstr1", "all"],
    "xpt": ["a", "_1", "a" * 32, "with", "strL"],
    "xlsx": ["a b", "1", "=x", "x" * 255, "A", "a"],
    "csv": ["a\nb", " ", "x" * 999],
    "parquet": ["a\nb"],
}
REFUSED = {
    "sav": ["_a", "1a", "a b", "a.", "", "a" * 65, "é" * 33, "With", "@a"],
    "dta": ["1a", "a b", "a.b", "", "a" * 33, "é" * 17, "if", "str1", "str12", "_n"],
    "xpt": ["1a", "é", "a b", "a.b", "", "a" * 33],
    "xlsx": ["", "a\nb", "a\x00", "x" * 256, "é" * 128],
}


@pytest.mark.parametrize("ending", ALLOWED)
def test_names_that_are_allowed(ending) -> None:
    require_column_names(Path(f"t.{ending}"), ALLOWED[ending])
    require_column_names(Path(f"t.{ending}".upper()), ALLOWED[ending][:1])


@pytest.mark.parametrize("ending", REFUSED)
def test_each_name_that_is_not_is_named(ending) -> None:
    for name in REFUSED[ending]:
        with refused(TableError) as error:
            require_column_names(Path(f"t.{ending}"), ["fine", name])
        assert error.value.problem == (
            f"Column names that a .{ending} file does not allow: {name!r}."
        )


def test_names_that_differ_in_capitals_alone_are_one_in_spss_and_sas() -> None:
    names = ["age", "Age", "b"]
    for ending in ("sav", "zsav", "xpt"):
        with refused(TableError, "'age'", "'Age'"):
            require_column_names(Path(f"t.{ending}"), names)
    for ending in ("dta", "xlsx", "csv"):
        require_column_names(Path(f"t.{ending}"), names)


def test_the_rule_is_said() -> None:
    said = {"sav": "64 bytes", "dta": "32 bytes", "xpt": "32 at most", "xlsx": "255"}
    for ending, words in said.items():
        with pytest.raises(TableError) as error:
            require_column_names(Path(f"t.{ending}"), [""])
        assert words in error.value.fix


def test_places_refuse_names_before_any_work(tmp_path) -> None:
    files = ReleaseFiles.of_table(tmp_path / "masked.sav")
    files.check(overwrite=False, names=["age"])
    with refused(TableError, "'my age'"):
        files.check(overwrite=False, names=["age", "my age"])


def test_places_refuse_what_is_only_read(tmp_path) -> None:
    for ending in (".por", ".sas7bdat"):
        files = ReleaseFiles.of_table(tmp_path / f"masked{ending}")
        with pytest.raises(TableError, match=rf"masked{ending}: {ending} files are re"):
            files.check(overwrite=False)
