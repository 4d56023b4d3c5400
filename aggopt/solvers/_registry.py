"""The solvers by name: those of a package are declared in its file in `packages`.

A name is `language:solver`; a solver that takes one model's data as it is, because it
uses the model's structure, has no language.  A bare word that is no name means the
first solver that ends so.  Among those that take a problem, the first that is
installed is the default: a lower rank comes first, and a rank of a class stands before
that of the solver.
"""

from typing import Any

from aggopt.core.plugins.loading import Origin
from aggopt.core.registry import Registry
from aggopt.errors import JobError
from aggopt.solvers._own import adopted
from aggopt.solvers._solver import Solver

RENAMED = {"dual": "lagrangian", "path": "shortest_path"}
_LANGUAGES = ("cvxpy:", "pyomo:")  # what stands before the name of a solver of theirs
NO_SOLVER = frozenset({"adopted", "file"})  # what certificates say of points from them


def _of_users(thing: Any, origin: Origin) -> Solver:
    """Return code of the user's as a solver.

    Raises
    ------
    JobError
        As `adopted`; or an object of Python's would look like another on a certificate.
    """
    named = {name.partition(":")[2] for name in SOLVERS} | RENAMED.keys() | NO_SOLVER
    if origin.where == "object" and (origin.name in named or {*": "} & {*origin.name}):
        raise JobError(
            f"A solver of yours is called {origin.name!r}, as other solvers are, or "
            "with a colon or a space.",
            fix="give it another name.",
        )
    return adopted(thing, origin)


class _Solvers(Registry[Solver]):
    """Solvers, of which a name may be the bare word, or one that a language knows."""

    def reserves(self, name: str) -> bool:
        """Whether a name means a solver of this package, or of a language."""
        bare = {each.partition(":")[2] for each in self}
        known = name in bare | RENAMED.keys() | NO_SOLVER
        return known or name.startswith(_LANGUAGES) or super().reserves(name)


SOLVERS = _Solvers(
    "aggopt.solvers.packages", Solver, "solver", own="solvers", adopt=_of_users
)
