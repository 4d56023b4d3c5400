"""The package's own dynamic programme for one attribute."""

from aggopt.solvers.solver import OPTIMUM, Solver

SOLVER = Solver(
    name="dynamic",
    when="one attribute, millions of values; the default",
    rank=20,
    language=None,
    native="dynamic",
    takes=frozenset({"univariate"}),
    finds=OPTIMUM,
    install="pip install numba",
    needs=("numba",),
    time_limit=None,
)
