"""A function of the user's: its signature says its data and its settings."""

import math
import pickle
import sys
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import numpy.typing as npt
import pytest
from pydantic import Field
from refusals import refused

from aggopt.core.plugins import loading as own_code
from aggopt.core.plugins.function import UserFunction
from aggopt.core.plugins.loading import Origin, find_origin, load_plugin, trust_files
from aggopt.core.registry import Method, Registry
from aggopt.errors import JobError, UnknownNameError
from aggopt.partition import PARTITIONERS, mdav


class Halving(UserFunction):
    """A kind of function that only these tests have."""

    data = ("X", "k")


def own(function, taken=frozenset()):
    return Halving.of(function, find_origin("partitioners", function), taken)


def plain(X, k, *, cap=1.0, fast=False, how="near", more=None, progress=None):
    if progress is not None:
        progress(1.0)
    return X, k, cap, fast, how, more


def test_what_is_not_data_is_a_setting() -> None:
    assert list(own(plain).settings) == ["cap", "fast", "how", "more"]
    assert list(own(lambda X, k, j=2: X).settings) == ["j"]
    assert list(own(lambda *data, j=2: data).settings) == ["j"]
    assert own(lambda X, k, **more: X).settings == {}


def test_settings_that_are_not_given_are_those_of_the_function() -> None:
    assert own(plain).check_arguments({"cap": 3}) == {
        "cap": 3,
        "fast": False,
        "how": "near",
    }
    assert own(lambda X, k, **more: X).check_arguments({"any": 1}) == {"any": 1}


@pytest.mark.parametrize(
    "given",
    [{"cpa": 3}, {"cap": "x"}, {"cap": True}, {"fast": 1}, {"how": 1}, {"progress": 1}],
)
def test_other_settings_are_refused(given) -> None:
    with refused(JobError):
        own(plain).check_arguments(given)


def typed(
    X,
    k,
    *,
    bins: int = 5,
    share: Annotated[float, Field(gt=0, lt=1)] = 0.5,
    how: Literal["near", "far"] = "near",
    most: float | None = None,
    pair: tuple[int, int] = (1, 2),
    table: npt.NDArray[np.float64] | None = None,
    late: "Later" = 3,  # noqa: F821  # nobody knows
    steps=(1, 2),
    by={},  # noqa: B006
):
    """Take settings that say what they are."""


@pytest.mark.parametrize(
    "given",
    [
        {"bins": 7, "share": 0.25, "how": "far", "most": None, "pair": [3, 4]},
        {"share": np.float64(0.5), "bins": np.int64(3), "most": 3},
        {"table": "any", "late": 4, "steps": [3], "by": {"a": 1}},
        {"most": math.inf},
    ],
)
def test_what_annotations_and_defaults_say_is_taken(given) -> None:
    assert own(typed).check_arguments(given).items() >= given.items()


@pytest.mark.parametrize(
    "given",
    [
        {"bins": 2.5},
        {"bins": True},
        {"bins": "5"},
        {"share": 1.5},
        {"share": True},
        {"how": "nera"},
        {"how": 3},
        {"pair": [1]},
        {"steps": 3},
        {"by": [3]},
    ],
)
def test_what_an_annotation_does_not_take_is_refused(given) -> None:
    with refused(JobError) as error:
        own(typed).check_arguments(given)
    assert "2.5" not in str(error.value)


def test_a_setting_without_a_default_is_needed() -> None:
    def needing(X, k, *, a, b, c=1):
        """Take two that must be given."""

    with refused(JobError):
        own(needing).check_arguments({})
    assert own(needing).check_arguments({"a": 1, "b": [2]}) == {
        "a": 1,
        "b": [2],
        "c": 1,
    }


def test_a_function_without_settings_takes_none() -> None:
    def none(X, k):
        """Take data alone."""

    with refused(JobError) as no:
        own(none).check_arguments({"cap": 1})
    assert not isinstance(no.value, UnknownNameError)


def test_it_gets_the_progress_callback_if_it_takes_it() -> None:
    shares: list[float] = []
    assert own(plain).run(1, 2, progress=shares.append, cap=3)[:3] == (1, 2, 3)
    assert shares == [1.0]
    assert own(lambda X, k: X).run(1, 2, progress=shares.append) == 1


