"""`aggopt check`: all that stands in the way of a table and a job, and nothing else."""

import json
import re
from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest
from command.test_cli import JOB, here  # noqa: F401
from tables import ROLES_AND_K, people, put_partitioner
from test_input_contract import CASES, TABLE

from aggopt import Job, mask
from aggopt.core.memory import format_size
from aggopt.errors import AggoptError
from aggopt.inspection.check import check_table

CHECK = ("check", "people.csv", "job.toml")
BAD = """
[roles]
identifier = []
quasi-identifier = ["age", "income", "illness", "code", "age"]
confidential = ["name", "ilness"]
[privacy]
k = 50
[partition]
attributes = "one by one"
[aggregation]
method = "p3m"
options = { nonsense = 1 }
solver = "gams"
"""


def broken() -> pd.DataFrame:
    """Persons with holes, a column in no role, and codes."""
    frame = people().assign(extra=1, code=["x", 2, 3, 4] * 10)
    frame.loc[3, "age"] = np.nan
    return frame


def test_nothing_stands_in_the_way(here, aggopt):  # noqa: F811
    before = {path: path.read_bytes() for path in here.iterdir()}
    code, out, err = aggopt(*CHECK)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "40 records, 5 columns"
    assert lines[1].split() == ["column", "role", "entries"]
    assert re.fullmatch(r"'name' +identifier +text, 40 different", lines[2])
    assert re.fullmatch(
        r"'age' +quasi-identifier  whole numbers, 29 different", lines[3]
    )
    assert lines[-1] == "Nothing stands in the way: aggopt mask would begin."
    assert {path: path.read_bytes() for path in here.iterdir()} == before


@pytest.mark.parametrize(("different", "noted"), [(500, False), (501, True)])
def test_names_that_cost_memory_are_noted_before_the_work(
    here,  # noqa: F811
    aggopt,
    different,
    noted,
):
    n = 1100
    codes = [f"c{i % different}" for i in range(n)]
    people(n).assign(age=codes).to_csv("people.csv", index=False)
    _, out, _ = aggopt(*CHECK)
    size = format_size(104 * n * different)
    note = f"each of {different} values is a coordinate of every record"
    assert (note in " ".join(out.split())) == noted
    assert (f"takes about {size}" in " ".join(out.split())) == noted


@pytest.mark.parametrize("kind", [object, "category"])
def test_names_that_no_csv_file_has_are_noted(here, aggopt, kind):  # noqa: F811
    ages = pd.Series(["", "QQ", "QR", "QS"] * 10).astype(kind)
    people().assign(age=ages, note="").to_parquet("people.parquet")
    note = (
        "'age': 10 entries are text that a CSV file has for what is missing: write the "
        "release to a .parquet file."
    )
    code, out, _ = aggopt("check", "people.parquet", "job.toml")
    assert (code, note in out) == (0, True)
    assert "'note': " not in out


def test_no_group_is_made(here, aggopt, monkeypatch):  # noqa: F811
    def fails(*_, **__):
        raise AssertionError

    put_partitioner(monkeypatch, "mdav", fails)
    (here / "job.toml").write_text(JOB + '[partition]\nmethod = "mdav"\n')
    assert aggopt(*CHECK)[0] == 0


def test_all_obstacles_are_said_at_once(here, aggopt):  # noqa: F811
    broken().to_csv("people.csv", index=False)
    (here / "job.toml").write_text(BAD)
    code, out, err = aggopt(*CHECK)
    assert (code, err) == (2, "")
    found = dict(re.findall(r"^Obstacle (\d+): (.*)$", out, re.MULTILINE))
    expected = (
        "Named more than once in the roles: 'age'.",
        "The roles name 'ilness', which the table does not have.",
        "No role is declared for 'note', 'extra'.",
        "Columns that must be complete have holes ('age': 1 missing).",
        "Columns that must be numeric have entries that are not ('code': 10).",
        "k = 50, but there are only 40 records.",
        "is to group 4 quasi-identifiers in 4 blocks",
    )
    for problem in expected:
        assert any(problem in said for said in found.values()), problem
    assert re.search(r"'age' .*1 missing  \(obstacle 4\)", out)
    assert out.count("To fix:") == len(set(re.findall("To fix: (.*)", out)))
    assert out.rstrip().endswith(f"aggopt mask would refuse: {len(found)} obstacles.")


