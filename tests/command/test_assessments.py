"""The commands that look at written releases: what they print and return."""

import json
import re

import pandas as pd
import pytest
from contract_rows import rows_of
from households import OF_RECORDS, members, of
from refusals import refused
from tables import people

import aggopt
from aggopt.command import cli
from aggopt.errors import AggoptError

EXTRA = "needs the extra stats: pip install '.[stats]'"
JOB = """
[roles]
identifier = ["name"]
quasi-identifier = ["age", "income"]
confidential = ["illness"]
other = ["note", "w"]
[privacy]
k = 4
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table with weights and a release of it."""
    folder = tmp_path_factory.mktemp("released")
    people().assign(w=[2.0, 3.0] * 20).to_csv(folder / "people.csv", index=False)
    (folder / "job.toml").write_text(JOB)
    aggopt.mask(folder / "people.csv", folder / "job.toml").write(folder / "masked.csv")
    return folder


@pytest.fixture
def printed(folder, monkeypatch, capsys):
    """Run a command there; return its exit code and what it printed."""
    monkeypatch.chdir(folder)

    def run(*words):
        code = cli.app(list(words), standalone_mode=False)
        return code or 0, capsys.readouterr().out

    return run


LOOK = ("people.csv", "masked.csv", "job.toml")


def test_risk_is_printed_before_and_after(printed) -> None:
    code, out = printed("risk", *LOOK, "--weight", "w", "--unit", "note")
    assert code == 0
    assert "original" in out
    assert "released" in out
    rows = out.splitlines()
    for name in (
        "individual risk, largest",
        "records re-identified, expected",
        "household risk, largest",
        "units re-identified, expected",
        "records special by up to 3 attributes (SUDA)",
        "a unique match is right (DIS)",
        "  by records that are unique, in pairs",
        "linked one to one",
        "values within 0.05 standard deviations",
        "'illness' guessed from the group",
        "groups in which one record has more than 70.00 % of the weight",
    ):
        assert any(row.startswith(name) for row in rows), name
    assert out.rstrip().endswith("No record is published unchanged.")


def test_a_weight_that_no_release_has_weighs_the_risk(printed, folder) -> None:
    job = folder / "dropped.toml"
    job.write_text(JOB.replace('"note", "w"]', '"note"]\ndrop = ["w"]'))
    code, out = printed("risk", "people.csv", job.name, "--weight", "w", "--json")
    whole = printed("risk", "people.csv", "job.toml", "--weight", "w", "--json")[1]
    assert code == 0
    found, expected = json.loads(out), json.loads(whole)
    assert found["totals"]["individual"] == expected["totals"]["individual"]


def sizes_of(frame: pd.DataFrame, names: list[str]) -> pd.Series:
    return frame.groupby(names)[names[0]].transform("size")


