"""`aggopt init` looks at a table: it proposes roles, and says what is to be decided."""

import re
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pyreadstat
import pytest
from command.test_check import HOSTILE
from command.test_cli import here  # noqa: F401
from tables import people, smallest

from aggopt import Job
from aggopt.data.readers.column_profile import FEW_SHARE, profile_columns
from aggopt.data.readers.csv_dialect import read_with_dialect
from aggopt.inspection.draft import propose_job

INIT = ("init", "people.csv", "--out", "new.toml")


def numbers(n: int = 40) -> pd.DataFrame:
    """Persons of whom nothing must be decided."""
    frame = people(n).drop(columns=["illness", "note"]).assign(country="X")
    return frame.rename(columns={"income": "height"})


def roles(path: str = "new.toml") -> dict[str, list[str]]:
    found = tomllib.loads(Path(path).read_text())["roles"]
    return {role: names for role, names in found.items() if names}


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_job_is_ready_to_mask_where_nothing_must_be_decided(here, aggopt, ending):  # noqa: F811
    numbers().to_csv("people.csv", index=False)
    numbers().to_parquet("people.parquet")
    code, out, err = aggopt("init", f"people.{ending}", "--out", "new.toml")
    assert (code, err) == (0, "")
    assert "Look at the roles" in out
    assert roles() == {
        "identifier": ["name"],
        "quasi-identifier": ["age", "height"],
        "other": ["country"],
    }
    text = Path("new.toml").read_text()
    assert "# Nothing must be decided before" in text
    assert "DECIDE" not in text
    assert aggopt("check", f"people.{ending}", "new.toml")[0] == 0
    masked = f"masked.{ending}"
    assert aggopt("mask", f"people.{ending}", "new.toml", "--out", masked)[0] == 0
    read = pd.read_csv if ending == "csv" else pd.read_parquet
    assert smallest(read(masked), ("age", "height")) >= 5


def test_separator_and_decimal_point_are_found(here, aggopt):  # noqa: F811
    numbers().to_csv("people.csv", index=False, sep=";", decimal=",")
    aggopt(*INIT)
    section = tomllib.loads(Path("new.toml").read_text())["input"]
    assert (section["separator"], section["decimal"]) == (";", ",")
    assert roles()["quasi-identifier"] == ["age", "height"]
    assert aggopt("mask", "people.csv", "new.toml", "--out", "m.csv")[0] == 0
    aggopt(*INIT, "--decimal", ".", "--overwrite")
    assert tomllib.loads(Path("new.toml").read_text())["input"]["decimal"] == "."
    assert "height" not in roles()["quasi-identifier"]
    assert "height" not in roles()["identifier"]  # numbers, if otherwise spelled


def test_dates_are_masked_as_dates(here, aggopt):  # noqa: F811
    days = pd.date_range("1950-01-01", periods=40)
    dated = {"born": days.astype(str), 'at "noon"': days.strftime("%Y-%m-%dT%H:%MZ")}
    numbers().assign(**dated).to_csv("people.csv", index=False)
    aggopt(*INIT)
    text = Path("new.toml").read_text()
    assert "# dates, spelled as text, 40 different: masked as dates" in text
    sections = tomllib.loads(text)["attributes"]
    dates = {name: {"kind": "date"} for name in dated}
    assert sections == {"age": FROM_ZERO, "height": FROM_ZERO, **dates}
    _, out, _ = aggopt("check", "people.csv", "new.toml")
    assert "Nothing stands in the way" in out
    assert not re.search("Note: 'born'", out)
    assert aggopt("mask", "people.csv", "new.toml", "--out", "m.csv")[0] == 0
    assert pd.read_csv("m.csv")["born"].str.fullmatch(r"19\d\d-\d\d-\d\d").all()