def test_more_than_all_records_is_one_obstacle(here, aggopt):  # noqa: F811
    wish = '[privacy]\nk = 50\n[aggregation]\nmethod = "p3m"\ndelta = 9.0\n'
    (here / "job.toml").write_text(JOB.split("[privacy]")[0] + wish)
    code, out, _ = aggopt(*CHECK)
    assert code == 2
    assert "Obstacle 1: k = 50, but there are only 40 records." in out
    assert "Obstacle 2" not in out
    (here / "job.toml").write_text((here / "job.toml").read_text().replace("50", "40"))
    assert "delta is out of reach in 40 of 40 wishes" in aggopt(*CHECK)[1]


def test_it_answers_in_json(here, aggopt):  # noqa: F811
    broken().to_csv("people.csv", index=False)
    code, out, _ = aggopt(*CHECK, "--json")
    found = json.loads(out)
    assert code == 2
    assert (found["ready"], found["records"]) == (False, 40)
    age = {"name": "age", "role": "quasi-identifier", "type": "numbers"}
    assert found["columns"][1] == {**age, "different": 29, "missing": 1}
    assert {key: found["columns"][-2][key] for key in ("name", "role")} == {
        "name": "extra",
        "role": None,
    }
    assert [each["column"] for each in found["obstacles"]] == [None, "age"]
    assert all(each["problem"] and each["fix"] for each in found["obstacles"])


TOLD_BY_GROUPS = {
    "demands that no values meet which keep the covariance",
    "strata that groups would have to be made across",
}


@pytest.mark.parametrize(
    ("name", "trusted"),
    [
        ("people.csv", True),
        pytest.param("people.parquet", False, marks=pytest.mark.slow),
    ],
)
def test_it_refuses_what_mask_refuses(tmp_path, name, trusted):
    """Of every table that the contract lists: check says so exactly if mask does.

    But for what groups alone tell, which check does not make.  That mask does what
    the contract says has tests of its own: where check says the same, it is trusted.
    """
    path, file, compared = tmp_path / name, tmp_path / "job.toml", 0
    other = tmp_path / "other"
    other.mkdir()
    for row, case in CASES.items():
        if row in TOLD_BY_GROUPS:
            continue
        try:
            data, job = case(other)
            data.to_csv(path, index=False)
            if path.suffix == ".parquet":
                data.to_parquet(path)
            file.write_text(job.to_toml())
        except Exception:  # no job, or no table that a file holds
            continue
        found = check_table(path, file).obstacles
        if not trusted or bool(found) != (TABLE[row][0] == "refused"):
            with pytest.raises(AggoptError) if found else nullcontext():
                mask(path, file)
        compared += 1
    assert compared > 40


HOSTILE = {
    "empty": b"",
    "header alone": b"name,age,illness,income,note",
    "binary": bytes(range(256)) * 40,
    "a zip archive": b"PK\x03\x04" + bytes(range(128)) * 9,
    "one column": b"Zq7\n1\n2\n3\n",
    "no header": b"Zq7,34,flu,1000.5,Zq7\nZq7,35,flu,1,Zq7\n" * 3,
    "no header, text alone": b"Zq7,x\nZq72,y\nZq73,x\n",
    "half a quote": b'name,age,illness,income,note\n"Zq7,1,flu,2,x\n',
    "ragged": b"name,age,illness,income,note\nZq7\nZq7,1,2,3,4,5,6\n",
    "only ends of lines": b"\n\n\r\n\n",
    "UTF-16": "name,age,illness,income,note\nZq7,1,flu,2,x\n".encode("utf-16"),
    "zero bytes": b"name,age,illness,income,note\n\x00Zq7,\x00,flu,2,x\n",
}


@pytest.mark.parametrize("what", HOSTILE)
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_hostile_files_are_refused_without_a_word_of_them(here, aggopt, what, ending):  # noqa: F811
    (here / f"odd.{ending}").write_bytes(HOSTILE[what])
    code, out, err = aggopt("check", f"odd.{ending}", "job.toml")
    assert (code, err) == (2, "")
    assert "To fix:" in out
    assert "Internal" not in out
    named = what == "one column" and ending == "csv"  # its name, and nothing else
    assert out.count("Zq7") == named * out.count("'Zq7'")
    code, out, _ = aggopt("check", f"odd.{ending}", "job.toml", "--json")
    assert code == 2
    assert json.loads(out)["ready"] is False


