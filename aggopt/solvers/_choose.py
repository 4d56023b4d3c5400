"""A solver by its name, or the first that is installed."""

from aggopt.errors import JobError, SolverError, UnknownNameError
from aggopt.solvers._solver import Solver
from aggopt.solvers._table import SOLVERS


def choose(name: str | None, *problems: str) -> Solver:
    """Return the solver called `name`, ready for a problem of one of these kinds.

    A kind is a class (LP, MILP, NLP, MINLP) or the name of a model.  Without a name:
    the first installed solver that takes one of them.

    Raises
    ------
    UnknownNameError
        No solver has that name.
    JobError
        It takes none of them.
    SolverError
        It is not installed; nothing takes its place unasked.
    """
    able = [s for s in SOLVERS.values() if s.fits(*problems)]
    if name is not None and not isinstance(name, str):
        raise UnknownNameError("solver", str(name), SOLVERS)
    if name is None:
        return _first_installed(able, problems)
    solver = _named(name, able)
    if solver not in able:
        raise JobError(
            f"{solver.name} does not take problems of class {problems[-1]}.",
            fix=f"choose one of {', '.join(s.name for s in able)}.",
        )
    if solver.lacks:
        raise SolverError(
            f"{solver.name} is not installed: {solver.lacks}.",
            fix=f"run {solver.install}.",
        )
    return solver


def _named(name: str, able: list[Solver]) -> Solver:
    if name in SOLVERS:
        return SOLVERS[name]
    for solver in (*able, *SOLVERS.values()):
        if name == _bare(solver):
            return solver
    known = {*SOLVERS, *map(_bare, SOLVERS.values())}
    raise UnknownNameError("solver", name, known)


def _bare(solver: Solver) -> str:
    return solver.name.partition(":")[2] or solver.name


def _first_installed(able: list[Solver], problems: tuple[str, ...]) -> Solver:
    for solver in able:
        if solver.installed:
            return solver
    raise SolverError(
        f"No solver for problems of class {problems[-1]} is installed.",
        fix=" or ".join(f"run {s.install}" for s in able) + ".",
    )
