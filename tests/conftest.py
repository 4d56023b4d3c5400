"""What the tests share: the reference data, and solvers that may be missing."""

import gc
import inspect
import os
import signal
import sys
from functools import cache, partial
from pathlib import Path

import numpy as np
import pytest
import refusals
import typer
from _pytest.doctest import DoctestModule
from forked import forks
from hypothesis import HealthCheck, Phase, settings

from aggopt.checks import (
    _aggregators,
    _partitioners,
    _repairs,
    _solver_functions,
    _solvers,
)
from aggopt.command import console, log, progress, start
from aggopt.core import guardian
from aggopt.core.worker import inside
from aggopt.release import manifest
from aggopt.solvers import SOLVERS
from aggopt.solvers import process_pool as _pool

# A slow machine fails no law: examples have no deadline, and may be drawn slowly.
settings.register_profile(
    "random", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
# The examples of a test are the same in each run: no verdict depends on luck.
settings.register_profile(
    "same", settings.get_profile("random"), derandomize=True, max_examples=50
)
settings.load_profile("same")

# `make mutants` wants to know whether a test fails, the same each time, not why
settings.register_profile(
    "mutants",
    settings.get_profile("same"),
    max_examples=100,
    database=None,
    phases=[Phase.explicit, Phase.generate],
)

HOUR = 3600.0
SHARED = Path(__file__).parents[2] / "shared" / "data"


SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


def pytest_addoption(parser):
    parser.addoption(
        "--rewrite-messages",
        action="store_true",
        help="write messages.txt anew, of the tests that run",
    )


def pytest_configure(config):
    if config.getoption("--rewrite-messages"):
        if config.getoption("numprocesses", None) or hasattr(config, "workerinput"):
            raise pytest.UsageError("--rewrite-messages is of one process: omit -n")
        refusals.REWRITTEN = {}


def pytest_sessionfinish():
    refusals.write_messages()


@pytest.fixture(scope="session", autouse=True)
def folders_without_names(tmp_path_factory):
    """Let messages.txt name no temporary folder."""
    refusals.TEMPORARY.append(tmp_path_factory.getbasetemp())


@pytest.fixture(scope="session", autouse=True)
def signals_reach_new_processes():
    """Ignore no signal that a shell ignores, in its background or under nohup.

    A process that a test starts inherits what is ignored, and no handler.  So a handler
    that does nothing lets the run go on, and lets these processes be ended.
    """
    for number in SIGNALS:
        if signal.getsignal(number) is signal.SIG_IGN:
            interrupts = number == signal.SIGINT
            handler = signal.default_int_handler if interrupts else lambda *_: None
            signal.signal(number, handler)


@pytest.fixture(scope="session", autouse=True)
def laws_in_no_hurry():
    """Let a loaded machine take longer than a user's for limits that laws look at."""
    with pytest.MonkeyPatch.context() as patch:
        for laws in (
            _aggregators,
            _partitioners,
            _repairs,
            _solvers,
            _solver_functions,
        ):
            patch.setattr(laws, "SOON", 60.0)
        yield


@pytest.fixture(scope="session", autouse=True)
def width_of_no_terminal():
    """Print as into a pipe: runs in several processes name the terminal's width."""
    os.environ.pop("COLUMNS", None)


@pytest.fixture(scope="session", autouse=True)
def no_lines_of_progress():
    """Print no line of progress, and log none: on a loaded machine each test lasts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(console, "print_lines", partial(progress.print_lines, every=HOUR))
        patch.setattr(log, "EVERY", HOUR)
        yield


@pytest.fixture(scope="session", autouse=True)
def reference_data():
    """Let the tests read the field's reference data where they lie."""
    if "AGGOPT_DATA" not in os.environ and SHARED.is_dir():
        os.environ["AGGOPT_DATA"] = str(SHARED)


@pytest.fixture(scope="session", autouse=True)
def solvers_in_this_process():
    """Run solvers here, as in a process of theirs; `own_process` gives that back."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inside, "is_worker", True)
        patch.setattr(guardian._state, "wanted", False)
        yield


@pytest.fixture(scope="session", autouse=True)
def asked_once():
    """Look up versions and commands once, and wait for no disk: no power fails here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest, "version", cache(manifest.version))
        patch.setattr(typer.main, "get_command", cache(typer.main.get_command))
        patch.setattr(os, "fsync", os.fstat)
        if sys.version_info < (3, 12):  # which remembers it: narwhals asks all the time
            patch.setattr(inspect, "_shadowed_dict", cache(inspect._shadowed_dict))
        yield


