"""Guidelines: what a job and a release have of their criteria."""

import json
import re

import pandas as pd
import pytest
from command.test_cli import here  # noqa: F401
from refusals import refused
from tables import people

from aggopt.errors import AggoptError, JobError, UnknownNameError
from aggopt.inspection.standards.guideline import list_standards, read_guideline

ROLES = """[roles]
identifier = ["name"]
quasi-identifier = ["age", "income"]
confidential = ["illness"]
drop = ["note"]
[partition]
method = "mdav"
[privacy]
"""
STRICT = f'{ROLES}risk = 0.09\nl = 2\nrepair = "merge"\n'
BLOCKS = (
    ROLES.replace('"mdav"', '"mdav"\nattributes = "one by one"')
    + 'k = 3\nscope = "blocks"\n'
)
PASSES = dict.fromkeys(["ema-0070", "hipaa-expert", "ico-2025", "wp216"], STRICT)
PASSES["ess"] = f"{ROLES}k = 3\n"
FAILS = {  # by a figure
    "ema-0070": (f"{ROLES}k = 11\n", "highest_risk"),
    "hipaa-expert": (f"{ROLES}k = 11\n", "highest_risk"),
    "ico-2025": (f"{ROLES}k = 12\n", "unprotected_confidential"),
    "wp216": (BLOCKS, "group_size"),
    "ess": (f"{ROLES}k = 2\n", "group_size"),
}


@pytest.fixture
def table(here):  # noqa: F811
    frame = people().assign(illness=["flu", "cold"] * 20, note="secret words")
    frame.to_csv(here / "people.csv", index=False)
    return frame


def write_job(text):
    with open("job.toml", "w") as file:
        file.write(text)


CHECK = ("check", "people.csv", "job.toml", "--standard")


@pytest.mark.parametrize("standard", list_standards())
def test_a_job_meets_or_misses_the_criteria_of_each_guideline(table, aggopt, standard):
    for text, figure in ((PASSES[standard], None), FAILS[standard]):
        write_job(text)
        ended, out, _ = aggopt(*CHECK, standard, "--json")
        (judged,) = json.loads(out)["standards"]
        missed = {
            line["figure"] for line in judged["criteria"] if line["state"] == "missed"
        }
        assert ended == (figure is not None)
        assert (figure in missed) == bool(missed)
        states = {line["state"] for line in judged["criteria"]}
        assert {"met", "a person must judge"} <= states
        assert all(line["decide"] and line["source"] for line in judged["criteria"])


@pytest.mark.parametrize("standard", list_standards())
def test_a_guideline_cites_its_sources_and_calls_nothing_lawful(standard):
    guideline = read_guideline(standard)
    used = {criterion.source for criterion in guideline.criteria}
    assert used == set(guideline.sources) or used < set(guideline.sources)
    assert all(source.url for source in guideline.sources.values())
    words = " ".join(f"{each.requires} {each.decide}" for each in guideline.criteria)
    assert not re.search("lawful|legal|complian", words)


def test_a_model_of_one_attribute_leaves_the_others_unprotected(table, aggopt):
    with open("mine.py", "w") as file:
        file.write("def several(values):\n    return len(set(values)) > 1\n")
    roles = ROLES.replace('["illness"]', '["illness", "note"]')
    roles = roles.replace('drop = ["note"]\n', "")
    table.assign(note=["a", "b"] * 20).to_csv("people.csv", index=False)
    for names, unprotected in ((["illness"], 1), (["illness", "note"], 0)):
        own = f'[[privacy.own]]\nmethod = "mine.py:several"\nattributes = {names}\n'
        write_job(f'{roles}k = 3\nrepair = "merge"\n{own}')
        ended, out, _ = aggopt(*CHECK, "ico-2025", "--json", "--trust", "mine.py")
        (judged,) = json.loads(out)["standards"]
        (line,) = [
            line
            for line in judged["criteria"]
            if line["figure"] == "unprotected_confidential"
        ]
        assert (line["value"], ended) == (unprotected, unprotected)


EVIDENCE = ("evidence", "people.csv", "masked.csv", "job.toml", "--out", "found.json")


