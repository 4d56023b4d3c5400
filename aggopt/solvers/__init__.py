"""Solvers, named in the configuration and swapped without touching a model."""

from aggopt.solvers.certificate import Certificate as Certificate
from aggopt.solvers.certificate import Claim as Claim
from aggopt.solvers.certificate import Status as Status
from aggopt.solvers.registry import SOLVERS as SOLVERS
from aggopt.solvers.registry import choose_solver as choose_solver
from aggopt.solvers.solve_problem import Outcome as Outcome
from aggopt.solvers.solve_problem import solve as solve
from aggopt.solvers.solver import Solver as Solver
from aggopt.solvers.solver_log import logged as logged
