"""The way of a record from a statistical file or a workbook to another one."""

import json

import numpy as np
import pandas as pd
import pyreadstat
import pytest
from refusals import refused
from tables import job, people, smallest

import aggopt
from aggopt.errors import TableError
from aggopt.pipeline.review.review_release import assess_release

ROLES = {
    "identifier": ["name"],
    "quasi-identifier": ["age", "income", "region"],
    "confidential": ["illness"],
    "other": ["trust"],
}
ASKED = job(roles=ROLES, missing={"policy": "fill"}, output={"seed": 1})
REGIONS = {1.0: "North", 2.0: "Middle", 3.0: "South", 4.0: "Isle"}
TEXTS = {"region": REGIONS, "age": {-9.0: "not asked"}, "trust": {99.0: "refused"}}
TEXTS["illness"] = {"x": "flu", "y": "none"}
UNASKED = [1, 5, 9]


def survey() -> pd.DataFrame:
    rng = np.random.default_rng(4)
    frame = people().drop(columns="note")
    frame["age"] = frame["age"].where(~frame.index.isin(UNASKED), -9)
    frame["region"] = rng.integers(1, 4, len(frame)).astype(float)
    frame["illness"] = rng.choice(["x", "y", "z"], len(frame))
    frame["trust"] = np.where(
        frame.index % 7 == 0, 99.0, rng.integers(1, 9, len(frame))
    )
    return frame


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """An SPSS file that says more than a release may."""
    path = tmp_path_factory.mktemp("source") / "survey.sav"
    pyreadstat.write_sav(
        survey(),
        path,
        file_label="internal",
        note="interviewer 17",
        column_labels={"age": "Age in years", "name": "Full name"},
        variable_value_labels=TEXTS,
        missing_ranges={
            "age": [{"lo": -99, "hi": -1}],
            "trust": [98, 99],
            "illness": ["z"],
        },
        variable_measure={"region": "ordinal"},
    )
    return path


@pytest.fixture(scope="module")
def release(source):
    return aggopt.mask(source, ASKED)


def test_codes_that_are_missing_have_no_part_in_a_release(release) -> None:
    ages = release.table["age"].to_pylist()
    assert min(ages) > 0
    assert release.table["illness"].to_pylist().count(None) == sum(
        survey()["illness"] == "z"
    )
    assert smallest(release.table.to_pandas(), ("age", "income", "region")) >= 3
    assert "3 values that are missing in the original are filled" in str(release.notes)


def test_an_spss_file_of_a_release_has_what_is_true_of_it(release, tmp_path) -> None:
    files = release.write(tmp_path / "masked.sav")
    found, about = pyreadstat.read_sav(files.table, user_missing=True)
    assert list(found) == ["age", "illness", "income", "region", "trust"]
    assert about.column_names_to_labels["age"] == "Age in years"
    assert "Full name" not in about.column_labels
    assert about.variable_value_labels == {
        "region": {code: REGIONS[code] for code in set(found["region"])},
        "trust": {99.0: "refused"},
        "illness": {"x": "flu", "y": "none"},
    }
    assert about.missing_ranges == {"trust": [{"lo": 99.0, "hi": 99.0}]}
    assert about.variable_measure["region"] == "ordinal"
    assert (about.file_label, about.notes) == (None, [])
    assert sorted(found["trust"]) == sorted(survey()["trust"])
    raw = files.table.read_bytes()
    for gone in (b"internal", b"interviewer", b"Full name", b"Isle", b"not asked"):
        assert gone not in raw


@pytest.mark.parametrize("ending", [".sav", ".dta", ".xpt", ".xlsx", ".csv"])
def test_every_kind_of_file_is_read_and_measured_again(
    release, source, tmp_path, ending
) -> None:
    files = release.write(tmp_path / f"masked{ending}")
    found = assess_release(source, files.table, ASKED)
    assert found.audit.holds
    assert found.audit.smallest == release.audit.smallest
    assert found.measures is not None
    assert release.measures is not None
    assert found.measures.il == release.measures.il
    stated = json.loads(files.manifest.read_text())
    counted = stated["output"]["recounted"]
    assert counted["smallest"] == release.audit.smallest
    extra = {".xlsx": "openpyxl", ".csv": None}.get(ending, "pyreadstat")
    assert {"pyreadstat", "openpyxl"} & {*stated["versions"]} == {extra} - {None}


def test_codes_apart_are_counted_apart_where_the_file_has_them(
    release, tmp_path
) -> None:
    def alone(ending):
        files = release.write(tmp_path / f"masked_{ending[1:]}{ending}")
        stated = json.loads(files.manifest.read_text())["output"]["recounted"]
        return stated["beside"][-1]["count"]["combinations"]

    frame = release.table.to_pandas()
    declared = frame.assign(trust=frame["trust"].where(frame["trust"] < 98))
    names = ["age", "income", "region", "illness", "trust"]
    assert alone(".sav") == len(frame[names].drop_duplicates())
    assert alone(".dta") == len(declared[names].drop_duplicates())


@pytest.mark.parametrize("ending", [".sav", ".zsav", ".dta", ".xpt", ".xlsx"])
def test_a_release_is_repeated_byte_for_byte(release, source, tmp_path, ending) -> None:
    files = release.write(tmp_path / f"masked{ending}")
    again = aggopt.repeat(files.manifest, source, tmp_path / f"again{ending}")
    assert again.table.read_bytes() == files.table.read_bytes()


def test_names_and_kinds_that_cannot_be_written_leave_nothing_behind(tmp_path) -> None:
    frame = people().rename(columns={"note": "a note"})
    asked = job(roles={**job().roles.model_dump(by_alias=True), "other": ["a note"]})
    made = aggopt.mask(frame, asked)
    with refused(TableError, "'a note'"):
        made.write(tmp_path / "masked.dta")
    with refused(TableError):
        made.write(tmp_path / "masked.por")
    assert list(tmp_path.iterdir()) == []
    made.write(tmp_path / "masked.xlsx")


def test_a_type_that_cannot_be_written_leaves_nothing_behind(tmp_path) -> None:
    frame = people().assign(note=pd.to_timedelta(np.arange(40), unit="h"))
    made = aggopt.mask(frame, job())
    with refused(TableError, "'note'"):
        made.write(tmp_path / "masked.sav")
    assert list(tmp_path.iterdir()) == []


def test_an_original_that_is_booleans_is_measured_again(tmp_path) -> None:
    frame = people().assign(age=np.arange(40) % 3 == 0)
    frame.to_parquet(tmp_path / "people.parquet")
    made = aggopt.mask(tmp_path / "people.parquet", job())
    for ending in (".sav", ".xpt"):
        files = made.write(tmp_path / f"masked{ending[1:]}{ending}")
        found = assess_release(tmp_path / "people.parquet", files.table, job())
        assert found.measures == made.measures
