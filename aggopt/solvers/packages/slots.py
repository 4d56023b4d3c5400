"""The package's own method for frequencies of categories."""

from aggopt.solvers.solver import OPTIMUM, Solver

SOLVER = Solver(
    name="slots",
    when="frequencies of categories, thousands of groups; the default",
    rank=35,
    language=None,
    native="slots",
    takes=frozenset({"frequencies"}),
    finds=OPTIMUM,
    install="pip install cvxpy highspy",
    needs=("cvxpy", "highspy", "scipy"),
    time_limit="time_limit",
)
