"""What the tests share: the reference data, and solvers that may be missing."""

import os
import signal
import sys
from pathlib import Path

import pytest
from hypothesis import Phase, settings

from aggopt.command import cli
from aggopt.solvers import SOLVERS

# `make mutants` wants to know whether a test fails, the same each time, not why
settings.register_profile(
    "mutants",
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
)

SHARED = Path(__file__).parents[2] / "shared" / "data"


@pytest.fixture(scope="session", autouse=True)
def reference_data():
    """Let the tests read the field's reference data where they lie."""
    if "AGGOPT_DATA" not in os.environ and SHARED.is_dir():
        os.environ["AGGOPT_DATA"] = str(SHARED)


@pytest.fixture(autouse=True)
def handlers_of_signals():
    """Give back what the command, run within a test, made of signals."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
    before = {number: signal.getsignal(number) for number in numbers}
    yield before
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def aggopt(handlers_of_signals, monkeypatch, capsys):
    """Run the command; return exit code, standard output and standard error."""

    def run(*words):
        for number, handler in handlers_of_signals.items():
            signal.signal(number, handler)
        monkeypatch.setattr(sys, "argv", ["aggopt", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        out, err = capsys.readouterr()
        return ended.value.code or 0, out, err

    return run


def require_solver(name: str) -> None:
    """Skip without the solver; where IPOPT is promised, fail instead."""
    if SOLVERS[name].installed:
        return
    reason = f"{name} is not installed; to enable: {SOLVERS[name].install}"
    if os.environ.get("AGGOPT_REQUIRE_IPOPT") and name in ("ipopt", "cvxpy:ipopt"):
        pytest.fail(reason)
    pytest.skip(reason)
