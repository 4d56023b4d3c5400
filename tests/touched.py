"""A check, as a plugin, that tests marked smoke import every declared dependency.

These tests decide whether versions fit together.  A dependency that no test imports
would always fit.  `python -m pytest -m smoke -p touched` loads this plugin.
"""

import re
import sys
from importlib import metadata

import pytest

ABSENT = {"cyipopt"}  # it has no wheel, so these environments lack it

imported: set[str] = set()  # modules of this process and of the solvers' processes


def imported_modules() -> list[str]:
    """Return the modules that this process has imported."""
    return [*sys.modules]


def plain_name(name: str) -> str:
    """Return a package's name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def untouched_packages(modules: set[str]) -> list[str]:
    """Return the dependencies, of each extra, that none of the modules belongs to."""
    touched = {
        plain_name(package)
        for module, packages in metadata.packages_distributions().items()
        if module in modules
        for package in packages
    }
    declared = {
        plain_name(re.match(r"[\w.-]+", each)[0])
        for each in metadata.requires("aggopt") or ()
    }
    return sorted(declared - touched - ABSENT)


def pytest_runtest_teardown() -> None:
    """Add what the process of the last solver has imported."""
    pool = sys.modules.get("aggopt.solvers.process_pool")
    if pool and pool._pool.idle and pool._pool.idle[-1].is_fit:
        modules = pool.call(imported_modules, solver="none", limit=None)
        imported.update(modules)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Fail, and name the dependencies that no test has imported, if there are any."""
    if exitstatus == 0 and (names := untouched_packages({*sys.modules, *imported})):
        print("\nNo test marked smoke imports:", *names)
        session.exitstatus = 1
