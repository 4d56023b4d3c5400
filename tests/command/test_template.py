"""Templates of jobs, and trust in their code."""

import json
import re
import tomllib

import pandas as pd
import pytest
from tables import ROLES_AND_K, people

from aggopt import Job
from aggopt.aggregate import AGGREGATORS, CATEGORY_AGGREGATORS
from aggopt.inspection.draft import propose_job
from aggopt.job.engine_section import Engine
from aggopt.partition.registry import PARTITIONERS

ROLES = {"quasi-identifier": ["age"]}
SETTING = re.compile(r"^(?:# )?(\w+ = .*?)(?: +#.*)?$", re.MULTILINE)


@pytest.fixture
def text(tmp_path) -> str:
    table = tmp_path / "people.csv"
    pd.DataFrame({"age": [1.0, 2.0, 3.0]}).to_csv(table, index=False)
    return propose_job(table, tmp_path / "job.toml").text


OF_CATEGORIES = "\n# [aggregation.categories]"


def section(text: str, name: str = "aggregation", ends: str = "input") -> str:
    found = text.split(f"[{name}]\n")[1].split(f"\n[{ends}]")[0]
    return found.split(OF_CATEGORIES)[0]


def of_categories(text: str) -> str:
    return text.split(OF_CATEGORIES)[1].split("\n[input]")[0]


def of_partitions(text: str) -> str:
    return section(text, "partition", "aggregation")


def test_lines_are_short_and_the_default_is_the_first(text) -> None:
    lines = [line for line in text.splitlines() if not line.startswith("#     aggopt ")]
    assert all(len(line) <= 88 for line in lines if "# The job for" not in line)
    first = section(text).splitlines()[0]
    assert first == 'method = "mean"          # least squared error; the default'


@pytest.mark.parametrize("name", AGGREGATORS)
def test_each_aggregation_is_named_with_when_to_use_it(text, name) -> None:
    (line,) = re.findall(rf'^.*"{name}" +(?:# )?(.*)$', section(text), re.MULTILINE)
    assert line == AGGREGATORS[name].when


@pytest.mark.parametrize("name", AGGREGATORS)
def test_each_setting_of_an_aggregation_stands_ready(text, name) -> None:
    ready = [tomllib.loads(line) for line in SETTING.findall(section(text))]
    settings = {key: value for line in ready for key, value in line.items()}
    own = set(AGGREGATORS[name].settings.model_fields) - {"categories"}
    assert own <= set(settings)
    asked = {key: settings[key] for key in own} | {"method": name}
    asked.pop("options", None)
    made = Job(roles=ROLES, privacy={"k": 3}, aggregation=asked).aggregation
    assert made.model_dump(exclude={"options", "categories"}) == asked


@pytest.mark.parametrize("name", CATEGORY_AGGREGATORS)
def test_each_aggregation_of_categories_stands_ready(text, name) -> None:
    said, method = of_categories(text), CATEGORY_AGGREGATORS[name]
    (line,) = re.findall(rf'^.*"{name}" +(?:# )?(.*)$', said, re.MULTILINE)
    assert line == method.when
    ready = [tomllib.loads(line) for line in SETTING.findall(said)]
    settings = {key: value for line in ready for key, value in line.items()}
    fields = method.settings.model_fields
    own = {field.alias or key for key, field in fields.items()} - {"options", "price"}
    assert own <= set(settings)
    if "occurring" in own:  # which needs no solver
        own.remove("time_limit")
    asked = {key: settings[key] for key in own} | {"method": name}
    how = Job(roles=ROLES, privacy={"k": 3}, aggregation={"categories": asked})
    made = how.aggregation.categories.model_dump(mode="json", by_alias=True)
    assert {key: made[key] for key in own} == asked


@pytest.mark.parametrize(
    ("name", "others"),
    [
        ("local", {"workers", "scheduler", "insecure"}),
        ("dask", {"jobs", "scheduler"}),
        ("dask", {"jobs", "workers"}),
    ],
    ids=["local", "dask, workers", "dask, a scheduler"],
)
def test_each_setting_of_an_engine_stands_ready(text, name, others) -> None:
    lines = SETTING.findall(text.split("# [engine]")[1])
    settings = {k: v for line in lines for k, v in tomllib.loads(line).items()}
    assert set(settings) == set(Engine.model_fields)
    asked = {key: settings[key] for key in settings.keys() - others} | {"name": name}
    made = Job(roles=ROLES, privacy={"k": 3}, engine=asked).engine
    assert made.model_dump().items() >= asked.items()
    for key in asked.keys() - {"name", "workers", "scheduler", "work"}:
        assert Engine.model_fields[key].default == asked[key]


@pytest.mark.parametrize("name", PARTITIONERS)
def test_each_partition_method_is_named_with_when_to_use_it(text, name) -> None:
    methods = of_partitions(text).split("\nattributes = ")[0]
    flat = re.sub(r"\n# {20,}", " ", methods)
    (line,) = re.findall(rf'^# .*"{name}" +(?:# )?(.*)$', flat, re.MULTILINE)
    assert line == PARTITIONERS[name].when


