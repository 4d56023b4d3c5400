"""A scratch folder, in memory if possible, for this user only, removed at the end."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

from aggopt.core import guardian
from aggopt.core.stale_files import make_folder_prefix, remove_stale
from aggopt.core.worker import SCRATCH

_MEMORY = Path("/dev/shm")


@contextmanager
def make_scratch_folder(parent: Path | None = None) -> Iterator[Path]:
    """Yield a folder of mode 0700 that is removed at the end.

    It is in `parent`; in memory, if possible, when omitted.  Folders that a killed
    process could not remove there go before.
    """
    parent = parent or find_scratch_parent()
    remove_stale(parent)
    with TemporaryDirectory(dir=parent, prefix=make_folder_prefix()) as name:
        guardian.send_message("file", name)
        try:
            yield Path(name)
        finally:
            guardian.send_message("removed", name)


def find_scratch_parent() -> Path:
    """Return the parent folder of scratch folders."""
    usual = _MEMORY if _MEMORY.is_dir() else gettempdir()
    return Path(os.environ.get(SCRATCH) or usual)
