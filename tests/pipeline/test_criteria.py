"""Singling out, linkability and inference of releases: the two kinds of control."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from refusals import refused

import aggopt
from aggopt.command import cli
from aggopt.errors import AggoptError, JobError
from aggopt.measure.criteria import assess
from aggopt.pipeline.review import criteria

JOB = """
[roles]
quasi-identifier = ["age", "income", "sex"]
confidential = ["ill", "debt"]
unit = ["house"]
[attributes]
sex.kind = "nominal"
[privacy]
k = 5
[partition]
method = "mdav"
[output]
seed = 7
"""


def draw_people(n: int, seed: int) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "house": np.arange(n) // 2 + 1000 * seed,
            "age": random.integers(18, 90, n),
            "income": random.gamma(9.0, 300.0, n).round(2),
            "sex": random.choice(["f", "m"], n),
            "ill": random.choice(["yes", "no"], n),
            "debt": random.gamma(2.0, 100.0, n).round(2),
        }
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A table, other persons, a job, a release, and one that leaks the income."""
    folder = tmp_path_factory.mktemp("criteria")
    people = draw_people(200, 1)
    people.to_csv(folder / "people.csv", index=False)
    draw_people(60, 2).to_csv(folder / "outside.csv", index=False)
    draw_people(9, 3).to_csv(folder / "nine.csv", index=False)
    people[99:9:-1].to_csv(folder / "part.csv", index=False)
    draw_people(60, 2).assign(income="unknown").to_csv(
        folder / "texts.csv", index=False
    )
    (folder / "job.toml").write_text(JOB)
    release = aggopt.mask(people, aggopt.Job.read(folder / "job.toml"))
    leak = release.table.assign(income=people["income"])
    leak.to_csv(folder / "leak.csv", index=False)
    return folder


@pytest.fixture
def run(folder, monkeypatch, capsys):
    """Run a command there; return what it prints."""
    monkeypatch.chdir(folder)

    def run(*words: str) -> str:
        cli.app(list(words), standalone_mode=False)
        return capsys.readouterr().out

    return run


def test_a_share_is_left_out_of_a_second_masking(folder):
    people = draw_people(200, 1)
    job = aggopt.Job.read(folder / "job.toml")
    found = criteria.measure_on_second_masking(people, job, 0.1)
    houses = np.unique(people["house"], return_inverse=True)[1]
    is_outside = criteria.draw_control(houses, 200, 0.1)
    rest = people[~is_outside].reset_index(drop=True)
    names = ["age", "income", "sex", "ill", "debt"]
    masked = aggopt.mask(rest, job).table[names]
    by_hand = assess(
        rest[names], masked, people[is_outside][names], secret=["ill", "debt"]
    )
    assert found.attacks == by_hand.attacks
    assert (found.control, found.is_second_masking) == (20, True)


def test_strata_are_known_unless_small_ones_are_merged():
    people = draw_people(200, 1).drop(columns=["house", "debt"])
    roles = {"quasi-identifier": ["age"], "confidential": ["ill"]}
    for small, attacks in {"refuse": 4, "merge": 3}.items():
        job = aggopt.Job(
            roles={**roles, "stratum": ["sex"], "identifier": ["income"]},
            privacy={"k": 5},
            strata={"small": small},
        )
        found = criteria.measure_on_second_masking(people, job, 0.1)
        assert len(found.attacks) == attacks  # without strata there is nothing to link


def test_households_are_left_out_whole():
    houses = np.arange(90) // 3
    is_outside = criteria.draw_control(houses, 90, 0.2)
    assert is_outside.sum() == 18
    assert set(np.bincount(houses, is_outside)) == {0.0, 3.0}


