"""Limits of tests, as a plugin: `pyproject.toml` loads it and names the seconds.

pytest-timeout ends a test at its limit, in the thread of the test, and the run goes on.
Compiled code that does not return to Python, and code that catches everything, outlive
that.  The watchdog of faulthandler, a thread of C that needs no lock of Python, then
prints the stacks and ends the process.  pytest-xdist reports the test as failed and
starts another process; a run without it ends.

Linear algebra has one thread: pytest-xdist uses all cores, and threads that wait for
each other keep one busy.  On a loaded machine that took four times the processor time.
"""

import faulthandler
import os

import pytest
from _pytest.faulthandler import fault_handler_stderr_fd_key

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # read when NumPy is imported

SLOW_FACTOR = 3  # a slow test may take this many times the limit of others


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give the tests marked slow a longer limit, unless they name one."""
    for item in items:
        if item.get_closest_marker("slow"):
            limit = float(item.config.getini("timeout"))
            item.add_marker(pytest.mark.timeout(SLOW_FACTOR * limit))


def start_watchdog(item: pytest.Item) -> None:
    """End the process unless pytest, which stops the watchdog, finishes the item."""
    limit = float(item.config.getini("faulthandler_timeout"))
    factor = SLOW_FACTOR if item.get_closest_marker("slow") else 1
    faulthandler.dump_traceback_later(
        factor * limit, file=item.config.stash[fault_handler_stderr_fd_key], exit=True
    )


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Replace the watchdog of pytest, which knows one limit for all tests."""
    start_watchdog(item)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Start the watchdog again: pytest stops it when a test fails."""
    start_watchdog(item)
