"""Processes that import nothing from the working directory.

Python that is started with -m or -c looks there first.  An untrusted file numpy.py next
to the data would run and see the originals.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager

NAME = "PYTHONSAFEPATH"  # as Python's option -P, also for child processes


@contextmanager
def exclude_working_directory() -> Iterator[None]:
    """Keep child processes of the block from importing the working directory."""
    before = os.environ.get(NAME)
    os.environ[NAME] = "1"
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(NAME, None)
        else:
            os.environ[NAME] = before
