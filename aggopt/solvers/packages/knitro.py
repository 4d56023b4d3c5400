"""KNITRO: commercial, for smooth programs, a local optimum."""

from aggopt.solvers.packages._smooth import NLP
from aggopt.solvers.solver import LOCAL_OPTIMUM, Solver

SOLVER = Solver(
    name="cvxpy:knitro",
    when="smooth programs in cvxpy, with a licence",
    rank=80,
    language="cvxpy",
    native="KNITRO",
    takes=NLP,
    finds=LOCAL_OPTIMUM,
    install="pip install knitro (and a licence)",
    needs=("knitro",),
    time_limit="maxtime_real",
)