def test_a_job_that_cannot_be_read_is_one_of_the_obstacles(here, aggopt):  # noqa: F811
    (here / "job.toml").write_text("[roles]\n[priv]\n")
    (here / "people.csv").write_text("a;b\n1,5;2\n")
    code, out, _ = aggopt(*CHECK)
    assert code == 2
    assert "Obstacle 1" in out
    assert "\n'a'     ?     numbers, 1 different\n" in out
    (here / "people.csv").unlink()
    _, out, _ = aggopt(*CHECK)
    assert out.count("Obstacle") == 2
    assert "There is no file people.csv." in out


def test_requirements_that_no_groups_satisfy_are_obstacles(here, aggopt):  # noqa: F811
    broken().to_csv("people.csv", index=False)
    text = JOB.replace('other = ["note"]', 'other = ["note", "code", "extra"]')
    (here / "job.toml").write_text(
        text.replace("k = 4", 'k = 4\nl = 9\nrepair = "merge"')
    )
    _, out, _ = aggopt(*CHECK)
    assert "all 40 records together have 3" in out
    assert "'age': 1 missing" in out  # in the same answer


def test_notes_say_what_is_no_obstacle(here, aggopt):  # noqa: F811
    frame = people().assign(code=[1, 2, 3, 4] * 10, flat=1, yes=[True, *[False] * 39])
    frame.to_csv("people.csv", index=False)
    quasi = '["age", "income", "code", "flat", "yes"]'
    text = JOB.replace('["age", "income"]', quasi).replace(
        '["note"]', '["note", "name"]'
    )
    (here / "job.toml").write_text(text.replace('identifier = ["name"]', ""))
    code, out, _ = aggopt(*CHECK)
    notes = re.findall(
        r"^Note: (.*?)[:.;]? ?(?:whole|each|has|1 of)", out, re.MULTILINE
    )
    assert code == 0
    assert notes == ["'name'", "'code'", "'flat'", "'yes'"]
    assert "'yes': 1 of 2 values is shared by fewer than k = 4 records." in out


def test_text_that_spells_dates_is_noted(here, aggopt):  # noqa: F811
    days = pd.Series(["1950-01-01", "1960-12-31"] * 20)
    people().assign(age=days).to_csv("people.csv", index=False)
    means = JOB.split("[aggregation]")[0]
    (here / "job.toml").write_text(means)
    code, out, _ = aggopt(*CHECK)
    said = (
        "Note: 'age': text that spells dates is masked as names; write kind = "
        '"date" under [attributes.age], and it is masked as dates.'
    )
    assert code == 0
    assert said in out
    for kind in ("date", "nominal"):
        (here / "job.toml").write_text(f'{means}[attributes.age]\nkind = "{kind}"\n')
        assert "spells dates" not in aggopt(*CHECK)[1]
    days.iloc[0] = "1970-01-01"
    people().assign(age=days).to_csv("people.csv", index=False)
    assert "1 of 3 values is shared by fewer than k = 4 records" in aggopt(*CHECK)[1]
    (here / "job.toml").write_text(f'{means}[attributes.age]\nkind = "date"\n')
    assert "is shared by fewer" not in aggopt(*CHECK)[1]


MEANS = JOB.split("[aggregation]")[0]


def said_of(folder, run, job=MEANS):
    """Return the notes on a table in a folder."""
    (folder / "job.toml").write_text(job)
    return [
        line[6:]
        for line in run(*CHECK)[1].splitlines()
        if "Note: " in line and "shared" not in line
    ]


def test_dates_are_said_to_be_masked_as_names_only_where_they_are(here, aggopt):  # noqa: F811
    days = pd.Series(pd.date_range("1950-01-01", periods=40).astype(str))
    people().assign(age=days).to_csv("people.csv", index=False)
    (said,) = said_of(here, aggopt)  # too many names: refused
    as_dates = 'write kind = "date" under [attributes.age], and it is masked as dates.'
    assert said == f"'age': text that spells dates; {as_dates}"
    days = pd.Series(["31/12/1950", "1/2/1960"] * 20)
    people().assign(age=days).to_csv("people.csv", index=False)
    (said,) = said_of(here, aggopt)
    other = "text that spells dates otherwise than ISO 8601 does"
    spell = 'write format = "%d/%m/%Y" under'
    assert said.startswith(f"'age': {other} is masked as names; {spell}")
    job = JOB.replace('"age", ', "").split("[aggregation]")[0]
    (said,) = said_of(here, aggopt, job)
    assert said.startswith(f"'age': {other}; {spell}")
    job = JOB.replace('"age", ', "").replace('["note"', '["note", "age"')
    assert said_of(here, aggopt, job.split("[aggregation]")[0]) == []
    days, spell = days.str.replace("/", "."), spell.replace("/", ".")
    people().assign(age=days).to_csv("people.csv", index=False)
    (said,) = said_of(here, aggopt)  # perhaps numbers: refused
    assert said.startswith(f"'age': {other}; {spell}")
    job = MEANS + '[attributes.age]\nkind = "date"\n'
    assert said_of(here, aggopt, job) == [said]


