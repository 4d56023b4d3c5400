"""Heed an interrupt that comes while a solver runs, or hold it while files are named.

Some solvers catch what is raised within their callbacks, an interrupt among it, and go
on to the end; what they return then must not be taken for an answer.  The compiler's
callbacks, and what runs when an object dies, lose it with a line on standard error.
"""

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import FrameType
from typing import Any

from aggopt.core import guardian

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT")
_UNHELD = (None, signal.SIG_IGN)  # not made in Python, or ignored anyway


@contextmanager
def reraise_interrupts() -> Iterator[None]:
    """Raise at the end what a signal raised within, should it have been caught.

    It goes before what failed because of it, such as the compiler's "RuntimeError".
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
            signal.signal(number, handler)
        if sys.exception() not in [raised for _, _, raised in came]:
            for handler, number, _ in came:
                handler(number, None)


class DeferredSignals:
    """A handler that only notes what came.

    SIG_IGN in its place would be handed on to all that this process starts.
    """

    def __init__(self) -> None:
        self.came: list[int] = []

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Note it."""
        self.came.append(number)


@contextmanager
def defer_signals(*, then_ignored: bool = False) -> Iterator[None]:
    """Let signals wait until what is done within is done, or has failed.

    If `then_ignored`, and it did not fail, they do nothing from here on, those that
    waited too: what was asked for is done.  Processes that start later hear them.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # signals reach the main thread only
        return
    waiting = DeferredSignals()
    guardian.tell("hold")
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
        guardian.tell("free")
        for number in waiting.came:
            signal.raise_signal(number)


@dataclass(frozen=True)
class Result:
    """What a command does as its files get their names, while signals wait.

    Parameters
    ----------
    begin
        Called before; raises what came earlier and was lost.
    finish
        Called once the files have their names.
    is_last
        Whether all is done then, so that signals do nothing from there on.
    """

    begin: Callable[[], None]
    finish: Callable[[], None]
    is_last: bool


RESULT: ContextVar[Result | None] = ContextVar("result", default=None)


@contextmanager
def names_given() -> Iterator[None]:
    """Let signals wait while files get their names, and the command say so at once."""
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
