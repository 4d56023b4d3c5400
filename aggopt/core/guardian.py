"""Start and stop the guardian, which ends leftovers of this process.

`aggopt.core.guardian_process` describes its work.  Each process that starts solvers
has a guardian, and so has the command.  Windows has none.
"""

import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

_PROGRAM = Path(__file__).with_name("guardian_process.py")
PATIENCE = 60.0  # seconds that the guardian has to end processes and remove files
GRACE = 1.5  # seconds: a thread of the command ends it after 1 s if it can run


class _State:
    """The pipe to the guardian, if there is one, and its process."""

    def __init__(self) -> None:
        self.lock = threading.RLock()  # a signal's handler may write, too
        self.pipe: int | None = None
        self.process: subprocess.Popen[bytes] | None = None
        self.wanted = os.name == "posix"


_state = _State()


def start(wakeups: int = -1, forward: int = -1, grace: float = GRACE) -> bool:
    """Start the guardian unless one runs; return whether one runs now.

    Parameters
    ----------
    wakeups
        The end of a pipe; the guardian reads the numbers of signals from it.
    forward
        The end of a pipe; the guardian writes these numbers to it.
    grace
        Seconds in which this process must confirm a signal.
    """
    with _state.lock:
        if _state.pipe is not None:
            return wakeups < 0  # it reads no other signals
        if not _state.wanted or not sys.executable:
            return False
        reads, _state.pipe = os.pipe()
        words = [sys.executable, "-I", "-S", str(_PROGRAM), str(os.getpid())]
        try:
            _state.process = subprocess.Popen(
                [*words, str(wakeups), str(forward), str(grace)],
                stdin=reads,
                stdout=subprocess.DEVNULL,
                pass_fds=[fd for fd in (wakeups, forward) if fd >= 0],
                start_new_session=True,  # Ctrl-C is not for it
            )
        except OSError:
            os.close(_state.pipe)
            _state.pipe = None
        finally:
            os.close(reads)
        return _state.pipe is not None


def send_message(word: str, rest: object = "") -> None:
    """Send a message to the guardian; nothing without one."""
    with _state.lock:
        if _state.pipe is not None:
            with suppress(OSError):  # the guardian was killed
                os.write(_state.pipe, os.fsencode(f"{word} {rest}") + b"\0")


def stop() -> None:
    """End the guardian; it first ends remaining processes and files."""
    with _state.lock:
        if _state.pipe is not None:
            os.close(_state.pipe)
            _state.pipe = None
        if _state.process is not None:
            try:
                _state.process.wait(PATIENCE)
            except subprocess.TimeoutExpired:  # it was stopped, or a disk hangs
                _state.process.kill()
                _state.process.wait()
            _state.process = None


def find_process() -> int | None:
    """Return the process of the guardian, or None."""
    return None if _state.process is None else _state.process.pid


def _drop_guardian() -> None:
    """Have no guardian after a fork: it is the parent's."""
    if _state.pipe is not None:
        os.close(_state.pipe)
        with suppress(ValueError):  # signals of the child are not the parent's
            signal.set_wakeup_fd(-1)
    if _state.process is not None:
        _state.process.returncode = 0  # so that it is not waited for
    _state.__init__()  # type: ignore[misc]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_drop_guardian)
