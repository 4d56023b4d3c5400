"""A solver by its name, a user's included, or the first that is installed."""

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from importlib import import_module
from inspect import Parameter
from typing import Any, ClassVar

import numpy as np

from aggopt.core.deadline import compile_time
from aggopt.core.plugins.function import UserFunction
from aggopt.core.plugins.loading import Origin
from aggopt.core.registry import Registry
from aggopt.errors import JobError, SolverError, UnknownNameError
from aggopt.solvers.certificate import Answer, Claim, Status
from aggopt.solvers.solver import CLASSES, LOCAL_OPTIMUM, Solver

ABOUT = (
    "write a function of (model, data, *, start, time_limit, options) that returns "
    "what model.reader does, such as centroids; or that and a bound; or None."
)


@dataclass(frozen=True)
class OwnSolving(UserFunction):
    """A function (model, data, *, start, time_limit, options) that solves.

    The function receives those of the last three arguments that it takes.  It returns
    the reading of a point, that and a bound, or None if it found no point.  It receives
    copies only, so it can change neither the data nor the model that judges it.
    """

    data: ClassVar[tuple[str, ...]] = ("model", "data")
    offered: ClassVar[tuple[str, ...]] = ("start", "time_limit", "options")

    def __call__(
        self,
        model: Any,
        data: Any,
        start: Any,
        time_limit: float | None,
        options: Mapping[str, Any] | None,
    ) -> Answer:
        """Return the function's answer, which is trusted no more than any other's.

        Raises
        ------
        JobError
            The function fails, or does not take a limit or options that are given.
        """
        offered = {"start": start, "time_limit": time_limit, "options": options or None}
        taken = {name: offered[name] for name in self.offered if self.takes(name)}
        for name in offered.keys() - taken.keys() - {"start"}:
            if offered[name] is not None:
                raise JobError(
                    f"{self.origin.name} takes no {name}.",
                    fix=f"leave {name} out, or give the function an argument of this "
                    "name.",
                )
        copies = (getattr(model, "origin", None) or self.origin).run(deepcopy, data)
        begun = compile_time.now()
        result = self.origin.run(
            self.function, replace(model), copies, **deepcopy(taken)
        )
        spent = compile_time.now() - begun
        answer = self._make_answer(result, spent)
        if answer.reading is None:
            return answer
        return replace(answer, reading=self._read(model, data, answer.reading))

    def _read(self, model: Any, data: Any, reading: Any) -> Any:
        """Return the reading of a point as an array that the model can judge."""
        theirs = getattr(model, "origin", None) is not None
        if theirs and model.declared:  # centroids, without the cost that it reports
            reading = self.origin.run(getattr, reading, "c", reading)
        array = self.origin.run(np.array, reading)
        kinds, shape = _describe_reading(data, theirs)
        fit = array.dtype.kind in kinds and shape in (None, array.shape)
        if not fit or not (theirs or _is_judged(model, data, array)):
            raise JobError(
                f"{self.origin.name} returns an array of shape {array.shape} and type "
                f"{array.dtype.name}, which {model.name} cannot judge.",
                fix=ABOUT,
            )
        return array

    def takes(self, name: str) -> bool:
        """Whether it takes an argument of this name."""
        every = self._arguments
        return any(p.name == name or p.kind is Parameter.VAR_KEYWORD for p in every)

    def _make_answer(self, result: Any, seconds: float) -> Answer:
        by = self.origin.name
        if isinstance(result, Answer):
            bound = result.bound
            status = self.origin.run(_lower_status, result.status)
            reading = result.reading
        else:
            reading, bound = result if _is_pair(result) else (result, None)
            status = Status.FAILED if reading is None else Status.LOCAL
        claim = None
        if bound is not None:
            claim = Claim(self.origin.run(float, bound), str(self.origin))
        return Answer(reading, status, None, by, seconds, claimed=claim)


def _describe_reading(data: Any, theirs: bool) -> tuple[str, tuple[int, ...] | None]:
    """Return the kinds of dtype that a reading may have, and its shape if known."""
    if theirs:
        return "iuf", (int(data.labels.max()) + 1,)
    if hasattr(data, "renormalised"):
        return "iuf", data.renormalised.shape
    return "iu", data.x.shape[:1] if hasattr(data, "x") else None  # a label each


def _is_judged(model: Any, data: Any, reading: Any) -> bool:
    """Whether a model can compute the violation of a reading."""
    try:
        model.violation(data, model.point(data, reading))
    except (ArithmeticError, LookupError, TypeError, ValueError):
        return False
    return True


