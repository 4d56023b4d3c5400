"""The package's own closed form for means that keep the covariance."""

from aggopt.solvers.solver import OPTIMUM, Solver

SOLVER = Solver(
    name="procrustes",
    when="means that keep the covariance, millions of records; the default",
    rank=17,
    language=None,
    native="procrustes",
    takes=frozenset({"covariance_mean"}),
    finds=OPTIMUM,
    install="pip install numpy",
    time_limit=None,
)
