"""Whose line a warning names: the one that called the package."""

import sys


def find_caller_stacklevel() -> int:
    """Return the level of the first caller outside of the package; one's own is 1."""
    level = 1
    frame = sys._getframe(1)
    while frame.f_back and frame.f_globals["__name__"].startswith("aggopt."):
        level = level + 1
        frame = frame.f_back
    return level