def test_holes_of_a_column_in_no_role_are_noted(here, aggopt):  # noqa: F811
    frame = people()
    frame.loc[3, "age"] = None
    frame.to_csv("people.csv", index=False)
    job = JOB.replace('"age", ', "").split("[aggregation]")[0]
    assert said_of(here, aggopt, job) == [
        "'age': 1 value is missing; as quasi-identifier it needs policy = "
        '"patterns" or "fill" under [missing].'
    ]
    assert said_of(here, aggopt, job + '[missing]\npolicy = "fill"\n') == []
    frame.loc[4, "age"] = None
    frame.to_csv("people.csv", index=False)
    assert said_of(here, aggopt, job)[0].startswith("'age': 2 values are missing;")


def test_whole_numbers_that_may_be_codes_or_numbers_of_records(here, aggopt):  # noqa: F811
    card = np.random.default_rng(0).permutation(10**6)[:60]
    frame = people(60).assign(age=[1, 2] * 30, income=card)
    frame.to_csv("people.csv", index=False)
    codes = (
        "'age': whole numbers with 2 values are taken as numbers; write kind = "
        '"nominal" if they are codes.'
    )
    assert said_of(here, aggopt) == [codes]  # incomes of 60 persons differ, too
    frame.rename(columns={"income": "card"}).to_csv("people.csv", index=False)
    job = JOB.replace("income", "card")
    assert said_of(here, aggopt, job) == [
        codes,
        "'card': 60 whole numbers in 60 records; if they number records, list it as "
        'identifier, which drops it; else write kind = "numeric" under '
        "[attributes.card].",
    ]
    decided = job + '[attributes.card]\nkind = "numeric"\n'
    assert said_of(here, aggopt, decided) == [codes]


@pytest.mark.parametrize("section", ["units", "output"])
def test_roles_are_shown_though_another_section_is_refused(here, aggopt, section):  # noqa: F811
    (here / "job.toml").write_text(JOB + f"[{section}]\nnonsense = 1\n")
    code, out, _ = aggopt(*CHECK)
    assert code == 2
    assert "?" not in out.split("Obstacle")[0]
    assert re.search("'age' +quasi-identifier ", out)
    assert re.search("'name' +identifier ", out)


