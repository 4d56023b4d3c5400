"""POUNCE: IPOPT's method from a wheel, a local optimum."""

from aggopt.solvers.packages._smooth import QUIET_IPOPT
from aggopt.solvers.solver import LOCAL_OPTIMUM, Solver

SOLVER = Solver(
    name="pounce",
    when="P3M by POUNCE, reduced to its centroids; to compare",
    rank=50,
    language=None,
    native="reduced",
    takes=frozenset({"p3m", "p3m_joint"}),
    finds=LOCAL_OPTIMUM,
    install="pip install 'aggopt[pounce]'",
    needs=("pounce",),
    time_limit="max_cpu_time",
    fixed=QUIET_IPOPT,
)
