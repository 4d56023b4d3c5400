"""The package's own method for the loss of true values: prices against boxes."""

from aggopt.solvers.solver import LOCAL_OPTIMUM, Solver

SOLVER = Solver(
    name="boxes",
    when="a bound on the loss of true values, for a million boxes; the default",
    rank=45,
    language=None,
    native="boxes",
    takes=frozenset({"generalised_loss"}),
    finds=LOCAL_OPTIMUM,
    install="pip install numba",
    needs=("numba",),
    time_limit="time_limit",
)
