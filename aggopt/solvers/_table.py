"""The table of solvers, as data.  To add one, add one entry to `SOLVERS`.

A name is `language:solver`; a solver that takes one model's data as it is, because it
uses the model's structure, has no language.  A bare word that is no name means the
first entry that ends so.  Among the entries that take a problem, the first that is
installed is the default.
"""

from collections.abc import Mapping

from aggopt.solvers._solver import LOCAL_OPTIMUM, OPTIMUM, Solver

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
