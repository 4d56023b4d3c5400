"""Solvers, named in the configuration and swapped without touching a model."""

from aggopt.solvers._certificate import Certificate as Certificate
from aggopt.solvers._certificate import Claim as Claim
from aggopt.solvers._certificate import Status as Status
from aggopt.solvers._choose import choose as choose
from aggopt.solvers._log import logged as logged
from aggopt.solvers._registry import SOLVERS as SOLVERS
from aggopt.solvers._solve import Outcome as Outcome
from aggopt.solvers._solve import solve as solve
from aggopt.solvers._solver import Solver as Solver