def test_entries_that_span_lines_are_to_be_decided(here, aggopt):  # noqa: F811
    remark = [*["two\nlines"] * 8, *["one"] * 32]
    numbers().assign(remark=remark).to_csv("people.csv", index=False)
    assert aggopt(*INIT)[0] == 0
    text = Path("new.toml").read_text()
    said = " ".join(text.split("\n# "))
    assert "To be decided before: 8 entries of people.csv span several lines" in said
    assert aggopt("check", "people.csv", "new.toml")[0] == 2
    decided = text.replace("multiline = false", "multiline = true")
    Path("new.toml").write_text(decided)
    assert aggopt("check", "people.csv", "new.toml")[0] == 0


def test_typed_dates_need_no_section(tmp_path):
    days = pd.date_range("1950-01-01", periods=40)
    path = tmp_path / "people.parquet"
    numbers().assign(born=days).to_parquet(path)
    text = propose_job(path, tmp_path / "job.toml").text
    assert "# dates or times, 40 different: masked as dates" in text
    assert "born" not in tomllib.loads(text)["attributes"]


def test_what_must_be_decided_is_said(here, aggopt):  # noqa: F811
    frame = numbers()
    frame["step"] = [np.nan] * 36 + [*range(4)]
    frame.to_csv("people.csv", index=False)
    _, out, _ = aggopt(*INIT)
    text = Path("new.toml").read_text()
    assert "Decide on 1 column" in out
    assert "# To be decided before: 1 column, marked DECIDE below." in text
    assert "step" not in roles()["quasi-identifier"]
    assert '#     "step": numbers, 4 different, 36 missing: masked as numbers' in text
    assert "# To do: drop it, as identifier, or choose a smaller k." in text
    assert (
        'policy = "refuse"        # no value of a quasi-identifier is missing' in text
    )
    code, out, _ = aggopt("check", "people.csv", "new.toml")
    assert code == 2
    assert "Obstacle 1: No role is declared for 'step'." in out


def holed(**missing: int) -> pd.DataFrame:
    """Persons of whom so many first entries are missing in some columns."""
    days = pd.date_range("1950-01-01", periods=40).astype(str)
    frame = numbers().assign(
        born=days, sex=[1, 2] * 20, town=[*"abcd"] * 10, zone=[3, 4, 5, 6] * 10
    )
    for name, count in missing.items():
        frame.loc[: count - 1, name] = None
    return frame


CODES = {"kind": "nominal"}
FROM_ZERO = {"lower": 0}
POLICIES = {  # what is missing, the policy, and why
    "nothing": ({}, "refuse", "no value of a quasi-identifier is missing"),
    "as many as k share": (
        {"born": 8, "zone": 8},
        "patterns",
        "16 values of 2 columns missing: they stay so, and no other is suppressed",
    ),
    "few records share": (
        {"born": 3, "town": 1},
        "fill",
        "4 values of 2 columns missing: what the group publishes stands in their "
        'place; "patterns" would suppress',
    ),
}


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("case", POLICIES)
def test_a_job_masks_columns_with_holes_as_it_stands(here, aggopt, case, ending):  # noqa: F811
    missing, policy, reason = POLICIES[case]
    holed(**missing).to_csv("people.csv", index=False)
    holed(**missing).to_parquet("people.parquet")
    aggopt("init", f"people.{ending}", "--out", "new.toml")
    text = Path("new.toml").read_text()
    found = tomllib.loads(text)
    assert found["missing"]["policy"] == policy
    assert reason in re.sub(r"\s+# ", " ", text)
    assert "DECIDE" not in text
    assert found["attributes"]["born"] == {"kind": "date"}
    assert found["attributes"]["sex"] == found["attributes"]["zone"] == CODES
    hint = 'if they count something, write kind = "numeric"'
    assert re.sub(r"\s+# ", " ", text).count(hint) == 1  # two values count nothing
    assert set(roles()["quasi-identifier"]) >= {"born", "sex", "town", "zone"}
    assert aggopt("check", f"people.{ending}", "new.toml")[0] == 0
    masked = f"masked.{ending}"
    assert aggopt("mask", f"people.{ending}", "new.toml", "--out", masked)[0] == 0


