"""A folder for what must go through files: in memory, for this user only, removed."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

WHERE = "AGGOPT_SCRATCH"  # a process of ours tells its child to work in its own folder
_MEMORY = Path("/dev/shm")


@contextmanager
def scratch() -> Iterator[Path]:
    """Yield a folder of mode 0700 that is removed at the end."""
    parent = os.environ.get(WHERE) or (_MEMORY if _MEMORY.is_dir() else None)
    with TemporaryDirectory(dir=parent, prefix="aggopt-") as name:
        yield Path(name)
