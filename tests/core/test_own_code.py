"""Code of the user's is loaded only from a file that the caller trusts, as it was."""

import os
import pickle
import sys
import threading
import traceback
from pathlib import Path

import pytest
from refusals import refused

from aggopt.core.plugins import loading as own_code
from aggopt.core.plugins.loading import (
    Origin,
    find_origin,
    is_code_file,
    list_trusted_files,
    load_plugin,
    reload_plugin,
    trust_files,
)
from aggopt.core.plugins.section import PluginSection
from aggopt.errors import JobError, UnknownNameError, UntrustedCodeError

RAN = """
import sys
sys.ran = getattr(sys, "ran", 0) + 1
def split(X, k):
    return X
"""


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch):
    """Return a function that says how often a file of code was run."""
    monkeypatch.setattr(sys, "ran", 0, raising=False)
    return lambda: sys.ran


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(RAN)
    return path


def test_a_file_that_is_not_trusted_is_not_run(file, ran) -> None:
    with pytest.raises(UntrustedCodeError) as error:
        load_plugin("partitioners", "mine.py:split", beside=file.parent)
    assert ran() == 0
    assert f"--trust {file.resolve()}" in error.value.fix
    assert isinstance(error.value, JobError)


def test_a_trusted_file_is_run_once_and_says_what_was_run(file, ran) -> None:
    path = list(sys.path)
    with trust_files([file]):
        split, origin = load_plugin("partitioners", "mine.py:split", beside=file.parent)
        again, _ = load_plugin("partitioners", f"{file}:split")
    assert (ran(), again is split, split(3, 1)) == (1, True, 3)
    assert sys.path == path
    digest = own_code.sha256(file.read_bytes()).hexdigest()
    assert origin == Origin(
        "mine.py:split", "partitioners", "file", file.resolve(), digest
    )
    assert str(origin) == f"mine.py, sha256 {digest}"
    assert str(file.parent) not in str(origin.to_dict())
    assert origin.to_dict()["file"] == "mine.py"


def test_trust_ends_with_its_block_and_is_of_one_thread(file) -> None:
    seen: list[object] = []
    with trust_files([file]):
        assert [code.path for code in list_trusted_files()] == [file.resolve()]
        other = threading.Thread(target=lambda: seen.append(list_trusted_files()))
        other.start()
        other.join()
    assert seen == [()]
    assert list_trusted_files() == ()


def test_a_file_that_changed_since_it_was_trusted_is_not_run(file, ran) -> None:
    with trust_files([file]):
        file.write_text(RAN + "# one line more\n")
        with refused(UntrustedCodeError, "has changed"):
            load_plugin("partitioners", f"{file}:split")
    assert ran() == 0


def test_a_file_that_changed_since_it_ran_is_not_loaded_again(file, ran) -> None:
    with trust_files([file]):
        split, origin = load_plugin("partitioners", f"{file}:split")
    assert reload_plugin(pickle.loads(pickle.dumps(origin))) is split
    file.write_text(RAN.replace("return X", "return k"))
    with refused(UntrustedCodeError, "has changed"):
        reload_plugin(origin)
    assert ran() == 1


def test_a_link_is_the_file_that_it_leads_to(file, tmp_path: Path, ran) -> None:
    other = tmp_path / "other.py"
    other.write_text(RAN)
    link = tmp_path / "link.py"
    link.symlink_to(file)
    with trust_files([file]):
        assert load_plugin("models", str(link))[1].file == file.resolve()
        link.unlink()
        link.symlink_to(other)
        with refused(UntrustedCodeError, "other.py"):
            load_plugin("models", str(link))
    assert ran() == 1