def test_a_policy_is_proposed_of_the_columns_that_are_decided(here, aggopt):  # noqa: F811
    holed(born=38, town=8).to_csv("people.csv", index=False)
    aggopt(*INIT)
    text = Path("new.toml").read_text()
    assert "# DECIDE on 1 column:" in text
    assert tomllib.loads(text)["missing"]["policy"] == "patterns"
    assert "8 values of 1 column missing: they stay so" in text
    codes = {"sex": CODES, "zone": CODES}
    masked = {"age": FROM_ZERO, "height": FROM_ZERO, **codes}
    assert tomllib.loads(text)["attributes"] == masked


def test_dates_of_another_spelling_have_a_format_or_a_question(here, aggopt):  # noqa: F811
    days = pd.date_range("1950-01-01", periods=40)
    swapped = pd.date_range("1950-01-01", periods=40, freq="MS")
    spelled = {
        "born": days.strftime("%d.%m.%Y"),
        "seen": days.strftime("%m/%d/%y"),
        "left": swapped.strftime("%d/%m/%Y"),
    }
    numbers().assign(**spelled).to_csv("people.csv", index=False)
    aggopt(*INIT)
    text = re.sub(r"\n#\s+", " ", Path("new.toml").read_text())
    assert text.count("DECIDE on 1 column") == 2
    assert '"seen": dates, not as ISO 8601 spells them, 40 different: in a' in text
    assert "not known To do: list it as quasi-identifier, and spell them as" in text
    assert "no day is above 12: day and month could be swapped To do: list it as" in (
        text
    )
    assert 'write format = "%d/%m/%Y", or format = "%m/%d/%Y" under' in text
    found = tomllib.loads(Path("new.toml").read_text())
    assert found["attributes"]["born"] == {"format": "%d.%m.%Y"}
    job = Path("new.toml").read_text().replace("drop = []", 'drop = ["seen", "left"]')
    Path("new.toml").write_text(job)
    code, out, _ = aggopt("check", "people.csv", "new.toml")
    assert (code, "spells dates otherwise" in out) == (0, False)
    assert aggopt("mask", "people.csv", "new.toml", "--out", "masked.csv")[0] == 0
    masked = pd.read_csv("masked.csv")
    assert masked["born"].str.fullmatch(r"\d\d\.\d\d\.1950").all()
    assert smallest(masked, ("age", "height")) >= 5


def test_whole_numbers_that_nearly_all_differ_are_to_be_decided(tmp_path):
    path = tmp_path / "people.csv"
    numbers_of = np.random.default_rng(0).permutation(10**6)[:100]
    frame = pd.DataFrame({"card": numbers_of, "most": numbers_of, "age": range(100)})
    frame["age"] %= 70
    frame.loc[:9, "most"] = 0
    frame.loc[:11, "less"] = 0.0
    frame.loc[12:, "less"] = numbers_of[12:]
    frame.loc[50:, "holes"] = numbers_of[50:]
    frame.loc[51:, "few"] = numbers_of[51:]
    frame.to_csv(path, index=False)
    made = propose_job(path, tmp_path / "job.toml")
    found = tomllib.loads(made.text)["roles"]
    assert [each.column for each in made.undecided] == ["card", "most", "holes"]
    assert found["quasi-identifier"] == ["age", "less", "few"]
    assert "100 different: nearly each entry is of one record" in made.text


def survey(homes: int = 100) -> pd.DataFrame:
    """Households of two persons with codes, spending, weights and what is of no use."""
    rng = np.random.default_rng(5)
    n = 2 * homes
    return pd.DataFrame(
        {
            "hhid": np.repeat(rng.permutation(homes) + 700, 2),
            "region": np.repeat(rng.integers(1, 5, homes), 2),
            "relationship": rng.integers(1, 8, n),
            "age": rng.integers(18, 90, n),
            "spending": rng.lognormal(10, 1, n).round().astype(int),
            "distance": rng.lognormal(10, 1, n),
            "sampling_weight": np.repeat(rng.gamma(2, 40, homes) + 1, 2),
            "nothing": np.full(n, np.nan),
        }
    )


