"""The package's own search that satisfies wishes of all attributes at once."""

from aggopt.solvers.solver import LOCAL_OPTIMUM, Solver

SOLVER = Solver(
    name="stiefel",
    when="P3M and its kin that keep the covariance, with a bound; the default",
    rank=15,
    language=None,
    native="stiefel",
    takes=frozenset({"p3m_joint", "p3m_onesided_joint", "satisfaction_joint"}),
    finds=LOCAL_OPTIMUM,
    install="pip install numba",
    needs=("numba",),
    time_limit="time_limit",
    boxes=False,  # it moves on all matrices that keep the covariance
)