def test_a_path_is_never_seen_from_the_working_directory(
    file, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(file.parent)
    with trust_files(["mine.py"]):  # an argument, which is
        with refused(JobError, "there is none") as error:
            load_plugin("partitioners", "mine.py:split")
        assert not isinstance(error.value, UntrustedCodeError)
        module, origin = load_plugin(
            "models", "mine.py", beside=Path()
        )  # as none is written
        assert callable(module.split)
        assert origin.name == "mine.py"


def test_an_object_that_is_not_there_is_refused_with_the_nearest(file) -> None:
    with trust_files([file]), pytest.raises(UnknownNameError) as error:
        load_plugin("partitioners", f"{file}:spilt")
    assert error.value.problem == "No object in mine.py is called 'spilt'."
    assert "did you mean 'split'" in error.value.fix
    assert "sys" not in error.value.fix


@pytest.mark.parametrize(
    ("trust", "match"),
    [
        ("mine.py", "no list"),
        (Path("mine.py"), "no list"),
        (["nowhere.py"], "There is no file"),
        ([os.devnull], "no plain file"),
        (["."], "is a directory"),
    ],
)
def test_what_cannot_be_trusted_is_refused(trust, match) -> None:
    with pytest.raises(JobError, match=match), trust_files(trust):
        pass


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = (1,\n", "a SyntaxError in line 1 of bad.py"),
        ("\nraise ValueError('4711')\n", "a ValueError in line 2 of bad.py"),
        ("import sys\n\nsys.exit('4711')\n", "a SystemExit in line 3 of bad.py"),
        ("def f():\n    return {}['4711']\nf()\n", "a KeyError in line 2 of bad.py"),
        (
            "from aggopt.errors import JobError\nraise JobError('4711', fix='4711')",
            "a JobError in line 2 of bad.py",
        ),
        ("assert False, '4711'", "an AssertionError in line 1 of bad.py"),
    ],
)
def test_an_error_of_own_code_is_told_by_type_and_line(tmp_path, text, said) -> None:
    path = tmp_path / "bad.py"
    path.write_text(text)
    modules = set(sys.modules)
    with trust_files([path]), pytest.raises(JobError) as error:
        load_plugin("models", str(path))
    assert f"bad.py fails with {said};" in error.value.problem
    assert error.value.__context__ is error.value.__cause__ is None
    assert "4711" not in "".join(traceback.format_exception(error.value))
    assert not [name for name in set(sys.modules) - modules if "aggopt_own" in name]


def test_an_interrupt_of_own_code_is_an_interrupt() -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        find_origin("measures", interrupted).run(interrupted)


def test_an_object_says_its_name_and_where_it_fails() -> None:
    def mine() -> None:
        raise ValueError("4711")

    origin = find_origin("measures", mine)
    assert str(origin) == "object mine"
    assert origin.run(lambda: 3) == 3
    with refused(JobError, "test_own_code") as error:
        origin.run(mine)
    assert "4711" not in str(error.value)
    assert find_origin("measures", object()).name == "object"


class Distribution:
    name, version = "extras", "1.2"


class Point:
    """An entry point that counts how often it is loaded."""

    dist = Distribution()

    def __init__(self, name: str, value: str) -> None:
        self.name, self.value, self.loads = name, value, 0

    def load(self) -> object:
        self.loads += 1
        if self.value == "broken":
            raise ImportError("4711")
        return self.value


def test_an_entry_point_loads_only_if_it_is_named(monkeypatch) -> None:
    points = [Point("halves", "f"), Point("thirds", "broken")]
    asked: list[str] = []
    monkeypatch.setattr(
        own_code, "entry_points", lambda *, group: asked.append(group) or points
    )
    found, origin = load_plugin("partitioners", "halves")
    assert (found, [point.loads for point in points]) == ("f", [1, 0])
    assert asked == ["aggopt.partitioners"]
    assert str(origin) == "extras 1.2"
    assert origin.where == "entry point"
    assert reload_plugin(origin) == "f"
    with refused(UnknownNameError, "'halves'"):
        load_plugin("partitioners", "halvs")
    with refused(JobError):
        load_plugin("partitioners", "thirds")


def test_two_packages_with_one_name_are_refused(monkeypatch) -> None:
    points = [Point("halves", "f"), Point("halves", "g")]
    monkeypatch.setattr(own_code, "entry_points", lambda *, group: points)
    with refused(JobError, "'halves'"):
        load_plugin("measures", "halves")
    points[1].value = "f"  # found on two paths: one and the same
    assert load_plugin("measures", "halves")[0] == "f"


def test_an_unknown_kind_of_code_is_refused() -> None:
    with refused(UnknownNameError, "'model'"):
        load_plugin("model", "x.py")


@pytest.mark.parametrize(
    ("name", "whether"),
    [("a.py", True), ("b/a.py:f", True), ("mdav", False), (".py", False), (3, False)],
)
def test_which_names_are_of_files(name, whether) -> None:
    assert is_code_file(name) is whether


def test_a_name_is_seen_from_the_folder_of_its_job(tmp_path: Path) -> None:
    seen = own_code.resolve_code_path
    assert seen(tmp_path, "a.py:f") == f"{tmp_path.resolve() / 'a.py'}:f"
    assert seen(tmp_path, "a.py") == str(tmp_path.resolve() / "a.py")
    assert seen(tmp_path, "/x/a.py") == "/x/a.py"
    assert seen(tmp_path, "mdav") == "mdav"


# --- sections that name code of the user's say how it is loaded


def test_a_section_that_does_not_say_how_its_code_is_loaded_is_not_made():
    class Half(PluginSection):
        @property
        def own_methods(self):
            return ()

    with pytest.raises(TypeError, match=r"abstract method '?load_contents"):
        Half()
