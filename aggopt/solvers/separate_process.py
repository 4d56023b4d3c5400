"""Solve a declared problem in another process and copy the solution back."""

import sys
import threading
from collections.abc import Mapping
from importlib import import_module
from types import ModuleType
from typing import Any

from aggopt.core.validation import is_number
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
            _run,
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


def _run(
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