def test_the_roles_of_a_household_survey(here, aggopt):  # noqa: F811
    survey().to_csv("people.csv", index=False)
    code, out, _ = aggopt(*INIT)
    assert code == 0
    assert roles() == {
        "quasi-identifier": ["region", "relationship", "age", "spending", "distance"],
        "unit": ["hhid"],
        "weight": ["sampling_weight"],
        "drop": ["nothing"],
    }
    found = tomllib.loads(Path("new.toml").read_text())["attributes"]
    numeric = dict.fromkeys(("age", "spending", "distance"), FROM_ZERO)
    assert found == {"region": CODES, "relationship": CODES, **numeric}
    rows = {row.split()[0]: row for row in out.splitlines() if row.startswith("'")}
    assert (
        "unit              whole numbers, 100 different: it numbers" in (rows["'hhid'"])
    )
    assert aggopt("check", "people.csv", "new.toml")[0] == 0
    assert aggopt("mask", "people.csv", "new.toml", "--out", "m.csv")[0] == 0
    assert set(pd.read_csv("m.csv")["relationship"]) <= set(range(1, 8))


def test_a_column_of_which_others_are_constant_is_asked_for(tmp_path):
    path = tmp_path / "people.csv"
    survey().rename(columns={"hhid": "v17"}).to_csv(path, index=False)
    made = propose_job(path, tmp_path / "job.toml")
    (asked,) = made.undecided
    assert asked.column == "v17"
    assert "records that share an entry agree in 2 other columns" in asked.problem
    assert asked.fix.startswith("list it as unit, if it numbers what")


def test_of_two_weights_a_person_names_one(tmp_path):
    path = tmp_path / "people.csv"
    frame = survey()
    frame["final_weight"] = frame["sampling_weight"] * 1.1
    frame.to_csv(path, index=False)
    made = propose_job(path, tmp_path / "job.toml")
    assert [each.column for each in made.undecided] == [
        "sampling_weight",
        "final_weight",
    ]
    assert all(
        each.fix.startswith("list one of these columns as weight")
        for each in made.undecided
    )


def test_a_second_column_that_is_called_a_weight_puts_both_in_question(tmp_path):
    path = tmp_path / "people.csv"
    frame = survey()
    frame["household_weights"] = 100  # of one value
    frame["weight"] = np.arange(len(frame)) % 50 + 50  # of a body
    frame.to_csv(path, index=False)
    draft = propose_job(path, tmp_path / "job.toml")
    remedies = {each.column: each.fix[:35] for each in draft.undecided}
    assert remedies.pop("weight").startswith("list it as weight")
    assert set(remedies) == {"sampling_weight", "household_weights"}
    assert set(remedies.values()) == {"list one of these columns as weight"}


def test_labels_of_a_statistical_file_are_read(tmp_path):
    path = tmp_path / "people.sav"
    frame = survey().drop(columns="nothing")
    labels = {"hhid": "Household number", "sampling_weight": "Sampling weight"}
    numbered = {name: f"v{j}" for j, name in enumerate(frame.columns)}
    pyreadstat.write_sav(
        frame.rename(columns=numbered),
        str(path),
        column_labels=[labels.get(name, "") for name in frame.columns],
    )
    text = propose_job(path, tmp_path / "job.toml").text
    found = tomllib.loads(text)["roles"]
    assert (found["unit"], found["weight"]) == (["v0"], ["v6"])
    assert "'Household number', whole numbers, 100 different" in text


def test_nested_columns_are_dropped_and_the_job_masks(here, aggopt):  # noqa: F811
    numbers().assign(seen=[[1, 2]] * 40).to_parquet("people.parquet")
    aggopt("init", "people.parquet", "--out", "new.toml")
    assert roles()["drop"] == ["seen"]
    assert aggopt("check", "people.parquet", "new.toml")[0] == 0
    command = ("mask", "people.parquet", "new.toml", "--out", "m.parquet")
    assert aggopt(*command)[0] == 0
    assert "seen" not in pd.read_parquet("m.parquet").columns


