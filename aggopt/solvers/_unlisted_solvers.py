"""Solvers of cvxpy or Pyomo that this package does not list, such as "cvxpy:OSQP".

None of their results counts as a proof.  Bounds are recomputed here from multipliers.
"""

from importlib import import_module

from aggopt.errors import SolverError, UnknownNameError
from aggopt.solvers._registry import SOLVERS
from aggopt.solvers.solver import LOCAL_OPTIMUM, Solver

LANGUAGES = ("cvxpy", "pyomo")


def of_language(name: str) -> Solver | None:
    """Return the solver that a name such as "cvxpy:OSQP" means, or None.

    Raises
    ------
    UnknownNameError
        The language has no such solver.
    SolverError
        The language has the solver, but a package that it needs is not installed.
    """
    language, _, native = name.partition(":")
    if language not in LANGUAGES or not native:
        return None
    if name.lower() in SOLVERS:  # known here, and for more
        return SOLVERS[name.lower()]
    spoken = import_module(f"aggopt.solvers._{language}")
    known = {each.lower(): each for each in spoken.known_solvers()}
    if native.lower() not in known:
        listed = (f"{language}:{each}" for each in known.values())
        raise UnknownNameError("solver", name, {*listed, *SOLVERS})
    called = known[native.lower()]
    if not spoken.is_installed(called):
        raise SolverError(
            f"{language} knows {called}, and does not find it here.",
            fix=f"install it as the pages of {language} on its solvers say.",
        )
    return Solver(
        name=f"{language}:{called}",
        when=f"as {language} has it",
        language=language,
        native=called,
        takes=spoken.classes_of(called),
        finds=LOCAL_OPTIMUM,
        install=f"see the pages of {language} on its solvers",
        time_limit=None,
    )
