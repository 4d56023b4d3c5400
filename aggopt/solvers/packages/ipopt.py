"""IPOPT: an interior-point method for smooth programs, a local optimum."""

from aggopt.solvers.packages._smooth import LOUD_IPOPT, NLP, QUIET_IPOPT, SMOOTH
from aggopt.solvers.solver import LOCAL_OPTIMUM, Solver

_LIBRARIES = (
    "apt-get install coinor-libipopt-dev liblapack-dev libblas-dev "
    "libmumps-seq-dev gfortran pkg-config"
)
_CYIPOPT = f"{_LIBRARIES} && pip install 'aggopt[ipopt]'"

SOLVERS = (
    Solver(
        name="ipopt",
        when="P3M by IPOPT, reduced to its centroids; to compare",
        rank=40,
        language=None,
        native="reduced",
        takes=frozenset({"p3m", "p3m_joint"}),
        finds=LOCAL_OPTIMUM,
        install=_CYIPOPT,
        needs=("cyipopt",),
        time_limit="max_cpu_time",
        fixed=QUIET_IPOPT,
        loud=LOUD_IPOPT,
    ),
    Solver(
        name="cvxpy:ipopt",
        when="smooth programs in cvxpy; a local optimum",
        rank=60,
        language="cvxpy",
        native="IPOPT",
        takes=NLP,
        finds=LOCAL_OPTIMUM,
        install=_CYIPOPT,
        needs=("cyipopt",),
        time_limit="max_cpu_time",
        fixed=QUIET_IPOPT,
        loud=LOUD_IPOPT,
    ),
    Solver(
        name="pyomo:ipopt",
        when="smooth programs in Pyomo, with a program ipopt",
        rank=130,
        language="pyomo",
        native="ipopt",
        takes=SMOOTH,
        finds=LOCAL_OPTIMUM,
        install="conda install -c conda-forge ipopt, or put a program ipopt on the "
        "PATH in another way",
        program="ipopt",
        time_limit="max_cpu_time",
        fixed={"tol": 1e-9},
    ),
    Solver(
        name="pyomo:cyipopt",
        when="smooth programs in Pyomo, with ASL",
        rank=140,
        language="pyomo",
        native="cyipopt",
        takes=SMOOTH,
        finds=LOCAL_OPTIMUM,
        install=f"{_CYIPOPT} && pyomo build-extensions",
        needs=("cyipopt",),
        library="pynumero_ASL",
        time_limit="max_cpu_time",
        fixed={"tol": 1e-9},
    ),
)