def test_a_column_that_links_the_records_of_units_is_noted(here, aggopt):  # noqa: F811
    frame = people()[["age"]].assign(home=np.arange(40) // 2, pay=np.arange(40) // 2)
    roles = {"quasi-identifier": ["age"], "unit": ["home"], "confidential": ["pay"]}
    job = Job(roles=roles, privacy={"k": 3})
    (here / "job.toml").write_text(job.to_toml())
    said = "'pay' shows which records belong to one unit: 20 of 20 units have a value"
    for pay, noted in ((frame["pay"], True), (frame["pay"] // 2, False)):
        frame.assign(pay=pay).to_csv(here / "people.csv", index=False)
        code, out, _ = aggopt(*CHECK)
        assert code == 0
        assert (said in " ".join(out.split())) is noted


def test_commas_that_may_separate_thousands_are_noted(here, aggopt):  # noqa: F811
    rows = "".join(f"{i},{100 + i};{i},{i}\n" for i in range(1, 9))
    (here / "people.csv").write_text("age;income\n" + rows)
    (here / "job.toml").write_text(
        '[roles]\nquasi-identifier = ["age", "income"]\n[privacy]\nk = 2\n'
        '[input]\nseparator = ";"\ndecimal = ","\n'
    )
    code, out, _ = aggopt(*CHECK)
    assert code == 0
    assert out.count("thousands") == 1
    assert "'age': each decimal comma stands before three digits" in out


def test_a_wide_table_is_checked(here, aggopt):  # noqa: F811
    wide = pd.DataFrame(np.ones((6, 100)), columns=[f"c{j}" for j in range(100)])
    wide.assign(age=range(6), c7=[None, *range(5)]).to_parquet("wide.parquet")
    other = [f"c{j}" for j in range(100) if j != 7]
    (here / "job.toml").write_text(
        f'[roles]\nquasi-identifier = ["age", "c7"]\nother = {json.dumps(other)}\n'
        "[privacy]\nk = 2\n"
    )
    code, out, _ = aggopt("check", "wide.parquet", "job.toml")
    assert code == 2
    assert out.count("Obstacle") == 1
    assert "'c7': 1 missing" in out


@pytest.mark.parametrize("k", [5, 12])
def test_limits_of_risks_that_k_does_not_keep_are_noted(here, aggopt, k):  # noqa: F811
    text = ROLES_AND_K.replace("k = 4", f"k = {k}")
    (here / "job.toml").write_text(f"{text}average_risk = 0.09\n")
    code, out, _ = aggopt(*CHECK)
    assert code == 0
    said = " ".join(out.split())
    note = f"average_risk = 0.09 is not kept by k = {k} for certain: groups are merged"
    assert (note in said) == (k < 12)


def test_formulas_of_a_spreadsheet_are_noted_before_the_work(here, aggopt):  # noqa: F811
    frame = people().assign(note="=HYPERLINK(A1)", name="=1+1")
    frame.to_csv("people.csv", index=False)
    (here / "job.toml").write_text(ROLES_AND_K)
    code, out, _ = aggopt(*CHECK)
    assert code == 0
    said = " ".join(out.split())
    assert "'note': 40 entries may be run as a formula by a spreadsheet" in said
    assert "'name': 40 entries may be run" not in said  # it is dropped
    assert "HYPERLINK" not in out


CONFUSABLE = {
    "\u0430ge": "mixes alphabets (Cyrillic, Latin)",
    "a\u200bge": "has invisible characters",
    "age ": "has blanks at its ends",
    "a\u0301ge": "has characters that Unicode writes in another way, too",
    "Note": "differs from another name only in case",
    "age": None,
    "\u0432\u043e\u0437\u0440\u0430\u0441\u0442": None,
    "\u00e1ge": None,
}


@pytest.mark.parametrize(("name", "reason"), CONFUSABLE.items())
def test_names_that_may_be_taken_for_others_are_noted(here, aggopt, name, reason):  # noqa: F811
    people().rename(columns={"age": name}).to_csv("people.csv", index=False)
    (here / "job.toml").write_text(ROLES_AND_K.replace('"age"', json.dumps(name)))
    code, out, _ = aggopt(*CHECK)
    assert code == 0
    said = "" if reason is None else f"{name!r}: the name of this column {reason}."
    assert said in " ".join(out.split())
    assert ("the name of this column" in out) == (reason is not None)
    assert aggopt("mask", *CHECK[1:], "--out", "masked.csv")[0] == 0
    notes = json.loads((here / "masked.manifest.json").read_text())["notes"]
    assert (said in notes) == (reason is not None)
    assert "\u200b" not in out


def test_names_in_letters_that_look_alike_are_noted(here, aggopt):  # noqa: F811
    names = ["a", "\u0430"]  # the second one is Cyrillic
    frame = people().rename(columns=dict(zip(["age", "income"], names, strict=True)))
    frame.to_csv("people.csv", index=False)
    job = ROLES_AND_K.replace('"age", "income"', ", ".join(map(json.dumps, names)))
    (here / "job.toml").write_text(job)
    code, out, _ = aggopt(*CHECK)
    assert code == 0
    reason = "looks like another name, in letters of another alphabet."
    for name in names:
        assert f"Note: {name!r}: the name of this column {reason}" in out


ALIKE = ["age ", "a\u200bge", "\uff41ge"]


@pytest.mark.parametrize("name", ALIKE)
@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_names_that_look_the_same_are_refused(here, aggopt, name, ending):  # noqa: F811
    frame = people().rename(columns={"note": name})
    file = f"alike{ending}"
    frame.to_csv(file, index=False) if ending == ".csv" else frame.to_parquet(file)
    (here / "job.toml").write_text(ROLES_AND_K.replace('"note"', json.dumps(name)))
    code, out, _ = aggopt("check", file, "job.toml")
    assert code == 2
    assert "Names of columns 2, 5 look the same" in " ".join(out.split())
    assert aggopt("mask", file, "job.toml", "--out", "masked.csv")[0] == 2
