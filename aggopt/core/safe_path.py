"""Processes that import nothing from the working directory.

Python that is begun with -m or -c looks there first: a file numpy.py beside the data,
which nobody trusts, would run and see the originals.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager

NAME = "PYTHONSAFEPATH"  # as Python's option -P, and for what they begin, too


@contextmanager
def exclude_working_directory() -> Iterator[None]:
    """Let Python that is begun within the block import nothing from where we are."""
    before = os.environ.get(NAME)
    os.environ[NAME] = "1"
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(NAME, None)
        else:
            os.environ[NAME] = before
