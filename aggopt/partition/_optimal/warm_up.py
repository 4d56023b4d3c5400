"""Imports before a time limit begins."""

from functools import cache
from importlib import import_module


@cache
def load_kernels() -> None:
    """Import the kernels, so that no time limit counts imports."""
    for name in (
        "aggopt.partition._optimal.exact_pricing_kernels",
        "aggopt.partition._optimal.schedule",
        "aggopt.partition._local_search.iterated_kernels",
    ):
        import_module(name)
