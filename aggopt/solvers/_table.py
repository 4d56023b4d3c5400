"""The table of solvers, as data.  To add one, add one entry to `SOLVERS`.

A name is `language:solver`; a solver that takes one model's data as it is, because it
uses the model's structure, has no language.  A bare word that is no name means the
first entry that ends so.  Among the entries that take a problem, the first that is
installed is the default.
"""

import shutil
from collections.abc import Mapping
from ctypes.util import find_library
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

from aggopt.errors import JobError, SolverError, UnknownNameError


@dataclass(frozen=True)
class Solver:
    """One solver: what it can take, where it comes from, how it is called."""

    name: str
    language: str | None  # None: takes a model's data, without a declaration
    native: str  # what the language calls it; without one, its module here
    takes: frozenset[str]  # classes LP, MILP, NLP, MINLP, or names of models
    finds: str  # what its answer is worth
    install: str  # what to tell a user who lacks it
    needs: tuple[str, ...] = ()  # Python packages
    program: str | None = None  # a program on the PATH
    library: str | None = None  # a shared library
    time_limit: str = "time_limit"  # its own name for a limit in seconds
    fixed: Mapping[str, Any] = field(default_factory=dict)
    plain: bool = False  # takes no options and no time limit
    aborts: bool = False  # can end the whole process: give it one of its own

    @property
    def lacks(self) -> str | None:
        """What is missing to run it, None if nothing.  Looks, without importing."""
        for package in self.needs:
            if find_spec(package) is None:
                return f"no package {package}"
        if self.program and not shutil.which(self.program):
            return f"no program {self.program} on the PATH"
        if self.library and not find_library(self.library):
            return f"no library {self.library}"
        return None

    @property
    def installed(self) -> bool:
        """Whether all it needs is there."""
        return self.lacks is None

    @property
    def is_global(self) -> bool:
        """Whether it proves its answer best, or that there is none."""
        return self.finds == OPTIMUM

    def fits(self, *problems: str) -> bool:
        """Whether it takes any of these classes or models."""
        return not self.takes.isdisjoint(problems)


OPTIMUM, LOCAL_OPTIMUM = "the optimum", "a local optimum"
_LIBRARIES = (
    "apt-get install coinor-libipopt-dev liblapack-dev libblas-dev "
    "libmumps-seq-dev gfortran pkg-config"
)
_CYIPOPT = f"{_LIBRARIES} && pip install 'aggopt[ipopt]'"
_NLP = frozenset({"NLP"})
_QUIET_IPOPT = {"print_level": 0, "sb": "yes", "tol": 1e-9}

