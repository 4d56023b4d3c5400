"""Available memory, and an early error if a computation needs more."""

import sys
from pathlib import Path

from aggopt.errors import MemoryLimitError

_STATM = Path("/proc/self/statm")
_NO_THREAD = "can't start new thread"  # Python's message
_CGROUP = Path("/sys/fs/cgroup")
_FIX = "use a machine with more, fewer records, or another solver or method."


def find_available_memory() -> int:
    """Return the bytes that this process may still allocate."""
    import psutil

    left = min(int(psutil.virtual_memory().available), _left_of_limit())
    try:  # a container may have less than its machine
        limit, used = (
            (_CGROUP / f"memory.{f}").read_text() for f in ("max", "current")
        )
        return min(left, max(0, int(limit) - int(used)))
    except (OSError, ValueError):
        return left


def _left_of_limit() -> int:
    """Return the bytes that `ulimit -v` leaves to this process."""
    try:
        import resource

        pages = int(_STATM.read_text().split()[0])
        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    except (ImportError, OSError, ValueError):  # no Linux
        return sys.maxsize
    if limit == resource.RLIM_INFINITY:
        return sys.maxsize
    return max(0, limit - pages * resource.getpagesize())


def is_lack_of_memory(error: BaseException) -> bool:
    """Whether an error is a MemoryError, or one that a library raised from it.

    A thread that cannot start lacks the memory of its stack.

    >>> is_lack_of_memory(MemoryError()), is_lack_of_memory(ValueError())
    (True, False)
    """
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, MemoryError) or str(cause) == _NO_THREAD:
            return True
        cause = cause.__cause__
    return False


def require_memory(needed: int, purpose: str, fix: str = _FIX) -> None:
    """Raise if a computation would not fit.

    Raises
    ------
    MemoryLimitError
        More bytes are needed than are free; the message contains both numbers.
    """
    left = find_available_memory()
    if needed > left:
        raise MemoryLimitError(
            f"{purpose} needs about {format_size(needed)} of memory, and "
            f"{format_size(left)} are left.",
            fix=fix,
        )


def format_size(count: int) -> str:
    """Return a number of bytes in KiB, or in MiB or GiB if it is at least one."""
    if count < 2**20:
        return f"{count / 2**10:.1f} KiB"
    return f"{count / 2**30:.1f} GiB" if count >= 2**30 else f"{count / 2**20:.0f} MiB"
