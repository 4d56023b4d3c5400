"""Compile loops that make no arrays.  Importing this imports numba.

Whoever holds an array is counted, at each call of a kernel that is handed it.  Where a
state of twenty arrays goes to small kernels, that takes longer than their work.  These
kernels only borrow what they are handed, which those who call them hold.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from aggopt.core.compiled import compile_with

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """Return `function`, compiled when first called; division by 0 gives inf, nan.

    For what Python calls; what is handed back to Python is a number, or nothing.
    """
    return compile_with(function, _nrt=False)


def inner(function: F) -> F:
    """Return the same for what kernels alone call: a fifth less to compile."""
    return compile_with(function, _nrt=False, no_cpython_wrapper=True)


def inlined(function: F) -> F:
    """Return the same, copied into the kernels that call it: for innermost loops."""
    return compile_with(function, _nrt=False, no_cpython_wrapper=True, forceinline=True)
