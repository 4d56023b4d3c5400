"""What is imported before anyone's time is taken."""

from functools import cache
from importlib import import_module


@cache
def load() -> None:
    """Import HiGHS, and what compiles: no one's time is to pay for imports."""
    for name in (
        "highspy",
        "aggopt.partition._optimal.exact_pricing_kernels",
        "aggopt.partition._optimal.schedule",
        "aggopt.partition._local_search.iterated_kernels",
    ):
        import_module(name)