@pytest.mark.parametrize("name", PARTITIONERS)
def test_each_setting_of_a_partition_method_is_what_it_is_left_out(text, name) -> None:
    said = of_partitions(text)
    ready: dict[str, object] = {}
    for line in re.findall(r"^# (\w+ = .*?)(?: +#.*)?$", said, re.MULTILINE):
        ready |= tomllib.loads(line)
    fields = PARTITIONERS[name].settings.model_fields
    own = set(fields) - {"method", "attributes"}
    assert all(re.search(rf"^# {key} ", said, re.MULTILINE) for key in own)
    asked = {key: ready[key] for key in own & ready.keys()}
    made = Job(roles=ROLES, privacy={"k": 3}, partition={"method": name, **asked})
    assert made.partition.model_dump().items() >= asked.items()
    for key in asked.keys() - {"time_limit", "solver", "options"}:
        assert fields[key].default == asked[key]


# --- every command that reads a job runs the code that it names only if told to


CODE = """
from pathlib import Path
Path(__file__).with_name("ran").touch()
import numpy as np

def split(X, k, *, reverse=False):
    rank = np.argsort(np.argsort(-X[:, 0] if reverse else X[:, 0]))
    return np.minimum(rank // k, len(X) // k - 1)
"""
JOB = f"""{ROLES_AND_K}[partition]
method = "mine.py:split"
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with a table, a job and its code, as working directory."""
    monkeypatch.chdir(tmp_path)
    people().to_csv("people.csv", index=False)
    (tmp_path / "job.toml").write_text(JOB)
    (tmp_path / "mine.py").write_text(CODE)
    return tmp_path


TRUST = ("--trust", "mine.py")
MASK = ("mask", "people.csv", "job.toml", "--out", "masked.csv")
REPEAT = ("repeat", "masked.manifest.json", "people.csv", "--out", "again.csv")
ASSESS = ("assess", "people.csv", "masked.csv", "job.toml")
CHECK = ("check", "people.csv", "job.toml")
COMPARE = ("compare-solvers", "people.csv", "job.toml")
SWEEP = ("sweep", "people.csv", "job.toml", "--alpha", "0.5", "--delta", "0.1")


@pytest.mark.parametrize("words", [MASK, CHECK, COMPARE, SWEEP])
def test_without_trust_a_command_ends_with_2_and_runs_nothing(
    here, aggopt, words
) -> None:
    code, out, err = aggopt(*words)
    assert code == 2
    said = " ".join((out + err).split())
    assert "names code, mine.py" in said
    assert "--trust" in said
    assert "no role" not in said
    left = {path.name for path in here.iterdir()}
    assert left == {"people.csv", "job.toml", "mine.py"}


def test_with_trust_a_release_is_made_repeated_and_read_again(here, aggopt) -> None:
    assert aggopt(*CHECK, *TRUST)[0] == 0
    assert not (here / "masked.csv").exists()
    code, _, err = aggopt(*MASK, *TRUST)
    assert (code, err) == (0, "")
    assert (here / "ran").exists()
    (here / "ran").unlink()
    stated = json.loads((here / "masked.manifest.json").read_text())
    assert stated["code"][0]["file"] == "mine.py"
    for words in (REPEAT, ASSESS):
        code, out, err = aggopt(*words)
        assert code == 2
        assert "mine.py" in out + err
        assert not (here / "ran").exists()
        assert aggopt(*words, *TRUST)[0] == 0
    assert (here / "again.csv").read_bytes() == (here / "masked.csv").read_bytes()


def test_the_error_of_such_code_reaches_no_json(here, aggopt) -> None:
    (here / "mine.py").write_text("def split(X, k):\n    return {}[X[0, 0]]\n")
    code, out, err = aggopt(*MASK, *TRUST, "--json")
    said = json.loads(out)
    assert (code, said["exit"], err) == (2, 2, "")
    assert "split fails with a KeyError in line 2 of mine.py" in said["error"]
    assert str(people()["age"][0]) not in said["error"]


def test_a_trusted_file_that_is_not_there_is_refused(here, aggopt) -> None:
    code, _, err = aggopt(*MASK, "--trust", "nowhere.py")
    assert code == 2
    assert "There is no file nowhere.py" in err


MOVED = """
def moved(X, labels, *, by=0.0):
    import numpy as np
    sums = [np.bincount(labels, x) / np.bincount(labels) for x in X.T]
    return np.transpose(sums) + by
"""


def test_a_sweep_goes_through_settings_of_code(here, aggopt) -> None:
    (here / "mine.py").write_text(MOVED)
    named = '"mdav"\n[aggregation]\nmethod = "mine.py:moved"'
    (here / "job.toml").write_text(JOB.replace('"mine.py:split"', named))
    words = ("sweep", "people.csv", "job.toml", *TRUST, "--jobs", "1")
    code, out, err = aggopt(*words, "--over", "by=0,2.5")
    assert (code, err) == (0, "")
    assert " by " in out
    lines = (here / "sweep.csv").read_text().splitlines()
    assert [line.partition(",")[0] for line in lines] == ["settings.by", "0.0", "2.5"]
    assert (here / "sweep.png").exists()
    code, _, err = aggopt(*words, "--over", "by")
    assert (code, "write NAME=VALUES" in err) == (2, True)
    code, _, err = aggopt(*words, "--over", "bye=3", "--overwrite")
    assert (code, "did you mean 'by'" in err) == (2, True)