def _is_pair(result: object) -> bool:
    """Whether it is a reading and a bound, and no array or point of two."""
    return type(result) is tuple and len(result) == 2


def _lower_status(status: Status) -> Status:
    """Return the status that holds for a solver that proves nothing."""
    weaker = {Status.OPTIMAL: Status.LOCAL, Status.INFEASIBLE: Status.FAILED}
    return weaker.get(status, Status(status))


def adopt_solver(thing: object, origin: Origin) -> Solver:
    """Return a function, or a `Solver` of the user's, as a solver.

    Raises
    ------
    JobError
        It is neither.
    """
    if isinstance(thing, Solver):
        return replace(
            thing,
            name=origin.name,
            origin=origin,
            finds=LOCAL_OPTIMUM,  # its proofs are not verified
            duals=False,
            harmless=frozenset(),
            tolerances={},
        )
    function: Callable[..., Any] = thing  # type: ignore[assignment]
    return Solver(
        name=origin.name,
        when="a solver of your own",
        language=None,
        native="",
        takes=frozenset(CLASSES),
        finds=LOCAL_OPTIMUM,
        install="it is a function of yours",
        time_limit=None,
        origin=origin,
        run=OwnSolving.of(function, origin, frozenset()),
    )


_LANGUAGES = ("cvxpy:", "pyomo:")  # prefixes of the names of their solvers
NO_SOLVER = frozenset({"adopted", "file"})  # sources of points without a solve


def _adopt_user_solver(thing: Any, origin: Origin) -> Solver:
    """Return code of the user's as a solver.

    Raises
    ------
    JobError
        As `adopted`; or an object of Python's would look like another on a certificate.
    """
    names = {name.partition(":")[2] for name in SOLVERS} | NO_SOLVER
    if origin.where == "object" and (origin.name in names or {*": "} & {*origin.name}):
        raise JobError(
            f"A solver of yours is called {origin.name!r}, as other solvers are, or "
            "with a colon or a space.",
            fix="give it another name.",
        )
    return adopt_solver(thing, origin)


class _Solvers(Registry[Solver]):
    """Solvers; a name may be the bare word, or that of any solver of a language."""

    def reserves(self, name: str) -> bool:
        """Whether a name means a solver of this package, or of a language."""
        bare = {full_name.partition(":")[2] for full_name in self}
        is_known = name in bare | NO_SOLVER
        return is_known or name.startswith(_LANGUAGES) or super().reserves(name)


SOLVERS = _Solvers(
    "aggopt.solvers.packages",
    Solver,
    "solver",
    plugin_kind="solvers",
    adopt=_adopt_user_solver,
)


LANGUAGES = ("cvxpy", "pyomo")


def find_language_solver(name: str) -> Solver | None:
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
    by_lower_name = {
        solver_name.lower(): solver_name for solver_name in spoken.list_known_solvers()
    }
    if native.lower() not in by_lower_name:
        listed = (f"{language}:{solver_name}" for solver_name in by_lower_name.values())
        raise UnknownNameError("solver", name, {*listed, *SOLVERS})
    called = by_lower_name[native.lower()]
    if not spoken.is_installed(called):
        raise SolverError(
            f"{language} knows {called}, and does not find it here.",
            fix=f"install it as described in the pages of {language} on its solvers.",
        )
    return Solver(
        name=f"{language}:{called}",
        when=f"as {language} has it",
        language=language,
        native=called,
        takes=spoken.list_classes(called),
        finds=LOCAL_OPTIMUM,
        install=f"see the pages of {language} on its solvers",
        time_limit=None,
    )


NONE = "; or name none, and the first that fits is taken"


def choose_solver(
    name: object,
    *problems: str,
    language: str | Sequence[str] | None = None,
    within: bool = False,
) -> Solver:
    """Return the solver called `name`, ready for a problem of one of these kinds.

    A kind is a class of `CLASSES` or the name of a model.  Without a name, the first
    installed solver that takes one of the kinds is returned.  A `language` restricts
    the choice to the language of a problem, or the languages of a model.  A name may
    be that of any solver of a language, or of the user's code.  A function or a
    `Solver` is accepted, too.  With `within` the data have bounds of the values, which
    not every solver of a model can keep.

    Raises
    ------
    UnknownNameError
        No solver has that name.
    UntrustedCodeError
        The solver is in a file that the caller does not trust.
    JobError
        The solver takes none of the kinds, reads another language, or cannot keep
        bounds.
    SolverError
        The solver is not installed; aggopt never falls back to another one.

    Examples
    --------
    >>> choose_solver(None, "p3m").name
    'lagrangian'
    >>> choose_solver("highs", "LP", language="pyomo").name
    'pyomo:highs'
    """
    able = list_able_solvers(*problems, language=language, within=within)
    if name is None:
        return _find_installed(able, problems, language)
    solver = _get_named_solver(name, able)
    if not (solver.fits(*problems) and _is_readable(solver, language)):
        raise JobError(
            _explain_unfit(solver, problems, language), fix=_suggest_others(able, NONE)
        )
    if within and not solver.boxes:
        raise JobError(
            f"{solver.name} cannot keep values within lower and upper bounds.",
            fix=_suggest_others(able, NONE),
        )
    if solver.lacks:
        raise SolverError(
            f"{solver.name} is not installed: {solver.lacks}.",
            fix=f"run {solver.install}.",
        )
    return solver