def with_remarks(n: int = 400) -> pd.DataFrame:
    """Patients, of whom 32 have a remark of their own, and places of few."""
    rng = np.random.default_rng(6)
    remark = rng.choice(["none", "seen"], n).astype(object)
    own = rng.choice(n, 32, replace=False)
    remark[own] = [f"call 0{number} after 5" for number in range(32)]
    place = rng.choice(["Ulm", "Bonn", "Jena"], n).astype(object)
    place[:6] = ["Au", "Au", "Ems", "Ems", "Hof", "Hof"]
    ages = rng.integers(20, 90, n)
    return pd.DataFrame({"age": ages, "place": place, "remark": remark})


def test_no_remark_that_one_person_has_is_published(here, aggopt):  # noqa: F811
    frame = with_remarks()
    frame.to_csv("people.csv", index=False)
    aggopt(*INIT)
    text = Path("new.toml").read_text()
    assert "remark" not in str(roles())
    assert "32 of 34 entries are of fewer than 5 records" in text
    mask = ("mask", "people.csv", "new.toml", "--out", "m.csv", "--overwrite")
    assert aggopt(*mask)[0] == 2  # undecided
    assert not Path("m.csv").exists()
    masked_too = text.replace("quasi-identifier = [", 'quasi-identifier = ["remark",')
    for decided in (
        text.replace("\nidentifier = []", '\nidentifier = ["remark"]'),
        masked_too + AVOID,
    ):
        Path("new.toml").write_text(decided)
        assert aggopt(*mask)[0] == 0
        masked = pd.read_csv("m.csv")
        for name in set(masked) - {"age"}:
            had = frame[name].value_counts()
            assert had[masked[name].unique()].min() >= 5


def test_no_place_of_few_persons_is_published(here, aggopt):  # noqa: F811
    """Of 400 persons 260 live in places of fewer than 5, by 2 to 4 each."""
    rng = np.random.default_rng(5)
    sizes = [2, 3, 4, 3, 3] * 17 + [5] * 1
    few = np.repeat(
        [f"Hof{chr(97 + i % 26)}{'a' * (i // 26)}" for i in range(86)], sizes
    )
    places = [*few[:260], *rng.choice(["Ulm", "Bonn", "Jena"], 140)]
    frame = pd.DataFrame({"age": rng.integers(20, 90, 400), "place": places})
    frame.to_csv("people.csv", index=False)
    aggopt(*INIT)
    text = Path("new.toml").read_text()
    assert "place" not in str(roles())
    mask = ("mask", "people.csv", "new.toml", "--out", "m.csv", "--overwrite")
    assert aggopt(*mask)[0] == 2  # undecided
    masked_too = text.replace("quasi-identifier = [", 'quasi-identifier = ["place",')
    Path("new.toml").write_text(masked_too)
    assert aggopt(*mask)[0] == 2  # most are rare, and the job does not say what then
    Path("new.toml").write_text(masked_too + AVOID.replace("remark", "place"))
    assert aggopt(*mask)[0] == 0
    had = frame["place"].value_counts()
    assert had[pd.read_csv("m.csv")["place"].unique()].min() >= 5


AVOID = """
[attributes.remark]
rare = "avoid"
"""


def test_rare_categories_are_proposed_to_be_avoided(tmp_path):
    path = tmp_path / "people.csv"
    with_remarks()[["age", "place"]].to_csv(path, index=False)
    text = propose_job(path, tmp_path / "job.toml").text
    place = {"rare": "avoid"}
    assert tomllib.loads(text)["attributes"] == {"age": FROM_ZERO, "place": place}
    assert "3 of 6 values are of fewer than 5 records, and not published" in re.sub(
        r"\s+#\s+", " ", text
    )


