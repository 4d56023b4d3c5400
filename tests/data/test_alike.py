"""Categories that look alike are one value to a reader, and no l counts them."""

import numpy as np
import pandas as pd
import pytest
from refusals import refused

import aggopt
from aggopt.core.column_names import fold
from aggopt.errors import TableError
from aggopt.job import Job

ALIKE = {
    "composed": ["caf\u00e9", "cafe\u0301", "caf\u00e9\u200b"],
    "case": ["HIV", "hiv", "Hiv"],
    "width": ["flu", "\uff46lu", "f\u00adlu"],
}


def table(entries: list[str]) -> pd.DataFrame:
    numbers = np.random.default_rng(0).normal(size=60)
    return pd.DataFrame({"x": numbers, "ill": (entries * 60)[:60]})


def job(**privacy: object) -> Job:
    roles = {"quasi_identifier": ["x"], "confidential": ["ill"]}
    return Job(roles=roles, privacy={"k": 3, **privacy})


@pytest.mark.parametrize("entries", ALIKE.values(), ids=list(ALIKE))
@pytest.mark.parametrize(
    "privacy",
    [{"l": 3, "repair": "merge"}, {"t": 0.5, "distance": "equal", "repair": "merge"}],
    ids=["l", "t"],
)
def test_a_requirement_refuses_entries_that_look_alike(entries, privacy) -> None:
    with refused(TableError, "'ill'") as caught:
        aggopt.mask(table(entries), job(**privacy))
    assert not any(entry in str(caught.value) for entry in entries)


def test_a_file_of_them_is_refused(tmp_path) -> None:
    table(ALIKE["case"]).to_csv(tmp_path / "people.csv", index=False)
    with refused(TableError):
        aggopt.mask(tmp_path / "people.csv", job(l=3, repair="merge"))


def test_entries_that_look_different_hold_as_before() -> None:
    release = aggopt.mask(table(["flu", "HIV", "none"]), job(l=3, repair="merge"))
    assert release.audit.groups >= 1


def test_entries_that_do_differ_are_allowed_by_name_and_counted() -> None:
    allowed = {"confidential": {"ill": {"alike": "different"}}}
    genotypes = table(["AA", "Aa", "aa"])
    release = aggopt.mask(genotypes, job(l=3, repair="merge", **allowed))
    assert release.audit.promises[0].found >= 3
    assert any("3 of 3 different entries differ" in note for note in release.notes)
    with refused(TableError, "[privacy.confidential.ill]"):
        aggopt.mask(genotypes, job(l=3, repair="merge"))


def test_letters_that_differ_stay_apart() -> None:
    assert fold("Stra\u00dfe") == fold("STRASSE")
    assert fold("a") != fold("\u00e1")


def test_missing_entries_of_several_spellings_are_refused(tmp_path) -> None:
    treated = {"confidential": {"ill": {"missing": "own value"}}, "repair": "merge"}
    requirement = job(t=0.5, distance="equal", **treated)
    path = tmp_path / "people.csv"
    for missing, is_refused in (
        ([".", "NA"], True),
        (["", "null"], True),
        (["NA"], False),
    ):
        table(["flu", *missing]).to_csv(path, index=False)
        if is_refused:
            with refused(TableError, "'ill'"):
                aggopt.mask(path, requirement)
        else:
            assert aggopt.mask(path, requirement).audit.holds
    nothing = table(["flu", None, np.nan])
    assert aggopt.mask(nothing, requirement).audit.holds
