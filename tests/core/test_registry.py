"""A method is found because its file lies in the folder of its kind."""

import sys
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from refusals import refused

from aggopt import partition
from aggopt.aggregate.registry import AGGREGATORS
from aggopt.core.registry import Method, Registry, require_arguments
from aggopt.errors import JobError, UnknownNameError
from aggopt.job import Privacy
from aggopt.partition.registry import PARTITIONERS
from aggopt.privacy.model import REQUIREMENTS


@dataclass(frozen=True, kw_only=True)
class Cooking(Method):
    """A kind of method that only these tests have."""


DECLARED = """
from {here} import Cooking
METHOD = Cooking(name={name!r}, when="hungry", rank={rank})
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Return a function that adds a file to a package, and the registry of it."""
    package = f"kitchen_{tmp_path.name}".replace("-", "_")
    (tmp_path / package).mkdir()
    (tmp_path / package / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(sys.modules, "cooking", sys.modules[__name__])

    def add(file: str, name: str, rank: int = 100) -> Registry[Cooking]:
        path = tmp_path / package / file
        path.parent.mkdir(exist_ok=True)
        (path.parent / "__init__.py").touch()
        path.write_text(DECLARED.format(here="cooking", name=name, rank=rank))
        return Registry(package, Cooking, "way of cooking")

    return add


def test_a_file_a_private_file_and_a_room_each_hold_a_method(folder) -> None:
    folder("boil.py", "boil")
    folder("_fry.py", "fry")
    registry = folder("_bake/bake.py", "bake")
    assert list(registry) == ["bake", "boil", "fry"]
    assert registry["fry"].name == "fry"
    assert len(registry) == 3


def test_a_room_without_a_file_of_its_name_holds_none(folder) -> None:
    assert list(folder("_oven/heat.py", "heat")) == []


def test_ranks_come_before_names(folder) -> None:
    folder("a.py", "a", rank=2)
    assert list(folder("b.py", "b", rank=1)) == ["b", "a"]


def test_two_of_one_name_are_refused(folder) -> None:
    folder("a.py", "boil")
    with refused(JobError, "'boil'"):
        list(folder("b.py", "boil"))


def test_a_name_that_is_taken_is_refused(folder) -> None:
    package = folder("a.py", "boil").folder
    with refused(JobError, "'boil'"):
        list(Registry(package, Cooking, "way of cooking", {"boil"}))


def test_a_key_that_two_own_is_refused(folder, monkeypatch) -> None:
    folder("a.py", "boil")
    registry = folder("b.py", "fry")
    monkeypatch.setattr(Cooking, "keys", frozenset({"heat"}))
    with refused(JobError, "'fry'", "'heat'", "'boil'"):
        list(registry)


def test_what_else_a_folder_or_a_section_has_is_taken() -> None:
    assert set(partition._HOMES) | {"recommended"} == PARTITIONERS.taken
    own = set(Privacy.model_fields).difference(*(m.keys for m in REQUIREMENTS.values()))
    assert own == REQUIREMENTS.taken


@pytest.mark.parametrize("settings", [{"seconds"}, {"heat"}])
def test_a_setting_that_does_not_act_is_refused(settings) -> None:
    with refused(JobError):
        require_arguments("boil", settings, lambda X, k, water=1: None)
    require_arguments("boil", {"water"}, lambda X, k, water=1: None)
    require_arguments("boil", {"heat"}, lambda X, **others: None)


def test_partitioners_and_aggregations_are_held_to_it() -> None:
    for method in (PARTITIONERS["optimal"], AGGREGATORS["p3m"]):
        with refused(JobError):
            replace(method, function=lambda X, k: None)


def test_an_object_that_two_files_name_is_one_method(folder, tmp_path) -> None:
    registry = folder("boil.py", "boil")
    (tmp_path / registry.folder / "again.py").write_text(
        f"from {registry.folder}.boil import METHOD\nBOTH = (METHOD, METHOD)\n"
    )
    assert list(registry) == ["boil"]


def test_an_unknown_name_is_refused_with_the_nearest(folder) -> None:
    with refused(UnknownNameError, "'biol'"):
        folder("boil.py", "boil").look_up("biol")
    with pytest.raises(UnknownNameError):
        folder("boil.py", "boil").look_up(3)


def test_nothing_is_imported_before_somebody_looks(folder) -> None:
    registry = folder("boil.py", "boil")
    assert f"{registry.folder}.boil" not in sys.modules
    assert "boil" in registry
    assert f"{registry.folder}.boil" in sys.modules
