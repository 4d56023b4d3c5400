"""Registry of the solvers by name; each package declares its own in `packages`.

A name is `language:solver`.  A solver that uses the structure of one model takes the
model's data directly and has no language.  A bare word that is not a name means the
first solver whose name ends in it.  The default is the first installed solver that
takes a problem.  Lower ranks are preferred; a rank of a class overrides that of the
solver.
"""

from typing import Any

from aggopt.core.plugins.loading import Origin
from aggopt.core.registry import Registry
from aggopt.errors import JobError
from aggopt.solvers.solver import Solver
from aggopt.solvers.user_solver import adopted

_LANGUAGES = ("cvxpy:", "pyomo:")  # prefixes of the names of their solvers
NO_SOLVER = frozenset({"adopted", "file"})  # sources of points without a solve


def _of_users(thing: Any, origin: Origin) -> Solver:
    """Return code of the user's as a solver.

    Raises
    ------
    JobError
        As `adopted`; or an object of Python's would look like another on a certificate.
    """
    named = {name.partition(":")[2] for name in SOLVERS} | NO_SOLVER
    if origin.where == "object" and (origin.name in named or {*": "} & {*origin.name}):
        raise JobError(
            f"A solver of yours is called {origin.name!r}, as other solvers are, or "
            "with a colon or a space.",
            fix="give it another name.",
        )
    return adopted(thing, origin)


class _Solvers(Registry[Solver]):
    """Solvers; a name may be the bare word, or that of any solver of a language."""

    def reserves(self, name: str) -> bool:
        """Whether a name means a solver of this package, or of a language."""
        bare = {each.partition(":")[2] for each in self}
        known = name in bare | NO_SOLVER
        return known or name.startswith(_LANGUAGES) or super().reserves(name)


SOLVERS = _Solvers(
    "aggopt.solvers.packages", Solver, "solver", own="solvers", adopt=_of_users
)