def test_evidence_is_counted_on_the_released_file(table, aggopt):
    write_job(STRICT)
    assert aggopt("mask", "people.csv", "job.toml", "--out", "masked.csv")[0] == 0
    names = [word for name in list_standards() for word in ("--standard", name)]
    people(seed=7).assign(illness=["flu", "cold"] * 20, note="x").to_csv(
        "outside.csv", index=False
    )
    control = ("--control", "outside.csv", "--page", "found.html")
    code, out, _ = aggopt(*EVIDENCE, *names, *control)
    assert code == 0
    released = pd.read_csv("masked.csv")
    sizes = released.groupby(["age", "income"]).size()
    with open("found.json") as file, open("found.html") as page:
        text, html = file.read(), page.read()
    judged = json.loads(text)
    assert [each["standard"] for each in judged["standards"]] == list(list_standards())
    lines = [line for each in judged["standards"] for line in each["criteria"]]
    values = {line["figure"]: line["value"] for line in lines}
    assert values["highest_risk"] == pytest.approx(1 / sizes.min())
    assert (judged["holds"], judged["missed"]) == (True, 0)
    does = {line["figure"]: line["does"] for line in lines}
    (linked,) = [text for text in does.values() if "one to one" in text]
    assert does["highest_risk"].startswith(f"{1 / sizes.min():.3g}: 1 of the ")
    assert linked.startswith(f"{100 * values['linkage']:.3g} % of the records linked ")
    assert values["group_size"] == sizes.min()
    assert values["unprotected_confidential"] == 0
    assert values["attacks_that_help"] == 0
    assert judged["figures"]["criteria"]["control_records"] == 40
    assert judged["figures"]["audit"]["smallest"] == sizes.min()
    for line in lines:
        assert line["requires"] in out
    assert "default-src 'none'" in html
    assert 'http-equiv="refresh"' not in html
    for value in [*table["name"], *map(str, table["income"]), "secret words"]:
        assert value not in text + html + out


def test_evidence_of_a_release_that_misses_a_criterion_ends_with_exit_code_1(
    table, aggopt
):
    write_job(f"{ROLES}k = 4\n".replace('drop = ["note"]', 'other = ["note"]'))
    table.assign(note=range(len(table))).to_csv("people.csv", index=False)
    assert aggopt("mask", "people.csv", "job.toml", "--out", "masked.csv")[0] == 0
    code, out, _ = aggopt(*EVIDENCE, "--standard", "ema-0070", "--json")
    assert code == 1
    evidence = json.loads(out)
    missed = {
        line["figure"]: line["value"]
        for line in evidence["standards"][0]["criteria"]
        if line["state"] == "missed"
    }
    assert (evidence["holds"], evidence["missed"]) == (True, len(missed))
    assert missed["unique_with_other"] == len(table)
    assert missed["highest_risk"] > 0.09
    code, _, err = aggopt(*EVIDENCE, "--standard", "ess")
    assert code != 0
    assert "found.json would be overwritten" in err
    with open("office.toml", "w") as file:
        file.write(OWN)
    for lost in ("masked.private.csv", "masked.manifest.json", "office.toml"):
        with open(lost) as file:
            content = file.read()
        words = ("--out", lost, "--overwrite", "--standard", "office.toml")
        assert aggopt(*EVIDENCE[:4], *words)[0] == 2
        with open(lost) as file:
            assert file.read() == content


OWN = """title = "Office rule"
scope = "Our files."
[sources.rule]
document = "Rule 7"
[[criteria]]
requires = "Seven records."
source = "rule"
figure = "group_size"
least = 7
decide = "Nothing."
"""


def test_an_office_names_a_guideline_of_its_own(table, aggopt, tmp_path):
    (tmp_path / "office.toml").write_text(OWN)
    for k in (6, 7):
        write_job(f"{ROLES}k = {k}\n")
        code, out, _ = aggopt(*CHECK, "office.toml")
        assert code == (k < 7)
        assert aggopt(*CHECK, "office.toml", "--standard", "office.toml")[1] == out
        assert "Rule 7" in out


BOUNDS = ('"7"', "true", "nan", "7\nmost = 6")


def test_names_and_files_that_are_no_guideline_are_refused(table, aggopt, tmp_path):
    with refused(UnknownNameError, "wp126", "wp216"):
        read_guideline("wp126")
    path = tmp_path / "office.toml"
    for text, kind in [
        (None, JobError),
        ("title =", JobError),
        (OWN.replace("least", "smallest"), JobError),
        (OWN.replace('"group_size"', '"group"'), AggoptError),
        (OWN.replace('source = "rule"', 'source = "law"'), AggoptError),
        (OWN.replace('figure = "group_size"\n', ""), JobError),
        (f"{OWN}deep = {'[' * 2000}{']' * 2000}", JobError),
        (OWN.replace("least = 7", f"least = {'7' * 5000}"), JobError),
        *((OWN.replace("least = 7", f"least = {b}"), JobError) for b in BOUNDS),
    ]:
        if text is not None:
            path.write_text(text)
        with refused(kind):
            read_guideline(str(path))
    write_job(STRICT)
    assert aggopt(*EVIDENCE)[0] == 2
    assert aggopt("check", "mine.py", "--standard", "ess")[0] == 2
