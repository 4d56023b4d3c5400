"""Ctrl-C and SIGTERM, which reach the command even if their exception is lost.

An exception of a handler is printed and lost if it is raised while an object is
deleted, or within a callback of a C library.  So the command also notes that Ctrl-C was
pressed, and checks the note at each step, before files appear, and at its end.

Signals that arrive while a solver does not return to Python: Python runs a handler
between its own instructions, and a library may take minutes for one of them.  The
number of each signal is written to a pipe at once.  The guardian reads it and hands it
on to a thread, which ends the process if no handler ran.  If a library keeps the
interpreter's lock, that thread cannot run either, and the guardian kills the process.
"""

import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from math import inf
from types import FrameType

from aggopt.command.causes import BY_SIGNAL
from aggopt.command.log import log
from aggopt.core import guardian
from aggopt.core.deferred_signals import RESULT, DeferredSignals, Result
from aggopt.release.files.staging import remove_staged

EXIT = BY_SIGNAL + signal.SIGINT
_ENDING = ("SIGTERM", "SIGHUP", "SIGQUIT")
NO_RELEASE = "no release was written"
RELEASED = "the release is written"
READS = 1.0  # seconds that standard error may take to be read, if it is full
_SHOWN = b"\x1b[?25h"  # the cursor, which a progress bar hides


class Interrupts:
    """How often Ctrl-C came; the second time ends the command at once.

    Attributes
    ----------
    count
        How often Ctrl-C was pressed.
    ending
        The number of another signal that ends the command; 0 before.
    is_done
        Whether the last files of the command have their names.
    advice
        Advice on an interrupted command, if running it again does not help.
    handled_at
        When the handler of each signal last ran, by time.monotonic().
    """

    def __init__(self) -> None:
        self.count = 0
        self.ending = 0
        self._outcome = NO_RELEASE
        self.is_done = False
        self.advice = ""
        self.handled_at: dict[int, float] = {}

    @property
    def outcome(self) -> str:
        """The outcome if the command is interrupted; the guardian has it, too."""
        return self._outcome

    @outcome.setter
    def outcome(self, outcome: str) -> None:
        self._outcome = outcome
        guardian.send_message(
            "sentence", os.fsdecode(_format_sentence("Interrupted", outcome))
        )

    def register_handlers(self) -> None:
        """Heed what ends a command from here on, so that files are tidied.

        Ignored signals, as under nohup, and a Ctrl-C handled elsewhere stay so.
        """
        self.is_done = False
        self.count = 0
        self.ending = 0
        self.outcome = NO_RELEASE
        self.advice = ""
        self.handled_at = {}
        if signal.getsignal(signal.SIGINT) in (
            signal.default_int_handler,
            self._count_interrupt,
        ):
            self._register_handler(signal.SIGINT, self._count_interrupt)
        for number in (getattr(signal, name, None) for name in _ENDING):
            if number and signal.getsignal(number) is not signal.SIG_IGN:
                self._register_handler(number, self._exit_by_signal)

    def exit_by_lost_signal(self, number: int) -> None:
        """End at once, by a signal that reached no handler."""
        if number == signal.SIGINT:
            _exit_at_once("Interrupted", self.outcome)
        remove_staged()
        name = signal.Signals(number).name
        log.close(BY_SIGNAL + number, f"Ended by {name}: {self.outcome}.")
        os._exit(BY_SIGNAL + number)

    def forget_signals(self) -> None:
        """Forget the signals of this command, and ignore others if it is done.

        The interpreter undoes all other handlers when it ends.  If all files of the
        command have their names, its exit code must show it.
        """
        self.count = 0
        self.ending = 0
        if self.is_done:
            for number in self.handled_at:
                signal.signal(number, signal.SIG_IGN)

    def _register_handler(self, number: int, handler: Callable[..., None]) -> None:
        self.handled_at[number] = -inf
        signal.signal(number, handler)

    def _exit_by_signal(self, number: int, frame: FrameType | None) -> None:
        self.handled_at[number] = time.monotonic()
        self.ending = number
        sys.exit(BY_SIGNAL + number)

    def raise_missed(self) -> None:
        """Raise again what came and was lost.

        Raises
        ------
        KeyboardInterrupt
            Ctrl-C came.
        SystemExit
            Another signal that ends the command came.
        """
        if self.ending:
            sys.exit(BY_SIGNAL + self.ending)
        if self.count:
            raise KeyboardInterrupt

    @contextmanager
    def announce_result(self, outcome: str, *, is_last: bool = True) -> Iterator[None]:
        """Say `outcome` as soon as files that are written within have their names.

        If it `is_last`, all is done then: signals do nothing from there on, and what
        came before and was lost is raised before the files have their names.
        """

        def finish() -> None:
            self.is_done = is_last
            self.outcome = outcome

        def begin() -> None:
            if is_last:
                self.raise_missed()

        token = RESULT.set(Result(begin, finish, is_last))
        try:
            yield
        finally:
            RESULT.reset(token)

    def _count_interrupt(self, number: int, frame: FrameType | None) -> None:
        self.handled_at[number] = time.monotonic()
        if frame is not None:  # else it comes again, by `reraise_interrupts`
            self.count += 1
        if self.count > 1:
            _exit_at_once("Interrupted twice", self.outcome)
        raise KeyboardInterrupt


def _exit_at_once(why: str, outcome: str) -> None:
    """End here and now; no file of a release stays."""
    remove_staged()
    if os.name == "nt" or select.select([], [2], [], READS)[1]:
        os.write(2, _format_sentence(why, outcome))
    log.close(EXIT, f"{why}: ended at once, {outcome}.")
    os._exit(EXIT)


def _format_sentence(why: str, outcome: str) -> bytes:
    """Return the last line of an interrupted command, as bytes."""
    shown = _SHOWN if sys.stderr.isatty() else b""
    return shown + f"{why}: ended at once, {outcome}.\n".encode()


interrupts = Interrupts()


GRACE = 1.0  # seconds in which Python runs a handler, unless a library keeps it
STEP = 0.02  # seconds between looks at whether one ran


@contextmanager
def monitor_signals(
    handled_at: Mapping[int, float], end: Callable[[int], None], grace: float = GRACE
) -> Iterator[None]:
    """Call `end`, from a thread, with each signal that no handler takes in time.

    `handled_at` is the time of the last run of a signal's handler, by time.monotonic().
    While files are named, or have been, nothing is ended: signals wait then.
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

    A handler may run before the thread reads its signal.
    """
    waits = isinstance(signal.getsignal(number), DeferredSignals)
    return not waits and number in handled_at and handled_at[number] < since
