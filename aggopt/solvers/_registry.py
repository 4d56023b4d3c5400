"""The solvers by name: those of a package are declared in its file in `packages`.

A name is `language:solver`; a solver that takes one model's data as it is, because it
uses the model's structure, has no language.  A bare word that is no name means the
first solver that ends so.  Among those that take a problem, the first that is
installed is the default: a lower rank comes first, and a rank of a class stands before
that of the solver.
"""

from aggopt.core.registry import Registry
from aggopt.solvers._own import adopted
from aggopt.solvers._solver import Solver

SOLVERS = Registry(
    "aggopt.solvers.packages", Solver, "solver", own="solvers", adopt=adopted
)
RENAMED = {"dual": "lagrangian", "path": "shortest_path"}
