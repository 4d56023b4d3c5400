"""Work that is ended when its time is over, as Ctrl-C would end it."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TypeVar

from aggopt.core.deadline import Deadline
from aggopt.core.deferred_signals import reraise_interrupts
from aggopt.errors import TimeLimitError

Made = TypeVar("Made")


def within(seconds: float | None, work: Callable[[], Made]) -> Made:
    """Return what `work` returns, if it is done in time; compilation is not counted.

    It is the main thread of this process that must call, because it is interrupted.

    Raises
    ------
    TimeLimitError
        It is not.
    """
    if seconds is None:
        return work()
    alarm = _Alarm(Deadline(seconds))
    try:
        with alarm.heard(), reraise_interrupts():
            return work()
    except KeyboardInterrupt:
        if not alarm.rang:
            raise
    raise TimeLimitError(
        f"It was not done within {seconds:g} seconds.",
        fix="allow more time_limit, or choose a quicker method.",
    )


class _Alarm:
    """A thread that interrupts the main one when a deadline has passed."""

    def __init__(self, clock: Deadline) -> None:
        self.clock, self.rang = clock, False
        self._done, self._lock = threading.Event(), threading.Lock()

    @contextmanager
    def heard(self) -> Iterator[None]:
        """Let the alarm ring in the block, whatever Ctrl-C does here."""
        before = signal.getsignal(signal.SIGINT)

        def hear(number: int, frame: FrameType | None) -> None:
            if self.rang:
                raise KeyboardInterrupt
            if callable(before):
                before(number, frame)

        signal.signal(signal.SIGINT, hear)
        waiting = threading.Thread(target=self._wait, daemon=True)
        waiting.start()
        try:
            yield
        finally:
            with self._lock:  # from here on it does not ring
                self._done.set()
            waiting.join()
            signal.signal(signal.SIGINT, before)

    def _wait(self) -> None:
        while not self.clock.over:
            if self._done.wait(self.clock.left):
                return
        with self._lock:
            if not self._done.is_set():
                self.rang = True
                _interrupt()


def _interrupt() -> None:
    """Interrupt the main thread, in a call of the system, too."""
    main = threading.main_thread().ident
    if hasattr(signal, "pthread_kill") and main is not None:
        signal.pthread_kill(main, signal.SIGINT)
    else:
        signal.raise_signal(signal.SIGINT)
