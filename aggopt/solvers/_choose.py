"""A solver by its name, or the first that is installed."""

from aggopt.errors import JobError, SolverError, UnknownNameError
from aggopt.solvers._registry import RENAMED, SOLVERS
from aggopt.solvers._solver import Solver


def choose(name: str | None, *problems: str, language: str | None = None) -> Solver:
    """Return the solver called `name`, ready for a problem of one of these kinds.

    A kind is a class of `CLASSES` or the name of a model.  Without a name: the first
    installed solver that takes one of them, in this `language` if one is given.

    Raises
    ------
    UnknownNameError
        No solver has that name.
    JobError
        It takes none of them, or reads another language.
    SolverError
        It is not installed; there is no silent fallback.
    """
    able = able_for(*problems, language=language)
    if name is not None and not isinstance(name, str):
        raise UnknownNameError("solver", str(name), SOLVERS)
    if name is None:
        return _first_installed(able, problems, language)
    solver = _named(name, able)
    if solver not in able:
        raise JobError(_unfit(solver, problems, language), fix=_instead(able))
    if solver.lacks:
        raise SolverError(
            f"{solver.name} is not installed: {solver.lacks}.",
            fix=f"run {solver.install}.",
        )
    return solver


def _named(name: str, able: list[Solver]) -> Solver:
    if name in SOLVERS:
        return SOLVERS[name]
    if name in RENAMED:
        now = RENAMED[name]
        raise JobError(
            f"The solver {name!r} is now called {now!r}.", fix=f"name {now!r}."
        )
    for solver in (*able, *SOLVERS.values()):
        if name == _bare(solver):
            return solver
    known = [s.name if ":" in name else _bare(s) for s in able]
    raise UnknownNameError("solver", name, known or SOLVERS)


def _unfit(solver: Solver, problems: tuple[str, ...], language: str | None) -> str:
    if language is not None and solver.language != language and solver.fits(*problems):
        return f"{solver.name} cannot read a problem declared in {language}."
    return f"{solver.name} does not take problems of class {problems[-1]}."


def _instead(able: list[Solver]) -> str:
    if not able:
        return "state it in another way; `aggopt solvers` lists what each one takes."
    return f"choose one of {', '.join(s.name for s in able)}."


def _bare(solver: Solver) -> str:
    return solver.name.partition(":")[2] or solver.name


def able_for(*problems: str, language: str | None = None) -> list[Solver]:
    """Return the solvers that take one of these kinds, those that are missing, too."""
    every = (s for s in SOLVERS.values() if s.fits(*problems))
    return [s for s in every if language in (None, s.language)]


def _first_installed(
    able: list[Solver], problems: tuple[str, ...], language: str | None
) -> Solver:
    for solver in able:
        if solver.installed:
            return solver
    declared = f" declared in {language}" if language else ""
    if not able:
        raise JobError(
            f"No solver takes problems of class {problems[-1]}{declared}.",
            fix=_instead(able),
        )
    raise SolverError(
        f"No solver for problems of class {problems[-1]}{declared} is installed.",
        fix=" or ".join(f"run {s.install}" for s in able) + ".",
    )
