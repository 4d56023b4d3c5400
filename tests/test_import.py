"""`import aggopt` is quick: nothing heavy is loaded before it is used."""

import subprocess
import sys
from pathlib import Path

import aggopt

ROOT = Path(aggopt.__file__).parent.parent

HEAVY = {
    "cvxpy",
    "cyipopt",
    "highspy",
    "matplotlib",
    "numba",
    "polars",
    "pooch",
    "pyomo",
    "rdata",
    "rich",
    "scipy",
    "sklearn",
    "typer",
    "unopy",
}

IMPORTED = """
import sys
from importlib import import_module

for name in sys.argv[1:]:
    import_module(name)
    print(*sys.modules)
"""
COUNTED = """
import sys
import numpy, pandas
before = len(sys.modules)
import aggopt.datasets
print(len(sys.modules) / before)
"""


def run(code: str, *words: str) -> str:
    """What a fresh interpreter prints."""
    return subprocess.run(
        [sys.executable, "-c", code, *words],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout


LIGHT = [
    *("aggregate", "datasets", "job", "measure", "models", "models.univariate"),
    *("partition", "partition._mhm", "solvers"),
]


def test_nothing_heavy_is_imported() -> None:
    modules = ["aggopt", *(f"aggopt.{name}" for name in LIGHT)]
    lines = run(IMPORTED, *modules).splitlines()
    for module, line in zip(modules, lines, strict=True):
        loaded = set(line.split())
        assert module in loaded
        assert loaded.isdisjoint(HEAVY), module


MASKED = """
import sys
import numpy as np
import aggopt

X = np.arange(40.0).reshape(20, 2) % 7
roles = {"quasi-identifier": ["0", "1"]}
aggopt.mask(X, aggopt.Job(roles=roles, privacy={"k": 3}))
print(*sys.modules)
"""
UNUSED = HEAVY - {"numba", "scipy"}  # which search, and find neighbours


def test_mask_by_means_imports_no_solver_and_no_picture() -> None:
    assert set(run(MASKED).split()).isdisjoint(UNUSED)


def test_import_costs_little_more_than_numpy_and_pandas() -> None:
    assert float(run(COUNTED)) < 1.1  # modules