@pytest.mark.parametrize("categorical", [False, True])
def test_categories_are_rare_if_few_units_have_them(tmp_path, categorical):
    size, units = 4, 50
    region = np.repeat(["a", "b", "c"], [size * 2, size * 20, size * 28])
    frame = pd.DataFrame(
        {"hhid": 100 + np.repeat(range(units), size), "region": region}
    )
    frame["region"] = frame["region"].astype("category" if categorical else "str")
    frame["age"] = np.random.default_rng(0).integers(0, 90, len(frame))
    path = tmp_path / "people.parquet"
    frame.to_parquet(path)
    text = propose_job(path, tmp_path / "job.toml").text
    assert tomllib.loads(text)["attributes"]["region"] == {"rare": "avoid"}
    assert "1 of 3 values is of fewer than 5 units, and not published" in re.sub(
        r"\s+#\s+", " ", text
    )
    frame.drop(columns="hhid").to_parquet(path)
    text = propose_job(path, tmp_path / "job.toml").text
    assert "region" not in tomllib.loads(text)["attributes"]


def test_what_is_never_negative_is_published_from_zero_up(here, aggopt):  # noqa: F811
    rng = np.random.default_rng(3)
    people = pd.DataFrame(
        {
            "age": rng.integers(0, 90, 80),
            "height": rng.lognormal(8, 2, 80),
            "change": rng.normal(0, 1000, 80),
        }
    )
    people.to_csv("people.csv", index=False)
    aggopt(*INIT)
    text = Path("new.toml").read_text()
    found = tomllib.loads(text)["attributes"]
    assert found == {"age": FROM_ZERO, "height": FROM_ZERO}
    keeping = '[aggregation]\nmethod = "mean"\nkeep = "variance"\n'
    job = {
        "new.toml": re.sub(r"\n\[aggregation\]\n(method = .*\n)?", f"\n{keeping}", text)
    }
    job["free.toml"] = job["new.toml"].replace("\nlower = 0", "\n# lower = 0")
    least = {}
    for name, stated in job.items():
        Path(name).write_text(stated)
        code, out, _ = aggopt(
            "mask", "people.csv", name, "--out", "m.csv", "--overwrite"
        )
        assert code == 0
        least[name] = pd.read_csv("m.csv")["height"].min()
        assert ("Below 0, where no original is" in out) is (name == "free.toml")
    assert least["free.toml"] < 0 <= least["new.toml"]


def test_k_of_the_job_is_the_one_that_rare_is_of(tmp_path):
    path = tmp_path / "people.csv"
    numbers().to_csv(path, index=False)
    text = propose_job(path, tmp_path / "job.toml").text
    assert Job(**tomllib.loads(text)).privacy.k == FEW_SHARE


def test_it_says_how_to_check_and_to_mask(here, aggopt):  # noqa: F811
    numbers().to_csv("people.csv", index=False)
    for again in ((), ("--overwrite",)):
        out = aggopt(*INIT, *again)[1].splitlines()
        assert out[-2:] == [
            "    aggopt check people.csv new.toml",
            "    aggopt mask people.csv new.toml --out masked.csv",
        ]
        numbers(4).to_csv("people.csv", index=False)


def test_what_no_column_is_to_blame_for_is_said(here, aggopt):  # noqa: F811
    numbers(4).to_csv("people.csv", index=False)
    aggopt(*INIT)
    said = " ".join(Path("new.toml").read_text().split("\n# ")[:9])
    assert "To be decided before: k = 5, but there are only 4 records." in said
    numbers(0).to_csv("people.csv", index=False)
    aggopt(*INIT, "--overwrite")
    assert (
        "To be decided before: No column is proposed as quasi"
        in Path("new.toml").read_text()
    )


def test_no_entry_is_shown(here, aggopt):  # noqa: F811
    people().assign(secret="Person 7").to_csv("people.csv", index=False)
    code, out, _ = aggopt(*INIT)
    text = Path("new.toml").read_text()
    assert code == 0
    assert "40 different" in text
    for entry in ("Person", "007", "1.10", str(people()["income"].max())):
        assert entry not in text + out


