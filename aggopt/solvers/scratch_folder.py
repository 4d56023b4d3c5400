"""A scratch folder, in memory if possible, for this user only, removed at the end."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

from aggopt.core import guardian
from aggopt.core.stale_files import folder_prefix, remove_stale
from aggopt.core.worker import SCRATCH

_MEMORY = Path("/dev/shm")


@contextmanager
def scratch() -> Iterator[Path]:
    """Yield a folder of mode 0700 that is removed at the end.

    Those that a killed process could not remove go before.
    """
    parent = scratch_parent()
    remove_stale(parent)
    with TemporaryDirectory(dir=parent, prefix=folder_prefix()) as name:
        guardian.tell("file", name)
        try:
            yield Path(name)
        finally:
            guardian.tell("removed", name)


def scratch_parent() -> Path:
    """Return the parent folder of scratch folders."""
    usual = _MEMORY if _MEMORY.is_dir() else gettempdir()
    return Path(os.environ.get(SCRATCH) or usual)
