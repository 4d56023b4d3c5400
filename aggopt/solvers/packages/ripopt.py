"""ripopt: an interior-point method in Rust, a local optimum."""

from aggopt.solvers.packages._smooth import SMOOTH
from aggopt.solvers.solver import LOCAL_OPTIMUM, Solver

SOLVER = Solver(
    name="pyomo:ripopt",
    when="smooth programs in Pyomo, from a wheel",
    rank=120,
    language="pyomo",
    native="ripopt",
    takes=SMOOTH,
    finds=LOCAL_OPTIMUM,
    install="pip install 'aggopt[ripopt]'",
    needs=("pyomo_ripopt",),
    time_limit="max_wall_time",
    fixed={"tol": 1e-9},
)