@pytest.mark.parametrize(
    "name",
    [
        *("diagnosis", "HIV", "Religion", "cause_of_death", "Turnover", "hourlyWage"),
        *("Krankheit", "Bruttolohn", "Jahreseinkommen", "todesursache", "Straftaten"),
        *("maladie", "revenu", "salaire", "Bénéfice", "causa_de_muerte", "enfermedad"),
    ],
)
def test_confidential_data_are_asked_for_and_not_masked(here, aggopt, name):  # noqa: F811
    frame = numbers().assign(**{name: ["no", "yes", "yes", "no"] * 10})
    frame.to_csv("people.csv", index=False)
    _, out, _ = aggopt(*INIT)
    assert all(name not in names for names in roles().values())
    text = re.sub(r"\n#\s+", " ", Path("new.toml").read_text())
    assert (
        "its name is that of confidential data To do: list it as quasi-identifier"
        in text
    )
    assert "Decide on 1 column" in out
    assert aggopt("mask", "people.csv", "new.toml", "--out", "m.csv")[0] == 2


@pytest.mark.parametrize(
    ("name", "entries", "asks"),
    [
        ("v7", ["flu", "HIV", "none", "asthma"], True),
        ("v7", ["I10.0", "E11.9", "F32.1", "C50.9"], True),
        ("ill", ["0", "1", "2", "1"], True),
        ("v7", ["influence", "hive", "none", "flute"], False),
    ],
)
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_entries_that_are_illnesses_are_asked_for(
    tmp_path, name, entries, asks, ending
):
    path = tmp_path / f"people.{ending}"
    frame = numbers().assign(**{name: entries * 10})
    frame.to_csv(path, index=False) if ending == "csv" else frame.to_parquet(path)
    draft = propose_job(path, tmp_path / "job.toml")
    assert [each.column for each in draft.undecided] == [name] * asks


@pytest.mark.parametrize("name", ["age_at_diagnosis", "zinc", "province", "height"])
def test_other_columns_are_not_confidential_by_their_names(here, aggopt, name):  # noqa: F811
    frame = numbers().drop(columns="height").assign(**{name: [*range(20)] * 2})
    frame.to_csv("people.csv", index=False)
    aggopt(*INIT)
    assert name in roles()["quasi-identifier"]


def test_the_label_of_a_statistical_file_says_that_data_are_confidential(tmp_path):
    path = tmp_path / "people.sav"
    frame = pd.DataFrame({"v1": [*range(20)] * 2, "v2": [1.5, 2.25, 3.0, 9.0] * 10})
    labels = ["Age in years", "Monthly income"]
    pyreadstat.write_sav(frame, str(path), column_labels=labels)
    (asked,) = propose_job(path, tmp_path / "job.toml").undecided
    assert (asked.column, "or as confidential" in asked.fix) == ("v2", True)


@pytest.mark.parametrize("what", HOSTILE)
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_hostile_files(here, aggopt, what, ending):  # noqa: F811
    Path(f"odd.{ending}").write_bytes(HOSTILE[what])
    code, out, err = aggopt("init", f"odd.{ending}", "--out", "new.toml")
    read = ending == "csv" and what in {"one column", "header alone", "zero bytes"}
    assert code == (0 if read else 2)
    assert ("To fix:" in err) is not read
    assert "Internal" not in err
    if not read:
        assert "Zq7" not in out + err
        assert not Path("new.toml").exists()


def test_a_first_line_of_entries_is_no_header(here, aggopt):  # noqa: F811
    Path("people.csv").write_text("flu,yes\nasthma,no\nflu,yes\n")
    code, _, err = aggopt(*INIT)
    assert code == 2
    assert "2 of the 2 column names of people.csv occur below as entries" in err


def test_odd_names_are_written_so_that_they_are_read(tmp_path):
    names = ['a"b', "c\\d", "e\x7ff", "g\th", "# i", "ü\u2028", "x" * 200]
    path = tmp_path / "odd.parquet"
    pd.DataFrame({name: np.arange(9.0) ** 2 for name in names}).to_parquet(path)
    text = propose_job(path, tmp_path / "job.toml").text
    job = Job(**tomllib.loads(text))
    assert list(job.roles.quasi_identifier) == names


