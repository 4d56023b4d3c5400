"""Compile loops on first call, and keep them.  Importing this imports numba."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import numba

from aggopt.core.signals import heeded

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """Return `function`, compiled when first called; division by 0 gives inf, nan."""
    return _compiled(function, inline=False)


def inlined(function: F) -> F:
    """Return the same, copied into its callers: for what runs once per group."""
    return _compiled(function, inline=True)


def _compiled(function: F, *, inline: bool) -> F:
    options: dict[str, Any] = {
        "nogil": True,
        "error_model": "numpy",
        "forceinline": inline,
    }
    with heeded():  # the first kernel of all prepares the compiler
        try:
            made = numba.njit(cache=True, **options)(function)
        except RuntimeError:  # there is no folder that a cache could be written to
            made = numba.njit(**options)(function)
    made.compile = _interruptible(made.compile)
    return cast(F, made)


def _interruptible(compile_: F) -> F:
    """Return the same, which raises at its end what a callback has lost on the way.

    Compiling, and reading from the cache, LLVM calls back through ctypes, where a
    Ctrl-C is printed ("Exception ignored on calling ctypes callback") and forgotten.
    """

    @wraps(compile_)
    def heard(*given: Any, **named: Any) -> Any:
        with heeded():
            return compile_(*given, **named)

    return cast(F, heard)
