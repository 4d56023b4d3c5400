"""Solvers are found by the files of their packages, in an order that decides."""

import sys
from pathlib import Path

import pytest

from aggopt.models import MODELS
from aggopt.solvers import SOLVERS, packages
from aggopt.solvers.registry import list_able_solvers
from aggopt.solvers.solver import CLASSES

LINEAR = ["cvxpy:highs", "cvxpy:clarabel", "pyomo:highs"]
IN_CVXPY = ["cvxpy:ipopt", "cvxpy:uno", "cvxpy:knitro"]
IN_PYOMO = ["pyomo:ripopt", "pyomo:ipopt", "pyomo:cyipopt", "pyomo:gams"]
ORDER = {  # who takes a class or a model; the first that is installed is the default
    "LP": [*LINEAR, "pyomo:scip"],
    "QP": ["cvxpy:clarabel", "cvxpy:highs", "pyomo:highs", *IN_PYOMO, "pyomo:scip"],
    "SOCP": ["cvxpy:clarabel", *IN_PYOMO, "pyomo:scip"],
    "SDP": ["cvxpy:clarabel"],
    "MILP": ["cvxpy:highs", "pyomo:highs", "pyomo:scip"],
    "MIQP": ["pyomo:scip"],
    "NLP": [*IN_CVXPY, *IN_PYOMO, "pyomo:scip"],
    "MINLP": ["pyomo:scip"],
    "covariance_mean": ["procrustes"],
    "p3m": ["lagrangian", "ipopt", "pounce"],
    "p3m_joint": ["stiefel", "ipopt", "pounce"],
    "p3m_onesided": ["lagrangian"],
    "p3m_onesided_joint": ["stiefel"],
    "satisfaction": ["lagrangian"],
    "satisfaction_joint": ["stiefel"],
    "univariate": ["dynamic", "shortest_path"],
    "frequencies": ["slots"],
    "pair_bound": ["pair_bound"],
    "generalised_loss": ["boxes"],
}


def test_the_order_of_solvers_and_so_every_default_is_as_it_was():
    found = {
        kind: [s.name for s in list_able_solvers(kind)] for kind in (*CLASSES, *MODELS)
    }
    assert {kind: names for kind, names in found.items() if names} == ORDER


def test_solvers_are_those_of_the_files():
    files = {
        path.stem
        for path in Path(next(iter(packages.__path__))).glob("*.py")
        if not path.stem.startswith("_")
    }
    bare = {name.rpartition(":")[2] for name in SOLVERS} - {"cyipopt"}  # of ipopt.py
    assert files == bare
    assert len({solver.rank for solver in SOLVERS.values()}) == len(SOLVERS)


@pytest.mark.parametrize("name", SOLVERS)
def test_each_says_when_to_use_it(name):
    solver = SOLVERS[name]
    assert solver.when
    assert not solver.when.endswith(".")


def test_looking_for_solvers_imports_none():
    code = (
        "import aggopt.solvers, sys; list(aggopt.solvers.SOLVERS); print(*sys.modules)"
    )
    from subprocess import run

    printed = run([sys.executable, "-c", code], check=True, capture_output=True)
    loaded = set(printed.stdout.decode().split())
    assert loaded.isdisjoint({"cvxpy", "pyomo", "highspy", "numba", "scipy", "unopy"})
