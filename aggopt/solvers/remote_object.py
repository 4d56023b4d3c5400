"""An object in another process, which keeps it from one call to the next.

A call that does not return in time ends the process, and the object with it.
"""

from collections.abc import Callable
from types import TracebackType
from typing import Any, Concatenate, Generic, Self, TypeVar

from aggopt.core.worker import call_methods, drop_object
from aggopt.solvers import process_pool as _pool

T = TypeVar("T")
A = TypeVar("A")


class Kept(Generic[T]):
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
