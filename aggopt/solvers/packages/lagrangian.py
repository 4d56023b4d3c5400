"""The package's own Lagrangian method for models that shift centroids."""

from aggopt.solvers.solver import OPTIMUM, Solver

SOLVER = Solver(
    name="lagrangian",
    when="P3M and its kin, to a proven optimum; the default",
    rank=10,
    language=None,
    native="lagrangian",
    takes=frozenset({"p3m", "p3m_onesided", "satisfaction"}),
    finds=OPTIMUM,
    install="pip install numba",
    needs=("numba",),
    time_limit="time_limit",
)
