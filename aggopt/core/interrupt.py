"""What is finished although Ctrl-C comes."""

from collections.abc import Callable
from typing import TypeVar

Made = TypeVar("Made")


def in_any_case(make: Callable[[], Made]) -> tuple[Made, bool]:
    """Return what is made, even if Ctrl-C comes meanwhile, and whether it did."""
    try:
        return make(), False
    except KeyboardInterrupt:
        return make(), True
