"""UNO: several methods for smooth programs, a local optimum."""

from aggopt.solvers.packages._smooth import NLP
from aggopt.solvers.solver import LOCAL_OPTIMUM, Solver

SOLVER = Solver(
    name="cvxpy:uno",
    when="smooth programs in cvxpy; comes with the package",
    rank=70,
    language="cvxpy",
    native="UNO",
    takes=NLP,
    finds=LOCAL_OPTIMUM,
    install="pip install unopy",
    needs=("unopy",),
    time_limit="time_limit",
    # its other preset, filtersqp, took 80 times as long on 4092 records
    fixed={"preset": "ipopt", "logger": "SILENT"},
    loud={"logger": "INFO"},
)