def _is_readable(solver: Solver, language: str | Sequence[str] | None) -> bool:
    """Whether a solver reads at least one of these languages."""
    if language is None:
        return True
    if isinstance(language, str):
        return solver.language == language
    return solver.run is not None or solver.language in language


def _get_named_solver(name: object, able: list[Solver]) -> Solver:
    if not isinstance(name, str):
        return _get_passed_solver(name)
    if name in SOLVERS:
        return SOLVERS[name]
    for solver in (*able, *SOLVERS.values()):
        if name == _strip_language(solver):
            return solver
    if SOLVERS.names_user_code(name):
        return SOLVERS.adopt(name)
    if (of_one := find_language_solver(name)) is not None:
        return of_one
    raise _unknown(name, able or list(SOLVERS.values()))


def _unknown(name: str, able: list[Solver]) -> UnknownNameError:
    """Return the refusal of an unknown name, with those that are installed first.

    A name without a language suggests the nearest one without its own.
    """
    absent = [solver.name for solver in able if not solver.installed]
    near = () if ":" in name else map(_strip_language, able)
    names = [solver.name for solver in able]
    return UnknownNameError("solver", name, names, absent=absent, near=near)


def _get_passed_solver(thing: object) -> Solver:
    """Return the solver that an object is."""
    if isinstance(thing, Solver):
        ours = SOLVERS.get(thing.name) or find_language_solver(thing.name)
        return thing if thing.origin or thing == ours else SOLVERS.adopt(thing)
    if not callable(thing):
        raise UnknownNameError("solver", str(thing), SOLVERS)
    return SOLVERS.adopt(thing)


def _explain_unfit(
    solver: Solver, problems: tuple[str, ...], language: str | Sequence[str] | None
) -> str:
    if not _is_readable(solver, language) and solver.fits(*problems):
        languages = _list_solvers(language)
        return f"{solver.name} cannot read a problem declared in {languages}."
    taken = sorted(solver.takes, key=lambda kind: (kind not in CLASSES, kind))
    return (
        f"{solver.name} does not take problems of class {problems[-1]}: it takes "
        f"{', '.join(taken)}."
    )


def _suggest_others(able: list[Solver], more: str = "") -> str:
    if not able:
        return "state it in another way; `aggopt solvers` lists what each one takes."
    here = [s.name for s in able if s.installed]
    absent = [s.name for s in able if not s.installed]
    if not here:
        return f"run {able[0].install}, and choose {able[0].name}."
    later = f"; not installed: {', '.join(absent)}" if absent else ""
    return f"choose one of {', '.join(here)}{more}{later}."


def _strip_language(solver: Solver) -> str:
    return solver.name.partition(":")[2] or solver.name


def _list_solvers(language: str | Sequence[str] | None) -> str:
    return language if isinstance(language, str) else " or ".join(language or ())


def list_able_solvers(
    *problems: str,
    language: str | Sequence[str] | None = None,
    within: bool = False,
) -> list[Solver]:
    """Return the solvers that take one of these kinds, installed or not."""
    candidates = (s for s in SOLVERS.values() if s.boxes or not within)
    every = (s for s in candidates if s.fits(*problems))
    read = (s for s in every if _is_readable(s, language))
    return sorted(read, key=lambda s: s.rank_for(*problems))


def _find_installed(
    able: list[Solver],
    problems: tuple[str, ...],
    language: str | Sequence[str] | None,
) -> Solver:
    for solver in able:
        if solver.installed:
            return solver
    declared = f" declared in {_list_solvers(language)}" if language else ""
    if not able:
        raise JobError(
            f"No solver takes problems of class {problems[-1]}{declared}.",
            fix=_suggest_others(able),
        )
    raise SolverError(
        f"No solver for problems of class {problems[-1]}{declared} is installed.",
        fix=" or ".join(f"run {s.install}" for s in able) + ".",
    )