def test_the_release_does_not_change_and_the_manifest_has_the_figures(run, folder):
    plain = ("mask", "people.csv", "job.toml", "--out")
    run(*plain, "one.csv")
    shown = run(*plain, "two.csv", "--report", "two.html", "--control", "0.1")
    assert "control of 20 records, left out of a second masking" in shown
    stated = json.loads((folder / "two.manifest.json").read_text())
    assert stated["input"]["records"] == 200
    assert stated["criteria"]["control_records"] == 20
    one, two = (pd.read_csv(folder / f"{name}.csv") for name in ("one", "two"))
    names = list(one.columns)
    assert one.sort_values(names, ignore_index=True).equals(
        two.sort_values(names, ignore_index=True)
    )
    again = ("report", "people.csv", "two.csv", "job.toml", "--out", "again.html")
    run(*again)
    pages = [(folder / name).read_text() for name in ("two.html", "again.html")]
    sections = [page.split('<section id="criteria"')[1][:3000] for page in pages]
    assert sections[0] == sections[1]
    assert "second masking" in sections[0]
    stated["criteria"]["attacks"][0]["rate"] = 7
    (folder / "two.manifest.json").write_text(json.dumps(stated))
    with refused(JobError, "criteria"):
        run(*again, "--overwrite")


def test_python_and_the_command_measure_the_same_criteria(run, folder):
    words = "people.csv", "job.toml", "--out", "whole.csv", "--control", "outside.csv"
    run("mask", *words)
    stated = json.loads((folder / "whole.manifest.json").read_text())["criteria"]
    job, people = aggopt.Job.read("job.toml"), pd.read_csv("people.csv")
    found = aggopt.mask(people, job, control=draw_people(60, 2)).criteria
    assert found.control == stated["control_records"] == 60
    rates = [attack["rate"] for attack in stated["attacks"]]
    assert [attack.rate for attack in found.attacks] == rates
    shared = aggopt.mask(people, job, control=0.1).criteria
    assert (shared.control, shared.is_second_masking) == (20, True)


@pytest.mark.parametrize("control", [0, 0.6, True, float("nan")])
def test_shares_that_leave_no_control_are_refused(folder, control):
    with refused(JobError, "control"):
        aggopt.mask(folder / "people.csv", folder / "job.toml", control=control)


def test_a_mask_of_a_folder_takes_no_control(folder, tmp_path):
    with refused(JobError, "control"):
        aggopt.mask(folder, folder / "job.toml", out=tmp_path / "o", control=0.1)


def test_a_leak_is_found_with_the_file_of_a_control(run):
    words = ("risk", "people.csv", "leak.csv", "job.toml", "--same-order")
    shown = run(*words, "--control", "outside.csv")
    assert "control of 60 records" in shown
    assert "HELPS" in shown.split("singling out by equality")[1].splitlines()[0]
    stated = json.loads(run(*words, "--control", "outside.csv", "--json"))
    assert stated["criteria"]["helps"] is True


REFUSED = {
    "no share": "0",
    "most of the table": "0.9",
    "too few records": "0.01",
    "too few persons in the file": "nine.csv",
    "no file": "nobody.csv",
    "the table itself": "people.csv",
    "records of the table": "part.csv",
    "an empty text": "",
    "text in place of numbers": "texts.csv",
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals(run, folder, case):
    words = ("mask", "people.csv", "job.toml", "--out", "not.csv")
    with refused(AggoptError):
        run(*words, "--control", REFUSED[case])
    assert not (folder / "not.csv").exists()


def test_a_control_without_a_release_is_refused(run):
    with refused(JobError, "--control"):
        run("risk", "people.csv", "job.toml", "--control", "0.1")


def test_a_share_of_a_folder_is_refused_and_a_folder_has_no_control(run, folder):
    words = ("--out", "out", "--engine", "local", "--control", "0.1")
    with refused(JobError, "--control"):
        run("mask", "people.csv", "job.toml", *words)
    job = aggopt.Job.read(folder / "job.toml")
    (folder / "parts").mkdir()
    for parts in (folder / "parts", folder / "*.parquet"):
        with refused(JobError, "folder"):
            criteria.measure_on_second_masking(parts, job, 0.1)


def test_a_rest_of_fewer_than_k_records_is_refused():
    people = draw_people(30, 1)[["age", "income"]]
    job = aggopt.Job(roles={"quasi-identifier": [*people]}, privacy={"k": 20})
    with refused(JobError, "12 records are the control", "k"):
        criteria.measure_on_second_masking(people, job, 0.4)
