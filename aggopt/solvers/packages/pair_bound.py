"""The package's own method for the bound by pairs."""

from aggopt.solvers.solver import OPTIMUM, Solver

SOLVER = Solver(
    name="pair_bound",
    when="the bound by pairs of records, from tens to a million; the default",
    rank=38,
    language=None,
    native="pair_bound",
    takes=frozenset({"pair_bound"}),
    finds=OPTIMUM,
    install="pip install numba",
    needs=("numba",),
    time_limit="time_limit",
)