def test_the_risk_of_the_original_needs_no_release(printed, folder) -> None:
    frame = people(200).assign(age=lambda t: t["age"] // 20, w=[2.0, 3.0] * 100)
    frame["illness"] = pd.cut(frame["income"], 4, labels=list("abcd")).astype(str)
    frame.to_csv(folder / "coarse.csv", index=False)
    job = JOB.replace('"income"]', '"illness"]').replace('["illness"]', '["income"]')
    (folder / "coarse.toml").write_text(job)
    code, out = printed("risk", "coarse.csv", "coarse.toml", "--json", "--unit", "note")
    found = json.loads(out)
    size = sizes_of(frame, ["age", "illness"])
    whole = found["whole"]
    assert code == 0
    assert whole["attributes"] == ["age", "illness"]
    assert (whole["unique"], whole["rare"]) == ((size == 1).sum(), (size < 4).sum())
    assert found["totals"]["individual"] == pytest.approx(
        {
            "largest": (1 / size).max(),
            "average": (1 / size).mean(),
            "expected": size.groupby([frame["age"], frame["illness"]]).ngroups,
        }
    )
    assert found["totals"]["household"]["units"] == frame["note"].nunique()
    for each in found["sets"]:
        own = sizes_of(frame, each["attributes"])
        assert (each["unique"], each["rare"]) == ((own == 1).sum(), (own < 4).sum())
    assert {len(each["attributes"]) for each in found["sets"]} == {1}
    found = json.loads(
        printed("risk", "coarse.csv", "coarse.toml", "--json", "--weight", "w")[1]
    )
    known = aggopt.measure.risk.individual_risk(frame[["age", "illness"]], frame["w"])
    assert found["totals"]["individual"]["largest"] == pytest.approx(known.max())
    assert found["population"] == 500
    _, out = printed("risk", "coarse.csv", "coarse.toml")
    assert "Before masking, by 'age', 'illness': " in out
    assert "smaller than 4" in out


def test_sets_that_tell_no_more_than_a_smaller_one_are_left_out(
    printed, folder
) -> None:
    frame = people(40)
    named = frame.assign(alone=range(40), age=frame["age"] // 10)
    named[["age", "income", "alone"]].to_csv(folder / "alone.csv", index=False)
    roles = '[roles]\nquasi-identifier = ["age", "income", "alone"]\n'
    (folder / "alone.toml").write_text(roles + "[privacy]\nk = 4\n")
    code, out = printed("risk", "alone.csv", "alone.toml")
    assert code == 0
    known = out.split("If others know fewer")[1]
    assert re.search(r"^\W*alone ", known, re.M)
    assert "age, alone" not in known
    assert "with the figures of a smaller set." in known
    sets = json.loads(printed("risk", "alone.csv", "alone.toml", "--json")[1])["sets"]
    assert ["age", "alone"] in [each["attributes"] for each in sets]


def test_measures_say_how_many_records_miss_nothing(printed, folder) -> None:
    frame = people(40)
    frame.loc[[3, 30], "income"] = None
    frame.to_csv(folder / "holes.csv", index=False)
    job = JOB.replace(', "w"]', "]") + '[missing]\npolicy = "fill"\n'
    (folder / "holes.toml").write_text(job)
    release = aggopt.mask(folder / "holes.csv", folder / "holes.toml")
    release.write(folder / "filled.csv")
    _, out = printed("assess", "holes.csv", "filled.csv", "holes.toml")
    assert "Measured on the 38 of 40 records of which nothing is missing" in out
    _, out = printed("assess", *LOOK)
    assert "Measured on" not in out


def test_each_unit_counts_once_before_masking(printed, folder) -> None:
    frame = people(40).assign(home=[n // 2 for n in range(40)])
    frame.to_csv(folder / "homes.csv", index=False)
    unit = JOB.replace("[roles]", '[roles]\nunit = ["home"]').replace(', "w"]', "]")
    (folder / "homes.toml").write_text(unit)
    _, out = printed("risk", "homes.csv", "homes.toml")
    assert "20 of 20 units are unique" in out
    _, out = printed("risk", "homes.csv", "homes.toml", "--json")
    assert {each["total"] for each in json.loads(out)["sets"]} == {20}


@pytest.mark.parametrize("words", [("--same-order",), ("--target", "illness")])
def test_options_of_a_release_are_refused_without_one(printed, words) -> None:
    with refused(AggoptError):
        printed("risk", "people.csv", "job.toml", *words)
    with refused(AggoptError):
        printed("risk", "people.csv", "masked.csv")


def test_risk_is_asked_for_by_options_or_by_the_job(printed, folder) -> None:
    _, plain = printed("risk", *LOOK, "--json")
    found = json.loads(plain)["risk"]
    assert set(found) == {"population", "individual", "suda", "attribution"}
    assert found["suda"]["attributes"] == 3
    assert list(found["attribution"]) == ["illness"]
    asked = folder / "asked.toml"
    asked.write_text(f'{JOB}[risk]\nweight = "w"\ntarget = ["note"]\nsuda = 1\n')
    _, said = printed("risk", *LOOK[:2], "asked.toml", "--json")
    found = json.loads(said)["risk"]
    assert found["population"] == 100
    assert found["suda"]["attributes"] == 1
    assert list(found["attribution"]) == ["note"]
    more = ("--suda", "2", "--target", "illness, note", "--unit", "note")
    _, over = printed("risk", *LOOK[:2], "asked.toml", "--json", *more)
    found = json.loads(over)["risk"]
    assert found["suda"]["attributes"] == 2
    assert list(found["attribution"]) == ["illness", "note"]
    assert found["household"]["units"] == 4


def test_a_name_that_cannot_act_is_refused(printed) -> None:
    with refused(AggoptError, "'age'"):
        printed("risk", *LOOK, "--weight", "age")


def test_a_release_that_breaks_what_is_asked_is_measured_with_exit_code_1(
    printed, folder
) -> None:
    (folder / "wider.toml").write_text(JOB.replace("k = 4", "k = 20"))
    code, out = printed("risk", "people.csv", "masked.csv", "wider.toml")
    assert code == 1
    assert "k = 20 DOES NOT HOLD" in out


def test_utility_is_printed_line_by_line(printed) -> None:
    pytest.importorskip("statsmodels", reason=EXTRA)
    code, out = printed("utility", *LOOK, "--model", "w ~ age", "--strata", "illness")
    assert code == 0
    lines = out.splitlines()
    assert lines[0] == "Utility: changes by masking, 0 is best"
    assert "  w ~ age" in lines
    assert any(line.startswith("    age  ") for line in lines)
    assert any(line.startswith("  total of income ") for line in lines)
    more = ("--model", "w ~ age", "--model", "w ~ income", "--weight", "w", "--json")
    found = json.loads(printed("utility", *LOOK, *more)[1])
    assert [each["formula"] for each in found["regressions"]] == [
        "w ~ age",
        "w ~ income",
    ]


@pytest.fixture(scope="module")
def several(folder):
    """The same folder with other releases: again, in other groups, of another table."""
    (folder / "other.toml").write_text(
        JOB.replace("k = 4", "k = 3") + '[partition]\nmethod = "mdav"\n'
    )
    short = pd.read_csv(folder / "people.csv").iloc[:39]
    short.to_csv(folder / "short.csv", index=False)
    for table, asked, name in (
        ("people.csv", "job.toml", "again.csv"),
        ("people.csv", "other.toml", "other.csv"),
        ("short.csv", "job.toml", "shorter.csv"),
    ):
        aggopt.mask(folder / table, folder / asked).write(folder / name)
    return folder


def test_releases_are_compared_side_by_side(printed, several) -> None:
    code, out = printed(
        "compare",
        *("masked.csv", "other.csv", "--original", "people.csv", "--manifests"),
        *("masked.manifest.json", "other.manifest.json"),
    )
    assert code == 1
    assert "DOES NOT LEAVE k = 3" in out
    assert "4 *" in out
    code, said = printed(
        "compare", "masked.csv", "again.csv", "--original", "people.csv", "--json"
    )
    assert code == 0
    assert json.loads(said)["holds"]


OF = ("--original", "people.csv")
CASES = {  # by the row of the page: words on the command line
    "a table, its release and their job": ("risk", *LOOK),
    "a weight that is masked": ("risk", *LOOK, "--weight", "age"),
    "a weight that is text": ("utility", *LOOK, "--weight", "note"),
    "a formula": ("utility", *LOOK, "--model", "w ~ age"),
    "a formula with an unknown name": ("utility", *LOOK, "--model", "w ~ wealth"),
    "a formula with an identifier": ("utility", *LOOK, "--model", "w ~ name"),
    "a formula that runs code": ("utility", *LOOK, "--model", "w ~ I(age.sum())"),
    "a formula that cannot be read": ("utility", *LOOK, "--model", "w ~ ("),
    "a stratum that is masked": ("utility", *LOOK, "--strata", "age"),
    "two releases with equal groups": ("compare", "masked.csv", "again.csv", *OF),
    "two releases with other groups": ("compare", "masked.csv", "other.csv", *OF),
    "releases of different tables": ("compare", "masked.csv", "shorter.csv", *OF),
    "releases of different tables, by an identifier": (
        *("compare", "masked.csv", "shorter.csv", *OF),
        *("--original", "short.csv", "--person", "name"),
    ),
    "releases of different tables, by a column that is published": (
        *("compare", "masked.csv", "shorter.csv", *OF),
        *("--original", "short.csv", "--person", "note"),
    ),
    "two releases without their private keys": (
        *("compare", "masked.csv", "other.csv", "--without-keys"),
    ),
    "the original of releases without their keys": (
        *("compare", "masked.csv", "other.csv", *OF, "--without-keys"),
    ),
    "one release": ("compare", "masked.csv", *OF),
    "a release without its manifest": ("compare", "masked.csv", "people.csv", *OF),
}


def rows() -> dict[str, tuple[str, str]]:
    return rows_of("Review of releases")


def test_the_page_and_the_tests_list_the_same_inputs() -> None:
    assert list(rows()) == list(CASES)


@pytest.mark.parametrize("name", CASES)
def test_each_row_of_the_contract(printed, several, name) -> None:
    pytest.importorskip("statsmodels", reason=EXTRA)
    outcome, says = rows()[name]
    there = {path.name for path in several.iterdir()}
    if outcome == "refused":
        with pytest.raises(AggoptError) as error:
            printed(*CASES[name])
        assert says in error.value.problem
    else:
        code, out = printed(*CASES[name])
        assert code == ("exit code 1" in outcome)
        assert says in out
    assert {path.name for path in several.iterdir()} == there


def test_assess_counts_units_where_k_does(printed, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    members().to_csv("people.csv", index=False)
    asked = of(OF_RECORDS, output={"shuffle": True})
    (tmp_path / "job.toml").write_text(asked.to_toml())
    aggopt.mask(tmp_path / "people.csv", tmp_path / "job.toml").write("masked.csv")
    code, out = printed("assess", "people.csv", "masked.csv", "job.toml")
    assert code == 0
    assert "units unique with their combination (0)" in out
    assert "records unique with their combination" not in out
