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
# smooth convex programs are nothing else to them; Pyomo has no other quadratic ones
_SMOOTH = frozenset({"QP", "SOCP", "NLP"})
_QUIET_IPOPT = {"print_level": 0, "sb": "yes", "tol": 1e-9}
# gaps less than an optimum is shown by; reduced costs that hardly move a bound
_EXACT = {
    "mip_rel_gap": 1e-7,
    "mip_abs_gap": 1e-7,
    "dual_feasibility_tolerance": 1e-9,
}
# They say when to stop, how many at once and in which order; tolerances are not among
# them: a larger one makes a bound false.
_OF_HIGHS = frozenset(
    {
        "time_limit",
        "mip_rel_gap",
        "mip_abs_gap",
        "mip_max_nodes",
        "mip_max_leaves",
        "mip_max_stall_nodes",
        "mip_max_improving_sols",
        "mip_heuristic_effort",
        "mip_detect_symmetry",
        "threads",
        "parallel",
        "random_seed",
        "presolve",
    }
)
_TOLERANCES_OF_HIGHS = {
    "primal_feasibility_tolerance": 1e-7,
    "dual_feasibility_tolerance": 1e-7,
    "mip_feasibility_tolerance": 1e-6,
}
_OF_SCIP = frozenset(
    {
        "limits/time",
        "limits/gap",
        "limits/absgap",
        "limits/nodes",
        "limits/totalnodes",
        "limits/stallnodes",
        "limits/solutions",
        "limits/bestsol",
        "limits/memory",
        "randomization/randomseedshift",
        "randomization/permutationseed",
        "randomization/lpseed",
        "lp/threads",
        "parallel/maxnthreads",
    }
)
_OF_CLARABEL = frozenset({"time_limit", "max_iter", "max_threads"})

_ENTRIES = (
    Solver(
        name="dual",
        language=None,
        native="_lagrangian",
        takes=frozenset({"p3m", "p3m_onesided", "satisfaction"}),
        finds=OPTIMUM,
        install="pip install numba",
        needs=("numba",),
        time_limit="time_limit",
    ),
    Solver(
        name="dynamic",
        language=None,
        native="_dynamic",
        takes=frozenset({"univariate"}),
        finds=OPTIMUM,
        install="pip install numba",
        needs=("numba",),
        time_limit=None,
    ),
    Solver(
        name="path",
        language=None,
        native="_shortest_path",
        takes=frozenset({"univariate"}),
        finds=OPTIMUM,
        install="pip install scipy",
        needs=("scipy",),
        time_limit=None,
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
        time_limit="time_limit",
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
        takes=frozenset({"LP", "QP", "MILP"}),
        finds=OPTIMUM,
        install="pip install highspy",
        needs=("highspy",),
        time_limit="time_limit",
        fixed=_EXACT,
        duals=True,
        harmless=_OF_HIGHS,
        tolerances=_TOLERANCES_OF_HIGHS,
    ),
    Solver(
        name="cvxpy:clarabel",
        language="cvxpy",
        native="CLARABEL",
        takes=frozenset({"LP", "QP", "SOCP", "SDP"}),
        finds=OPTIMUM,
        install="pip install clarabel",
        needs=("clarabel",),
        time_limit="time_limit",
        duals=True,
        harmless=_OF_CLARABEL,
        tolerances={"tol_gap_abs": 1e-8, "tol_gap_rel": 1e-8, "tol_feas": 1e-8},
    ),
    Solver(
        name="pyomo:highs",
        language="pyomo",
        native="highs",
        takes=frozenset({"LP", "QP", "MILP"}),
        finds=OPTIMUM,
        install="pip install highspy",
        needs=("highspy",),
        time_limit="time_limit",
        fixed=_EXACT,
        duals=True,
        harmless=_OF_HIGHS,
        tolerances=_TOLERANCES_OF_HIGHS,
    ),
    Solver(
        name="pyomo:ripopt",
        language="pyomo",
        native="ripopt",
        takes=_SMOOTH,
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
        takes=_SMOOTH,
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
        takes=_SMOOTH,
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
        takes=_SMOOTH,
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
        takes=frozenset({"LP", "QP", "SOCP", "MILP", "MIQP", "NLP", "MINLP"}),
        finds=OPTIMUM,
        install="pip install 'aggopt[scip]'",
        needs=("pyscipopt",),
        time_limit="limits/time",
        harmless=_OF_SCIP,
        tolerances={"numerics/feastol": 1e-6, "numerics/dualfeastol": 1e-7},
        aborts=True,  # SCIP 10 did, on the attribute sex of the demo's patients
    ),
)
SOLVERS: Mapping[str, Solver] = {solver.name: solver for solver in _ENTRIES}
