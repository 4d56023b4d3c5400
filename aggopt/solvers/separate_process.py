"""Problems solved in another process, and objects kept there from call to call."""

import sys
import threading
from collections.abc import Callable, Mapping
from importlib import import_module
from types import ModuleType, TracebackType
from typing import Any, Concatenate, Generic, Self, TypeVar

from aggopt.core.validation import is_number
from aggopt.core.worker import call_methods, drop_object
from aggopt.solvers import process_pool as _pool
from aggopt.solvers.certificate import Status
from aggopt.solvers.solver import Solver
from aggopt.solvers.termination import Ended

_ONE = threading.Lock()  # modules pickled by value are a setting of the process
_ENDLESS = 1e9  # seconds: 30 years are no limit


def run_language_apart(
    language: Any,
    problem: Any,
    solver: Solver,
    native: Mapping[str, Any],
    kind: str,
    time_limit: object,
) -> Ended:
    """Return the result of `language.run`, computed in another process.

    Without an answer the problem is unchanged.
    """
    try:
        ended, state = _pool.call(
            _run_packed,
            language.__name__,
            language.pack_problem(problem),
            solver,
            dict(native),
            kind,
            solver=solver.name,
            limit=parse_seconds(time_limit),
            modules=(language.__name__,),
            dumps=pickle_function,
        )
    except _pool.NoAnswer as none:
        return Ended(find_status_without_answer(none), seconds=none.seconds)
    language.restore(problem, state)
    result: Ended = ended
    return result


def _run_packed(
    language: str, sent: Any, solver: Solver, native: Mapping[str, Any], kind: str
) -> tuple[Ended, Any]:
    spoken = import_module(language)
    problem = spoken.unpack_problem(sent)
    ended = spoken.run(problem, solver, native, kind)
    return ended, spoken.read_state(problem)


def find_status_without_answer(none: _pool.NoAnswer) -> Status:
    """Return the status of a solve without an answer: at its limit, or failed."""
    if none.exhausted:
        return Status.EXHAUSTED
    return Status.UNANSWERED if none.at_limit else Status.FAILED


def parse_seconds(limit: object) -> float | None:
    """Return a limit in seconds; None if an option states no finite one."""
    if is_number(limit) and 0 < limit < _ENDLESS:  # type: ignore[operator]
        return float(limit)  # type: ignore[arg-type]
    return None


def pickle_function(thing: object, value: Any = None) -> bytes:
    """Return a pickle, which may hold functions of a notebook or of a script.

    The module of a function `value`, passed as an object, is sent by value: the other
    process could find no module of its name, or an older version of it.
    """
    cloudpickle = _load_cloudpickle()
    module = _find_defining_module(value)
    with _ONE:
        if module is None:
            return bytes(cloudpickle.dumps(thing))
        cloudpickle.register_pickle_by_value(module)
        try:
            return bytes(cloudpickle.dumps(thing))
        finally:
            cloudpickle.unregister_pickle_by_value(module)


def _find_defining_module(value: Any) -> ModuleType | None:
    """Return the module that defines a user's function, or None if there is not one."""
    if value is None or value.origin.where != "object":
        return None  # a file is read again there, and a package is installed
    function = value.function
    while hasattr(function, "func"):  # functools.partial
        function = function.func
    name = getattr(function, "__module__", None)
    return None if name in (None, "__main__") else sys.modules.get(name)


def _load_cloudpickle() -> Any:
    try:
        import cloudpickle  # type: ignore[import-untyped]
    except ImportError:  # joblib before 1.6 has its own
        from joblib.externals import cloudpickle
    return cloudpickle


T = TypeVar("T")
A = TypeVar("A")


class RemoteObject(Generic[T]):
    """An object that is made and called in another process; within a worker, in it.

    Arguments and results are pickled.  Once the object is closed, its process is free
    for other calls.

    Parameters
    ----------
    make
        Returns the object: a class or a function of a module.
    modules
        Modules that the process imports before the first time limit begins.
    """

    def __init__(self, make: Callable[[], T], modules: tuple[str, ...]) -> None:
        self._make = make
        self._at: T | _pool.Session = (
            make() if _pool.is_here() else _pool.Session(modules)
        )
        self._steps: list[tuple[Callable[..., Any], tuple[Any, ...]]] = []

    def then(
        self, method: Callable[Concatenate[T, ...], None], *arguments: Any
    ) -> None:
        """Call a method, which returns nothing, before the next answer."""
        if isinstance(self._at, _pool.Session):
            self._steps.append((method, arguments))
        else:
            method(self._at, *arguments)

    def ask(
        self, limit: float, method: Callable[Concatenate[T, ...], A], *arguments: Any
    ) -> A:
        """Call a method of the object and return its result within `limit` seconds.

        Raises
        ------
        NoAnswer
            The method did not return in time and its process was killed, or the
            process ended.
        """
        if not isinstance(self._at, _pool.Session):
            return method(self._at, *arguments)
        steps = [*self._steps, (method, arguments)]
        self._steps = []
        result: A = self._at.call(call_methods, self._make, steps, limit=limit)
        return result

    def close(self) -> None:
        """Let the process forget the object."""
        if isinstance(self._at, _pool.Session):
            self._at.close(drop_object)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
