"""Available memory, and an early error where a computation needs more."""

from pathlib import Path

from aggopt.errors import InfeasibleInputError

_CGROUP = Path("/sys/fs/cgroup")


def available() -> int:
    """Return the bytes that this process may still allocate."""
    import psutil

    left = int(psutil.virtual_memory().available)
    try:  # a container may have less than its machine
        most, used = ((_CGROUP / f"memory.{f}").read_text() for f in ("max", "current"))
        return min(left, max(0, int(most) - int(used)))
    except (OSError, ValueError):
        return left


def require_memory(needed: int, what: str) -> None:
    """Raise if a computation would not fit.

    Raises
    ------
    InfeasibleInputError
        More bytes are needed than are left; the message says how many.
    """
    left = available()
    if needed > left:
        raise InfeasibleInputError(
            f"{what} needs about {_size(needed)} of memory, and {_size(left)} are "
            "left.",
            fix="use a machine with more, fewer records, or another solver or method.",
        )


def _size(count: int) -> str:
    return f"{count / 2**30:.1f} GiB" if count >= 2**30 else f"{count / 2**20:.0f} MiB"
