"""SCIP: every class but semidefinite, by branch and bound."""

from aggopt.solvers.solver import OPTIMUM, Solver

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

SOLVER = Solver(
    name="pyomo:scip",
    when="every class of small programs in Pyomo, to a proven optimum",
    rank=160,
    language="pyomo",
    native="scip_direct",
    takes=frozenset({"LP", "QP", "SOCP", "MILP", "MIQP", "NLP", "MINLP"}),
    finds=OPTIMUM,
    install="pip install 'aggopt[scip]'",
    needs=("pyscipopt",),
    time_limit="limits/time",
    harmless=_OF_SCIP,
    tolerances={"numerics/feastol": 1e-6, "numerics/dualfeastol": 1e-7},
)
