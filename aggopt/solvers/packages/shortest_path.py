"""SciPy's shortest path, for one attribute."""

from aggopt.solvers.solver import OPTIMUM, Solver

SOLVER = Solver(
    name="shortest_path",
    when="one attribute, to check the default on its whole graph",
    rank=30,
    language=None,
    native="shortest_path",
    takes=frozenset({"univariate"}),
    finds=OPTIMUM,
    install="pip install scipy",
    needs=("scipy",),
    time_limit=None,
)