def test_a_wide_table(tmp_path):
    path = tmp_path / "wide.csv"
    pd.DataFrame(np.eye(8, 300)).add_prefix("c").to_csv(path, index=False)
    made = propose_job(path, tmp_path / "job.toml")
    found = Job(**tomllib.loads(made.text)).roles
    assert made.undecided == ()
    assert (len(found.quasi_identifier), len(found.other)) == (8, 292)


LOOKS = {
    "whole": ([3, 9, 3, None], "whole numbers, 2 different, 1 missing"),
    "parts": ([0.5, 1.5, 2.5, 2.5], "numbers, 3 different"),
    "words": (["a", "b", "a", None], "text, 2 different, 1 missing"),
    "truth": ([True, False, True, True], "truth values, 2 different"),
    "days": (["2020-01-01", "2020-01-02"] * 2, "dates, spelled as text, 2 different"),
    "no days": (["2020-02-29", "2020-02-30"] * 2, "text, 2 different"),
    "first no day": (
        ["2020-02-30", "", "2020-02-28"] * 2,
        "text, 2 different, 2 missing",
    ),
    "hours": (["23:59", "12:00"] * 2, "dates, spelled as text, 2 different"),
    "none": ([None] * 4, "nothing, 4 missing"),
    "same": (["x"] * 4, "text, 1 different"),
}


@pytest.mark.parametrize("name", LOOKS)
def test_what_a_column_looks_like(tmp_path, name):
    entries, says = LOOKS[name]
    path = tmp_path / "people.csv"
    kind = "Int64" if name == "whole" else None
    frame = pd.DataFrame({name: pd.array(entries, kind), "id": range(len(entries))})
    frame.to_csv(path, index=False)
    look, number = profile_columns(*read_with_dialect(path))
    assert str(look) == says
    assert (look.constant, look.names_records) == (name in {"none", "same"}, False)
    assert number.names_records


def test_numbers_that_are_words_are_no_identifier(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("a,b\n1,A1\n2,A2\nthree,A3\n")
    some, all_ = profile_columns(*read_with_dialect(path))
    assert (some.names_records, all_.names_records) == (False, True)
    assert re.fullmatch("text, 3 different", str(some))


def reasons(tmp_path, **columns):
    """Return the reason of each proposal, for a table of these columns."""
    path = tmp_path / "people.csv"
    pd.DataFrame(columns).to_csv(path, index=False)
    proposed = propose_job(path, tmp_path / "job.toml").proposed
    return {proposal.look.name: proposal.reason for proposal in proposed}


@pytest.mark.parametrize(
    ("labels", "alike"),
    [
        (["North", "north", "South"], "2 of 3"),
        (["F", "f", "m"], "2 of 3"),
        (["a", "b", "B ", "b"], "2 of 3"),
        (["a", "b", "c"], None),
    ],
)
def test_labels_that_look_alike_are_noted(tmp_path, labels, alike):
    found = reasons(tmp_path, area=labels * 12, age=range(20, 20 + 12 * len(labels)))
    assert ("differ from another" in found["area"]) == bool(alike)
    assert (alike or "masked as names") in found["area"]
    assert "differ" not in found["age"]


AGES = [20 + i % 60 for i in range(120)]
STRAY = {  # entries that take the place of the first ones
    (999,): 1,
    (-9, 9999): 2,
    (998, 999, 997): 3,
    (99,): 0,  # an age
    (-9.5,): 0,
    (-9, -3): 0,  # others are below 0, too
    (1000,): 0,
    (999, -1.7e308, 1.7e308): 0,  # their range is beyond all floats
    (): 0,
}


@pytest.mark.parametrize("stray", STRAY)
def test_numbers_that_look_like_codes_for_missing_are_noted(tmp_path, stray):
    entries = [*stray, *AGES[len(stray) :]]
    reason = reasons(tmp_path, age=entries)["age"]
    count = STRAY[stray]
    many = f"; {count} number{'s' * (count > 1)} look{'s' * (count == 1)} like"
    assert (many in reason) == bool(count)
    assert ("for missing values" in reason) == bool(count)
    told = "; ".join(reason.split("; ")[1:])
    assert not any(str(value) in told.replace("-9 or 999", "") for value in stray)