_ENTRIES = (
    Solver(
        name="dual",
        language=None,
        native="_dual",
        takes=frozenset({"p3m", "p3m_onesided", "satisfaction"}),
        finds=OPTIMUM,
        install="pip install numba",
        needs=("numba",),
    ),
    Solver(
        name="dynamic",
        language=None,
        native="_dynamic",
        takes=frozenset({"univariate"}),
        finds=OPTIMUM,
        install="pip install numba",
        needs=("numba",),
        plain=True,
    ),
    Solver(
        name="path",
        language=None,
        native="_path",
        takes=frozenset({"univariate"}),
        finds=OPTIMUM,
        install="pip install scipy",
        needs=("scipy",),
        plain=True,
    ),
    Solver(
        name="ipopt",
        language=None,
        native="_reduced",
        takes=frozenset({"p3m"}),
        finds=LOCAL_OPTIMUM,
        install=_CYIPOPT,
        needs=("cyipopt",),
        time_limit="max_cpu_time",
        fixed=_QUIET_IPOPT,
    ),
    Solver(
        name="pounce",
        language=None,
        native="_reduced",
        takes=frozenset({"p3m"}),
        finds=LOCAL_OPTIMUM,
        install="pip install 'aggopt[pounce]'",
        needs=("pounce",),
        time_limit="max_cpu_time",
        fixed=_QUIET_IPOPT,
    ),
    Solver(
        name="cvxpy:ipopt",
        language="cvxpy",
        native="IPOPT",
        takes=_NLP,
        finds=LOCAL_OPTIMUM,
        install=_CYIPOPT,
        needs=("cyipopt",),
        time_limit="max_cpu_time",
        fixed=_QUIET_IPOPT,
    ),
    Solver(
        name="cvxpy:uno",
        language="cvxpy",
        native="UNO",
        takes=_NLP,
        finds=LOCAL_OPTIMUM,
        install="pip install unopy",
        needs=("unopy",),
        # its other preset, filtersqp, took 80 times as long on 4092 records
        fixed={"preset": "ipopt", "logger": "SILENT"},
    ),
    Solver(
        name="cvxpy:knitro",
        language="cvxpy",
        native="KNITRO",
        takes=_NLP,
        finds=LOCAL_OPTIMUM,
        install="pip install knitro (and a licence)",
        needs=("knitro",),
        time_limit="maxtime_real",
    ),
    Solver(
        name="cvxpy:highs",
        language="cvxpy",
        native="HIGHS",
        takes=frozenset({"LP", "MILP"}),
        finds=OPTIMUM,
        install="pip install highspy",
        needs=("highspy",),
    ),
    Solver(
        name="cvxpy:clarabel",
        language="cvxpy",
        native="CLARABEL",
        takes=frozenset({"LP", "closeness_bound"}),
        finds=OPTIMUM,
        install="pip install clarabel",
        needs=("clarabel",),
    ),
    Solver(
        name="pyomo:highs",
        language="pyomo",
        native="highs",
        takes=frozenset({"LP", "MILP"}),
        finds=OPTIMUM,
        install="pip install highspy",
        needs=("highspy",),
    ),
    Solver(
        name="pyomo:ripopt",
        language="pyomo",
        native="ripopt",
        takes=_NLP,
        finds=LOCAL_OPTIMUM,
        install="pip install 'aggopt[ripopt]'",
        needs=("pyomo_ripopt",),
        time_limit="max_wall_time",
        fixed={"tol": 1e-9},
    ),
    Solver(
        name="pyomo:ipopt",
        language="pyomo",
        native="ipopt",
        takes=_NLP,
        finds=LOCAL_OPTIMUM,
        install="conda install -c conda-forge ipopt, or put a program ipopt on the "
        "PATH in another way",
        program="ipopt",
        time_limit="max_cpu_time",
        fixed={"tol": 1e-9},
    ),
    Solver(
        name="pyomo:cyipopt",
        language="pyomo",
        native="cyipopt",
        takes=_NLP,
        finds=LOCAL_OPTIMUM,
        install=f"{_CYIPOPT} && pyomo build-extensions",
        needs=("cyipopt",),
        library="pynumero_ASL",
        time_limit="max_cpu_time",
        fixed={"tol": 1e-9},
    ),
    Solver(
        name="pyomo:gams",
        language="pyomo",
        native="gams",
        takes=_NLP,
        finds=LOCAL_OPTIMUM,
        install="install GAMS (it brings CONOPT) and put gams on the PATH",
        program="gams",
        time_limit="reslim",
        fixed={"nlp": "conopt"},
    ),
    Solver(
        name="pyomo:scip",
        language="pyomo",
        native="scip_direct",
        takes=frozenset({"LP", "MILP", "NLP", "MINLP"}),
        finds=OPTIMUM,
        install="pip install 'aggopt[scip]'",
        needs=("pyscipopt",),
        time_limit="limits/time",
        aborts=True,  # SCIP 10 did, on the attribute sex of the demo's patients
    ),
)
SOLVERS: Mapping[str, Solver] = {solver.name: solver for solver in _ENTRIES}


def choose(name: str | None, *problems: str) -> Solver:
    """Return the solver called `name`, ready for a problem of one of these kinds.

    A kind is a class (LP, MILP, NLP, MINLP) or the name of a model.  Without a name:
    the first installed solver that takes one of them.

    Raises
    ------
    UnknownNameError
        No solver has that name.
    JobError
        It takes none of them.
    SolverError
        It is not installed; nothing takes its place unasked.
    """
    able = [s for s in SOLVERS.values() if s.fits(*problems)]
    if name is not None and not isinstance(name, str):
        raise UnknownNameError("solver", str(name), SOLVERS)
    if name is None:
        return _first_installed(able, problems)
    solver = _named(name, able)
    if solver not in able:
        raise JobError(
            f"{solver.name} does not take problems of class {problems[-1]}.",
            fix=f"choose one of {', '.join(s.name for s in able)}.",
        )
    if solver.lacks:
        raise SolverError(
            f"{solver.name} is not installed: {solver.lacks}.",
            fix=f"run {solver.install}.",
        )
    return solver


def _named(name: str, able: list[Solver]) -> Solver:
    if name in SOLVERS:
        return SOLVERS[name]
    for solver in (*able, *SOLVERS.values()):
        if name == _bare(solver):
            return solver
    known = {*SOLVERS, *map(_bare, SOLVERS.values())}
    raise UnknownNameError("solver", name, known)


def _bare(solver: Solver) -> str:
    return solver.name.partition(":")[2] or solver.name


def _first_installed(able: list[Solver], problems: tuple[str, ...]) -> Solver:
    for solver in able:
        if solver.installed:
            return solver
    raise SolverError(
        f"No solver for problems of class {problems[-1]} is installed.",
        fix=" or ".join(f"run {s.install}" for s in able) + ".",
    )
