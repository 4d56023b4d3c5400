"""Computations that are finished in spite of Ctrl-C."""

from collections.abc import Callable
from typing import TypeVar

Made = TypeVar("Made")


def finish_despite_interrupt(make: Callable[[], Made]) -> tuple[Made, bool]:
    """Return `make()`, called again if Ctrl-C interrupts it, and whether it did."""
    try:
        return make(), False
    except KeyboardInterrupt:
        return make(), True
