"""Compile loops on first call, and keep them.  Importing this imports numba."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

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
    try:
        return cast(F, numba.njit(cache=True, **options)(function))
    except RuntimeError:  # there is no folder that a cache could be written to
        return cast(F, numba.njit(**options)(function))
