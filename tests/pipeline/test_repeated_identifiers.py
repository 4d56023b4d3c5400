"""Entries of an identifier that stand in several records are counted, and said."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import aggopt
from aggopt import Job
from aggopt.inspection.check import check_table

QUASI = ["age", "income"]
JOB = (
    '[roles]\nidentifier = ["patient"]\nquasi-identifier = ["age", "income"]\n'
    "[privacy]\nk = 3\n"
)
SAID = (
    "'patient' has the same value in several records: 3 values in 7 records, at most 3 "
    "records each. If it identifies persons or households, k should count these: "
)


def twice() -> pd.DataFrame:
    """Patients, of whom two stand twice and one three times, and two without a name."""
    names = [*(f"{letter}7" for letter in "aabbcccdefghi"), None, ""]
    return pd.DataFrame(
        {"patient": names, "age": np.arange(15) // 5, "income": np.arange(15.0)}
    )


def job(role: str = "identifier") -> Job:
    roles = {role: ["patient"], "quasi-identifier": QUASI}
    return Job(roles=roles, privacy={"k": 3}, partition={"method": "mdav"})


def said_of_patients(frame: pd.DataFrame, asked: Job) -> list[str]:
    notes = aggopt.mask(frame, asked).notes
    return [note for note in notes if note.startswith("'patient'")]


def test_mask_counts_them() -> None:
    (note,) = said_of_patients(twice(), job())
    assert note.startswith(SAID)
    assert 'unit = ["patient"] under [roles]' in note


WORDS = (["keine", "ruft an: 0171 55", "Frau Meier, 3. Stock"] * 5, ["Anna", "Bo"] * 7)


@pytest.mark.parametrize("entries", WORDS)
def test_words_are_not_proposed_as_units(entries: list[str], tmp_path: Path) -> None:
    path, file = tmp_path / "people.csv", tmp_path / "job.toml"
    frame = twice().head(len(entries)).assign(patient=entries)
    (note,) = said_of_patients(frame, job())
    assert "unit =" not in note
    assert "number them in a column with the role unit" in note
    frame.to_csv(path, index=False)
    file.write_text(JOB)
    assert note in check_table(path, file).notes


@pytest.mark.parametrize(
    ("different", "word"), [(30, "households"), (29, "number them")]
)
def test_a_column_of_many_records_each_is_not_proposed_as_units(
    different: int, word: str
) -> None:
    frame = pd.DataFrame({"patient": np.arange(600) % different})
    frame = frame.assign(age=np.arange(600) % 7, income=np.arange(600.0))
    (note,) = said_of_patients(frame, job())
    assert word in note


def test_a_constant_identifier_has_no_note() -> None:
    assert said_of_patients(twice().assign(patient=1), job()) == []


def test_nothing_is_said_where_each_stands_once_or_k_counts_units() -> None:
    assert said_of_patients(twice().assign(patient=range(15)), job()) == []
    assert said_of_patients(twice().fillna("j"), job("unit")) == []


def test_check_counts_them_too(tmp_path: Path) -> None:
    path, file = tmp_path / "people.csv", tmp_path / "job.toml"
    twice().to_csv(path, index=False)
    file.write_text(JOB)
    (note,) = [note for note in check_table(path, file).notes if "'patient'" in note]
    assert note.startswith(SAID)
