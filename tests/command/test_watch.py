"""What no handler hears ends the command, and nothing else does."""

import signal
import threading
import time
from math import inf

import pytest

from aggopt.command.interrupt import monitor_signals
from aggopt.core.deferred_signals import DeferredSignals

NUMBER, LAST = signal.SIGTERM, signal.SIGHUP
GRACE = 0.3


def endings_of(heard, handler) -> list[int]:
    """Return which of two signals ended it: the last one has no handler that hears."""
    ended, over = [], threading.Event()

    def end(number: int) -> None:
        ended.append(number)
        if number == LAST:
            over.set()

    signal.signal(NUMBER, handler)
    signal.signal(LAST, lambda *_: None)
    with monitor_signals(heard, end, GRACE):
        signal.raise_signal(NUMBER)
        signal.raise_signal(LAST)
        over.wait()
    return ended


@pytest.mark.parametrize(
    ("hears", "known", "ends"),
    [(False, True, [NUMBER]), (True, True, []), (False, False, [])],
)
def test_a_signal_ends_what_does_not_hear_it(hears, known, ends) -> None:
    heard = {NUMBER: -inf, LAST: -inf} if known else {LAST: -inf}

    def handler(*_: object) -> None:
        if hears:
            heard[NUMBER] = time.monotonic()

    assert endings_of(heard, handler) == [*ends, LAST]


def test_a_signal_that_waits_for_files_ends_nothing() -> None:
    heard = {NUMBER: -inf, LAST: -inf}
    assert endings_of(heard, DeferredSignals()) == [LAST]


def test_what_comes_at_the_end_ends_nothing_and_nothing_is_left() -> None:
    ended, before = [], {*threading.enumerate()}
    signal.signal(NUMBER, lambda *_: None)
    with monitor_signals({NUMBER: -inf}, ended.append, grace=3600.0):
        (listener,) = {*threading.enumerate()} - before
        signal.raise_signal(NUMBER)
    listener.join()
    assert ended == []
    assert signal.set_wakeup_fd(-1) == -1


def test_another_thread_leaves_signals_to_the_main_one() -> None:
    seen = []

    def work() -> None:
        with monitor_signals({NUMBER: -inf}, seen.append):
            seen.append(signal.getsignal(NUMBER))

    other = threading.Thread(target=work)
    other.start()
    other.join()
    assert seen == [signal.getsignal(NUMBER)]
