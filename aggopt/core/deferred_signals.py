"""Raise an interrupt that arrives while a solver runs; defer it while files are named.

Some solvers swallow exceptions of their callbacks, including an interrupt, and run to
the end.  Their result must then not be used.  The compiler's callbacks and finalizers
of objects lose an interrupt with a line on standard error.
"""

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import FrameType
from typing import Any, TypeVar

from aggopt.core import guardian

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT")
_UNHELD = (None, signal.SIG_IGN)  # not made in Python, or ignored anyway


@contextmanager
def reraise_interrupts() -> Iterator[None]:
    """Raise at the end an exception that a signal raised within, if it was caught.

    It replaces errors that it caused, such as the compiler's "RuntimeError".
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # signals reach the main thread only
        return
    came: list[tuple[Any, int, BaseException]] = []
    before = {n: h for n in _deferred_numbers() if callable(h := signal.getsignal(n))}

    def note(number: int, frame: FrameType | None) -> None:
        try:
            before[number](number, frame)
        except BaseException as raised:
            came.append((before[number], number, raised))
            raise

    for number in before:
        signal.signal(number, note)
    try:
        yield
    finally:
        for number, handler in before.items():
            if signal.getsignal(number) is note:  # else all is done: they are ignored
                signal.signal(number, handler)
        if sys.exception() not in [raised for _, _, raised in came]:
            for handler, number, _ in came:
                handler(number, None)


class DeferredSignals:
    """A handler that only records the signals that arrive.

    Processes that this process starts would inherit SIG_IGN.
    """

    def __init__(self) -> None:
        self.came: list[int] = []

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Record a signal."""
        self.came.append(number)


@contextmanager
def defer_signals(*, then_ignored: bool = False) -> Iterator[None]:
    """Defer signals until the block has ended or failed.

    If `then_ignored` and the block did not fail, deferred and later signals do nothing:
    the requested work is done.  Processes that start later do receive signals.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # signals reach the main thread only
        return
    waiting = DeferredSignals()
    guardian.send_message("hold")
    before = {
        n: h for n in _deferred_numbers() if (h := signal.getsignal(n)) not in _UNHELD
    }
    try:
        for number in before:
            signal.signal(number, waiting)
        yield
        if then_ignored:
            before = dict.fromkeys(before, DeferredSignals())
    finally:
        for number, handler in reversed(before.items()):
            signal.signal(number, handler)
        guardian.send_message("free")
        for number in waiting.came:
            signal.raise_signal(number)


@dataclass(frozen=True)
class Result:
    """Actions of a command as its files get their names, while signals are deferred.

    Parameters
    ----------
    begin
        Called before; raises an earlier interrupt that was lost.
    finish
        Called once the files have their names.
    is_last
        Whether all work is then done, so that later signals do nothing.
    """

    begin: Callable[[], None]
    finish: Callable[[], None]
    is_last: bool


RESULT: ContextVar[Result | None] = ContextVar("result", default=None)


@contextmanager
def names_given() -> Iterator[None]:
    """Defer signals while files get their names, and call the command's `RESULT`."""
    result = RESULT.get()
    if result is None:
        with defer_signals():
            yield
        return
    with defer_signals(then_ignored=result.is_last):
        result.begin()
        yield
        result.finish()


def _deferred_numbers() -> list[int]:
    return [number for name in _NAMES if (number := getattr(signal, name, None))]


Made = TypeVar("Made")


def finish_despite_interrupt(make: Callable[[], Made]) -> tuple[Made, bool]:
    """Return `make()`, called again if Ctrl-C interrupts it, and whether it did."""
    try:
        return make(), False
    except KeyboardInterrupt:
        return make(), True
