"""A second pair of ears: signals that come while a solver does not return to Python.

Python runs a handler between its own instructions, and a library may take minutes for
one of them.  The number of each signal is written to a pipe at once.  The guardian
reads it and hands it on to a thread, which ends the process where no handler ran.
Where a library keeps the interpreter's lock that thread cannot run either, and the
guardian kills the process.
"""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from aggopt.core import guardian
from aggopt.core.deferred_signals import DeferredSignals

GRACE = 1.0  # seconds in which Python runs a handler, unless a library keeps it
STEP = 0.02  # seconds between looks at whether one ran


@contextmanager
def monitor_signals(
    handled_at: Mapping[int, float], end: Callable[[int], None], grace: float = GRACE
) -> Iterator[None]:
    """Call `end`, from a thread, with each signal that no handler takes in time.

    `handled_at` says when the handler of a signal last ran, by time.monotonic().  While
    files are named, or are there, nothing is ended: signals wait then.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # which alone may say where numbers are written
        return
    reads, forward = os.pipe()
    wakeups, written = os.pipe()
    os.set_blocking(written, False)
    os.set_blocking(forward, False)
    if guardian.start(wakeups, forward):
        numbers = reads
        os.close(wakeups)
        os.close(forward)
    else:  # the thread reads what Python writes
        numbers = wakeups
        os.close(reads)
        os.close(forward)
    over = threading.Event()
    before = signal.set_wakeup_fd(written, warn_on_full_buffer=False)

    def handle_signals() -> None:
        while number := os.read(numbers, 1):
            came = time.monotonic()
            while _is_lost(number[0], handled_at, came - grace) and not over.wait(STEP):
                if time.monotonic() > came + grace:
                    end(number[0])
                    break
            guardian.send_message("confirmed")
        os.close(numbers)

    threading.Thread(target=handle_signals, daemon=True).start()
    try:
        yield
    finally:
        over.set()
        signal.set_wakeup_fd(before)
        os.close(written)
        guardian.stop()


def _is_lost(number: int, handled_at: Mapping[int, float], since: float) -> bool:
    """Whether a signal reached no handler, and does not wait for files either.

    A handler may run before the thread reads what it was called with.
    """
    waits = isinstance(signal.getsignal(number), DeferredSignals)
    return not waits and number in handled_at and handled_at[number] < since
