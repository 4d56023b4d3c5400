"""A second pair of ears: signals that come while a solver does not return to Python.

Python runs a handler between its own instructions, and a solver's library may take
minutes for one of them.  The number of each signal is written to a socket at once, and
a thread that reads it ends the process where no handler ran.
"""

import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from aggopt.core.signals import Waiting

GRACE = 1.0  # seconds in which Python runs a handler, unless a library keeps it


@contextmanager
def watched(
    heard: Mapping[int, float], end: Callable[[int], None], grace: float = GRACE
) -> Iterator[None]:
    """Call `end`, from a thread, with each signal that no handler hears in time.

    `heard` says when the handler of a signal last ran, by time.monotonic().  While
    files are named, or are there, nothing is ended: signals wait then.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # which alone may say where numbers are written
        return
    reads, written = socket.socketpair()
    written.setblocking(False)
    over = threading.Event()
    before = signal.set_wakeup_fd(written.fileno(), warn_on_full_buffer=False)

    def listen() -> None:
        with reads:
            while number := reads.recv(1):
                came = time.monotonic()
                if not over.wait(grace) and _lost(number[0], heard, came - grace):
                    end(number[0])

    threading.Thread(target=listen, daemon=True).start()
    try:
        yield
    finally:
        over.set()
        signal.set_wakeup_fd(before)
        written.close()


def _lost(number: int, heard: Mapping[int, float], since: float) -> bool:
    """Whether no handler heard a signal, and it does not wait for files either.

    A handler may run before the thread reads what it was called with.
    """
    waits = isinstance(signal.getsignal(number), Waiting)
    return not waits and number in heard and heard[number] < since
