"""Kernels that other kernels alone call, made such that a test can call them."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numba


@cache  # compiled once: the compiler takes longer than a test
def from_python(kernel: Any) -> Callable[..., Any]:
    """Return a function that calls a kernel and hands back what it does."""

    @numba.njit
    def call(*given):
        return kernel(*given)

    return call
