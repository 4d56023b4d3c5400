"""The package's own search for P3M of all attributes at once."""

from aggopt.solvers._solver import LOCAL_OPTIMUM, Solver

SOLVER = Solver(
    name="stiefel",
    when="P3M that keeps the covariance, with a bound; the default",
    rank=15,
    language=None,
    native="_stiefel",
    takes=frozenset({"p3m_joint"}),
    finds=LOCAL_OPTIMUM,
    install="pip install numba",
    needs=("numba",),
    time_limit="time_limit",
)
