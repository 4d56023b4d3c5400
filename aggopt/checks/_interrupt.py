"""Interrupt during a trial."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class InterruptedTrialError(KeyboardInterrupt):
    """What an interrupt raises here: nothing else does."""


@contextmanager
def interrupted(after: float) -> Iterator[list[int]]:
    """Send an interrupt after some seconds, which raises `InterruptedTrialError`."""
    came: list[int] = []

    def hear(number: int, frame: object) -> None:
        came.append(number)
        raise InterruptedTrialError

    before = signal.signal(signal.SIGINT, hear)
    timer = threading.Timer(after, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        yield came
    finally:
        timer.cancel()
        timer.join()
        signal.signal(signal.SIGINT, before)
