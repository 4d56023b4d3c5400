"""What is said of the tables of benchmarks/real_tables.py."""

import tomllib
from pathlib import Path

TABLES = Path(__file__).parents[1] / "benchmarks" / "real_tables.toml"
SAID = tomllib.loads(TABLES.read_text("utf-8"))
LISTS = {"quasi", "nominal", "date", "identifier"}


def test_there_are_many_and_nothing_is_said_but_roles_kinds_and_holes() -> None:
    assert len(SAID) == 94
    for name, said in SAID.items():
        assert name.count(".") == 1
        assert said["quasi"]
        for key, value in said.items():
            assert isinstance(value, list) if key in LISTS else value is True
            assert key in LISTS | {"fill", "multiline"}


def test_kinds_are_of_quasi_identifiers_and_roles_are_one_each() -> None:
    for said in SAID.values():
        quasi = set(said["quasi"])
        assert len(quasi) == len(said["quasi"])
        assert {*said.get("nominal", []), *said.get("date", [])} <= quasi
        assert not quasi & {*said.get("identifier", [])}
