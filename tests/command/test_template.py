"""The commented job of `aggopt init` lists what the registries have."""

import re
import tomllib

import pandas as pd
import pytest

from aggopt import Job
from aggopt.aggregate import AGGREGATORS, CATEGORY_AGGREGATORS
from aggopt.command.draft import propose_job
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
    assert all(len(line) <= 88 for line in lines if "# What aggopt does" not in line)
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
