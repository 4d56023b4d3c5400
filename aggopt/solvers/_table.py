"""The table of solvers, as data.  To add one, add one entry to `SOLVERS`.

A name is `language:solver`.  The bare word `ipopt` means the first entry that ends
so.  Among the entries that take a class, the first that is installed is the default.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

from aggopt.errors import JobError, SolverError, UnknownNameError


@dataclass(frozen=True)
class Solver:
    """One solver: what it can take, where it comes from, how it is called."""

    name: str
    language: str
    native: str  # what the modelling language calls it
    solves: frozenset[str]  # of "LP", "MILP", "NLP"
    needs: str  # the Python package to look for
    install: str  # what to tell a user who lacks it
    proves: str  # what its answer is worth
    time_limit: str  # its own name for a limit in seconds
    fixed: Mapping[str, Any] = field(default_factory=dict)

    @property
    def installed(self) -> bool:
        """Whether its package is there.  Looks, without importing it."""
        return find_spec(self.needs) is not None


_IPOPT_NEEDS = (
    "apt-get install coinor-libipopt-dev liblapack-dev libblas-dev "
    "libmumps-seq-dev gfortran pkg-config && pip install 'aggopt[ipopt]'"
)

SOLVERS: Mapping[str, Solver] = {
    solver.name: solver
    for solver in (
        Solver(
            name="cvxpy:ipopt",
            language="cvxpy",
            native="IPOPT",
            solves=frozenset({"NLP"}),
            needs="cyipopt",
            install=_IPOPT_NEEDS,
            proves="a local optimum",
            time_limit="max_cpu_time",
            fixed={"print_level": 0, "sb": "yes", "tol": 1e-9},
        ),
        Solver(
            name="cvxpy:uno",
            language="cvxpy",
            native="UNO",
            solves=frozenset({"NLP"}),
            needs="unopy",
            install="pip install unopy",
            proves="a local optimum",
            time_limit="time_limit",
            # its other preset, filtersqp, took 80 times as long on 4092 records
            fixed={"preset": "ipopt", "logger": "SILENT"},
        ),
        Solver(
            name="cvxpy:highs",
            language="cvxpy",
            native="HIGHS",
            solves=frozenset({"LP", "MILP"}),
            needs="highspy",
            install="pip install highspy",
            proves="the optimum",
            time_limit="time_limit",
        ),
        Solver(
            name="cvxpy:clarabel",
            language="cvxpy",
            native="CLARABEL",
            solves=frozenset({"LP"}),
            needs="clarabel",
            install="pip install clarabel",
            proves="the optimum",
            time_limit="time_limit",
        ),
    )
}


def choose(name: str | None, kind: str) -> Solver:
    """Return the solver called `name`, ready for problems of class `kind`.

    Without a name: the first installed one that takes the class.

    Raises
    ------
    UnknownNameError
        No solver has that name.
    JobError
        It does not take that class.
    SolverError
        It is not installed; nothing takes its place unasked.
    """
    if name is None:
        return _first_installed(kind)
    solver = _named(name)
    if kind not in solver.solves:
        able = ", ".join(s.name for s in SOLVERS.values() if kind in s.solves)
        raise JobError(
            f"{solver.name} does not solve problems of class {kind}.",
            fix=f"choose one of {able}.",
        )
    if not solver.installed:
        raise SolverError(
            f"{solver.name} is not installed.", fix=f"run {solver.install}."
        )
    return solver


def _named(name: str) -> Solver:
    for full, solver in SOLVERS.items():
        if name in (full, full.partition(":")[2]):
            return solver
    bare = [full.partition(":")[2] for full in SOLVERS]
    raise UnknownNameError("solver", name, [*SOLVERS, *bare])


def _first_installed(kind: str) -> Solver:
    able = [s for s in SOLVERS.values() if kind in s.solves]
    for solver in able:
        if solver.installed:
            return solver
    raise SolverError(
        f"No solver for problems of class {kind} is installed.",
        fix=" or ".join(f"run {s.install}" for s in able) + ".",
    )
