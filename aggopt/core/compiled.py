"""Compile loops on first call, and keep them.  Importing this imports numba."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import numba
from numba.core import event

from aggopt.core.deadline import compile_time
from aggopt.core.deferred_signals import reraise_interrupts
from aggopt.core.kernel_compiler import KernelCompiler, LinkedCache, LinkedCompiler

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """Return `function`, compiled when first called; division by 0 gives inf, nan.

    For functions that Python calls; these return a number or nothing to Python.
    """
    return compile_with(function)


def inner(function: F) -> F:
    """Return `function`, compiled in a fifth less time for kernels as only callers."""
    return compile_with(function, no_cpython_wrapper=True)


def inlined(function: F) -> F:
    """Return `function`, compiled into kernels that call it, for innermost loops."""
    return compile_with(function, no_cpython_wrapper=True, forceinline=True)


def compile_with(function: F, **options: Any) -> F:
    """Return `function`, compiled when first called by numba with these options."""
    options |= {"nogil": True, "error_model": "numpy"}
    options["no_cfunc_wrapper"] = True  # nothing that is written in C calls it
    is_linked = options.get("no_cpython_wrapper", False)  # only kernels call it
    options["pipeline_class"] = LinkedCompiler if is_linked else KernelCompiler
    with reraise_interrupts():  # the first kernel of all prepares the compiler
        try:
            kernel = numba.njit(cache=True, **options)(function)
            if is_linked:
                kernel._cache = LinkedCache(kernel.py_func)  # type: ignore[no-untyped-call]
        except RuntimeError:  # no folder is writable for a cache
            kernel = numba.njit(**options)(function)
            compile_time.homeless += 1
    kernel.compile = _reraise_interrupts(
        _rebuild_stale_cache(kernel, _share_constants(kernel.compile))
    )
    compile_time.kernels += 1
    return cast(F, kernel)


# By default, each call of a kernel counts the references to each array argument.  For a
# state of twenty arrays and small kernels, counting takes longer than their work.
# Kernels of these three make no arrays and only borrow their arguments: their callers
# hold the arrays.


def unrefcounted(function: F) -> F:
    """Return `function`, compiled when first called; division by 0 gives inf, nan.

    For functions that Python calls; these return a number or nothing to Python.
    """
    return compile_with(function, _nrt=False)


def unrefcounted_inner(function: F) -> F:
    """Return `function`, compiled in a fifth less time for kernels as only callers."""
    return compile_with(function, _nrt=False, no_cpython_wrapper=True)


def unrefcounted_inlined(function: F) -> F:
    """Return `function`, compiled into kernels that call it, for innermost loops."""
    return compile_with(function, _nrt=False, no_cpython_wrapper=True, forceinline=True)


def _share_constants(compile_: F) -> F:
    """Return `compile_`, given the general type of a constant argument.

    Otherwise a kernel would be compiled again for a literal argument, such as -1.
    """

    @wraps(compile_)
    def of_types(argument: Any) -> Any:
        if isinstance(argument, tuple):
            general: Any = numba.types.unliteral
            argument = tuple(map(general, argument))
        return compile_(argument)

    return cast(F, of_types)


def _rebuild_stale_cache(kernel: Any, compile_: F) -> F:
    """Return `compile_`, which now empties a cache that names a type that has moved."""

    @wraps(compile_)
    def compile_again(types: Any) -> Any:
        try:
            return compile_(types)
        except (AttributeError, ImportError):
            _clear_cache(kernel)
            return compile_(types)

    return cast(F, compile_again)


def _clear_cache(kernel: Any) -> None:
    """Empty the cache of a function; if it cannot be written, disable it."""
    try:
        kernel._cache.flush()
    except OSError:
        kernel._cache.disable()


def _reraise_interrupts(compile_: F) -> F:
    """Return `compile_`, which now raises at its end an interrupt lost in a callback.

    When numba compiles or reads from the cache, LLVM calls back through ctypes.  A
    Ctrl-C there is printed ("Exception ignored on calling ctypes callback") and lost.
    """

    @wraps(compile_)
    def compile_interruptibly(*args: Any, **kwargs: Any) -> Any:
        with reraise_interrupts(), compile_time.passing():
            return compile_(*args, **kwargs)

    return cast(F, compile_interruptibly)


class _CompileCounter(event.Listener):
    """Counter of compiled kernels; it leaves out the compiler's own kernels."""

    def on_start(self, event: Any) -> None:
        """Record that one begins."""
        if _is_ours(event):
            compile_time.begin(_name_part(event))

    def on_end(self, event: Any) -> None:
        """Record that one ends."""
        if _is_ours(event):
            compile_time.end()


def _find_module(event: Any) -> str:
    module: str = event.data["dispatcher"].py_func.__module__
    return module


def _is_ours(event: Any) -> bool:
    return _find_module(event).startswith("aggopt.")


def _name_part(event: Any) -> str:
    """Return the part of the package that has a kernel: "partition, local search"."""
    parts = _find_module(event).split(".")[1:3]
    plain = (part.strip("_").removesuffix("_kernels") for part in parts)
    return ", ".join(part.replace("_", " ") for part in plain)


_register: Any = event.register  # which has no types
_register("numba:compile", _CompileCounter())
