"""Arguments that have another name than they once had."""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def renamed(**names: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator: the old name of an argument is refused with the new one.

    Examples
    --------
    >>> @renamed(seconds="time_limit")
    ... def search(*, time_limit=None):
    ...     return time_limit
    >>> search(seconds=3)
    Traceback (most recent call last):
        ...
    TypeError: search() takes time_limit; it has no argument 'seconds' any more.
    """

    def decorated(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def called(*given: P.args, **named: P.kwargs) -> R:
            for old in names.keys() & named.keys():
                raise TypeError(
                    f"{function.__name__}() takes {names[old]}; it has no argument "
                    f"{old!r} any more."
                )
            return function(*given, **named)

        return called

    return decorated
