"""GAMS: commercial, with CONOPT for smooth programs, a local optimum."""

from aggopt.solvers.packages._smooth import SMOOTH
from aggopt.solvers.solver import LOCAL_OPTIMUM, Solver

SOLVER = Solver(
    name="pyomo:gams",
    when="smooth programs in Pyomo, with GAMS",
    rank=150,
    language="pyomo",
    native="gams",
    takes=SMOOTH,
    finds=LOCAL_OPTIMUM,
    install="install GAMS (it brings CONOPT) and put gams on the PATH",
    program="gams",
    time_limit="reslim",
    fixed={"nlp": "conopt"},
)
