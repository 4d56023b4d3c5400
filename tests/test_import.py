"""`import aggopt` is quick: nothing heavy is loaded before it is used."""

import subprocess
import sys
from pathlib import Path

import pytest

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

TIMED = """
from time import perf_counter
start = perf_counter()
import {names}
print(perf_counter() - start)
"""


def run(code: str) -> str:
    """What a fresh interpreter prints."""
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout


LIGHT = ["aggregate", "datasets", "job", "measure", "models", "solvers"]


@pytest.mark.parametrize("module", ["aggopt", *(f"aggopt.{name}" for name in LIGHT)])
def test_nothing_heavy_is_imported(module: str) -> None:
    loaded = set(run(f"import {module}, sys; print(*sys.modules)").split())
    assert module in loaded
    assert loaded.isdisjoint(HEAVY)


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


@pytest.mark.parametrize("module", ["aggopt", "aggopt.datasets"])
def test_import_costs_little_more_than_numpy_and_pandas(module: str) -> None:
    rounds = [(seconds(module), seconds("numpy, pandas")) for _ in range(5)]
    ours, theirs = (min(times) for times in zip(*rounds, strict=True))
    assert ours < 1.3 * theirs


def seconds(names: str) -> float:
    return float(run(TIMED.format(names=names)))