@pytest.mark.parametrize("thing", [3, lambda X: X, lambda *, X, k: X, dict])
def test_what_no_method_can_be_made_of_is_refused(thing) -> None:
    with refused(JobError):
        own(thing)


def test_arguments_that_mean_something_else_are_refused() -> None:
    with refused(JobError):
        own(plain, frozenset({"cap", "other"}))


FILE = "def halves(X, k, *, cap=1):\n    return X, k, cap\n"


@pytest.fixture
def code(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(FILE)
    return path


def test_it_is_loaded_again_in_another_process(code) -> None:
    with trust_files([code]):
        made = Halving.of(*load_plugin("partitioners", f"{code}:halves"), frozenset())
    sent = pickle.dumps(made)
    assert FILE.encode() not in sent
    here = pickle.loads(sent)
    assert here == made
    del sys.modules[made.function.__module__]  # as in a process that has not run it
    there = pickle.loads(sent)
    assert there.function is not made.function
    assert there.run(1, 2, cap=3) == (1, 2, 3)
    assert pickle.loads(pickle.dumps(own(plain))) == own(plain)


def test_a_file_with_one_function_needs_no_name_of_it(code) -> None:
    with trust_files([code]):
        assert load_plugin("partitioners", str(code))[0](1, 2) == (1, 2, 1)
    code.write_text(FILE + FILE.replace("halves", "thirds") + "import numpy as np\n")
    with trust_files([code]), pytest.raises(JobError) as error:
        load_plugin("partitioners", str(code))
    assert error.value.problem == "mine.py has 2 functions, and the job names none."
    assert error.value.fix == "write mine.py:NAME, one of halves, thirds."
    code.write_text("x = 3\n")
    with (
        trust_files([code]),
        pytest.raises(JobError, match=r"mine\.py has no function"),
    ):
        load_plugin("partitioners", str(code))


def test_what_a_registry_has_is_never_shadowed(monkeypatch) -> None:
    built_in = PARTITIONERS["mdav"]
    for named in ("mdav", mdav, built_in):
        assert PARTITIONERS.adopt(named) is built_in
        assert not PARTITIONERS.names_user_code(named)

    class Plugin:
        name, value, dist = "mdav", "other:mdav", None

        def load(self):
            raise AssertionError("a plugin took the place of a method")

    monkeypatch.setattr(own_code, "entry_points", lambda *, group: [Plugin()])
    assert PARTITIONERS.adopt("mdav") is built_in

    def cbfs(X, k):
        """Have the name of a method of this package."""

    with refused(JobError, "'cbfs'"):
        PARTITIONERS.adopt(cbfs)
    assert "cbfs" in PARTITIONERS


def test_a_plugin_is_a_method_under_its_name(monkeypatch) -> None:
    class Plugin:
        name, value, dist = "halves", "extras:halves", None

        def load(self):
            return plain

    monkeypatch.setattr(own_code, "entry_points", lambda *, group: [Plugin()])
    monkeypatch.setattr("aggopt.core.registry.find_plugins", own_code.find_plugins)
    assert PARTITIONERS.names_user_code("halves")
    method = PARTITIONERS.adopt("halves")
    assert (method.name, method.origin.where) == ("halves", "entry point")
    assert "halves" not in PARTITIONERS
    assert method.guarantees == frozenset("k")


def test_a_name_that_nothing_has_is_refused_with_the_nearest() -> None:
    with refused(UnknownNameError, "'mdva'"):
        PARTITIONERS.adopt("mdva")
    for named in (3, None, ["mdav"], {"a": 1}):
        assert not PARTITIONERS.names_user_code(named)
        with pytest.raises(UnknownNameError):
            PARTITIONERS.adopt(named)


def test_kinds_that_take_no_code_say_so() -> None:
    methods = Registry("aggopt.core", Method, "kind of method")
    assert not methods.names_user_code("mine.py:f")
    with refused(UnknownNameError, "mine.py"):
        methods.adopt("mine.py:f")


def test_an_origin_is_of_this_package_if_nothing_is_said() -> None:
    assert PARTITIONERS["mdav"].origin is None
    assert str(Origin("x", "models", "package")) == "package x"
