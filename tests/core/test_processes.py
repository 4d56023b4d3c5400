"""Work for other processes: what refuses to be loaded there says why."""

import os
import signal
import warnings

import joblib
import pytest
from refusals import refused

from aggopt.core.parallel import run_in_processes
from aggopt.core.plugins.loading import trust_files
from aggopt.errors import EngineError, UntrustedCodeError
from aggopt.partition import PARTITIONERS


class Here:
    """What stands for the processes of joblib: each task in turn, in this one."""

    def __init__(self, **how):
        assert how["max_nbytes"] is None

    def __call__(self, tasks):
        for function, given, _ in tasks:
            yield function(*given)


class Warns(Here):
    """The same, which warns of results that nobody asks for, as joblib does."""

    def __call__(self, tasks):
        try:
            yield from super().__call__(tasks)
        except GeneratorExit:
            warnings.warn("2 tasks have been cancelled.", stacklevel=2)
            raise


def safe(part):
    return os.environ.get("PYTHONSAFEPATH")


def doubled(part):
    return 2 * part


def called(method):
    return method.name


@pytest.mark.parametrize("jobs", [1, 2])
def test_each_part_has_its_result(monkeypatch, jobs):
    monkeypatch.setattr(joblib, "Parallel", Here)
    assert list(run_in_processes(doubled, [1, 2], jobs)) == [2, 4]
    assert list(run_in_processes(lambda part: part + 1, [1, 2], jobs)) == [2, 3]


def test_whoever_stops_early_is_not_warned_of_it(monkeypatch):
    monkeypatch.setattr(joblib, "Parallel", Warns)
    made = run_in_processes(doubled, [1, 2, 3], 2)
    assert next(made) == 2
    made.close()


@pytest.mark.smoke
def test_processes_import_nothing_from_where_we_are(monkeypatch):
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    monkeypatch.setattr(joblib, "Parallel", Here)
    assert list(run_in_processes(safe, [1], 2)) == ["1"]
    assert safe(1) is None


def lost(part):
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.slow
def test_a_process_that_the_system_ends_is_said_and_not_waited_for():
    with refused(EngineError):
        list(run_in_processes(lost, range(4), 2))
    assert list(run_in_processes(abs, [-1], 2)) == [1]


def test_code_that_changed_is_refused_in_words(monkeypatch, tmp_path):
    monkeypatch.setattr(joblib, "Parallel", Here)
    code = tmp_path / "mine.py"
    code.write_text("def split(X, k):\n    return X\n")
    with trust_files([code]):
        method = PARTITIONERS.adopt(f"{code}:split")
    assert list(run_in_processes(called, [method], 2)) == ["mine.py:split"]

    def parts():
        yield method
        code.write_text("raise SystemExit")
        yield method

    left = run_in_processes(called, parts(), 2)
    assert next(left) == "mine.py:split"
    with refused(UntrustedCodeError):
        next(left)