@pytest.fixture
def short_grace(own_process, monkeypatch):
    """Run solvers in processes of their own, which are killed soon after a limit."""
    monkeypatch.setattr(_pool, "GRACE", 0.3)


@pytest.fixture
def own_process(monkeypatch):
    """Run solvers in processes of their own, which end with the test."""
    monkeypatch.setattr(inside, "is_worker", False)
    monkeypatch.setattr(guardian._state, "wanted", True)
    yield
    _pool.stop_all_workers()
    guardian.stop()


@pytest.fixture(scope="session")
def forked():
    """Run code in a process of its own that has imported the package already."""
    with forks() as run:
        yield run


class TickingClock:
    """A clock that moves when it is read, and when a test lets it."""

    def __init__(self, tick: float) -> None:
        self.at, self.tick = 0.0, tick

    def perf_counter(self) -> float:
        self.at += self.tick
        return self.at

    def sleep(self, seconds: float) -> None:
        self.at += seconds


@pytest.fixture
def ticking(monkeypatch):
    """Replace the clock of the package, so that time limits ask no machine."""
    clock = TickingClock(1e-3)
    monkeypatch.setattr("aggopt.core.deadline.time", clock)
    return clock


STATES: dict[tuple[str, str], dict[str, object]] = {}


@pytest.fixture(autouse=True)
def generators_as_imported(request):
    """Restart the random generators of a module: no test depends on those before it."""
    for name, value in vars(getattr(request, "module", request)).items():
        if isinstance(value, np.random.Generator):
            first = STATES.setdefault(
                (request.module.__name__, name), value.bit_generator.state
            )
            value.bit_generator.state = first


@pytest.fixture(autouse=True)
def handlers_of_signals():
    """Give back what the command, run within a test, made of signals."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    yield before
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def aggopt(handlers_of_signals, monkeypatch, capsys):
    """Run the command; return exit code, standard output and standard error.

    It does not announce that loops are compiled: which test compiles them depends on
    the order of the tests.
    """
    monkeypatch.setattr(console, "_announced", {console.COMPILING})

    def run(*words):
        for number, handler in handlers_of_signals.items():
            signal.signal(number, handler)
        monkeypatch.setattr(sys, "argv", ["aggopt", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            start.main()
        out, err = capsys.readouterr()
        return ended.value.code or 0, out, err

    return run


@pytest.fixture
def no_work(monkeypatch):
    """Fail as soon as a partition is made."""

    def work(*_, **__):
        raise AssertionError("work was begun")

    monkeypatch.setattr(
        "aggopt.pipeline.partition.partition_table.partition_blocks", work
    )


gc.disable()  # until all is imported, which is no garbage


def pytest_collection_finish():
    """Look less often for garbage, and not among what was imported, which stays."""
    gc.enable()
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


@pytest.hookimpl(wrapper=True)
def pytest_collect_file():
    """Look for no examples in the docstrings of tests, which have none."""
    return [each for each in (yield) if not isinstance(each, DoctestModule)]


def require_solver(name: str) -> None:
    """Skip without the solver; where IPOPT is promised, fail instead."""
    if SOLVERS[name].installed:
        return
    reason = f"{name} is not installed; to enable: {SOLVERS[name].install}"
    if os.environ.get("AGGOPT_REQUIRE_IPOPT") and name in ("ipopt", "cvxpy:ipopt"):
        pytest.fail(reason)
    pytest.skip(reason)
