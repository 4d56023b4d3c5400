"""What no handler hears ends the command, and nothing else does."""

import signal
import threading
import time
from math import inf

import pytest

from aggopt.command.watch import watched
from aggopt.core.signals import Waiting

NUMBER = signal.SIGTERM
GRACE = 0.05


@pytest.mark.parametrize(
    ("hears", "known", "ends"),
    [(False, True, [NUMBER]), (True, True, []), (False, False, [])],
)
def test_a_signal_ends_what_does_not_hear_it(hears, known, ends) -> None:
    heard, ended = {NUMBER: -inf} if known else {}, []

    def handler(*_: object) -> None:
        if hears:
            heard[NUMBER] = time.monotonic()

    signal.signal(NUMBER, handler)
    with watched(heard, ended.append, GRACE):
        signal.raise_signal(NUMBER)
        time.sleep(6 * GRACE)
    assert ended == ends


def test_a_signal_that_waits_for_files_ends_nothing() -> None:
    ended: list[int] = []
    signal.signal(NUMBER, Waiting())
    with watched({NUMBER: -inf}, ended.append, GRACE):
        signal.raise_signal(NUMBER)
        time.sleep(6 * GRACE)
    assert ended == []


def test_what_comes_at_the_end_ends_nothing_and_nothing_is_left() -> None:
    ended, before = [], {*threading.enumerate()}
    signal.signal(NUMBER, lambda *_: None)
    with watched({NUMBER: -inf}, ended.append, GRACE):
        signal.raise_signal(NUMBER)
    time.sleep(6 * GRACE)
    assert ended == []
    assert {*threading.enumerate()} <= before  # another test's may have ended
    assert signal.set_wakeup_fd(-1) == -1


def test_another_thread_leaves_signals_to_the_main_one() -> None:
    seen = []

    def work() -> None:
        with watched({NUMBER: -inf}, seen.append):
            seen.append(signal.getsignal(NUMBER))

    other = threading.Thread(target=work)
    other.start()
    other.join()
    assert seen == [signal.getsignal(NUMBER)]
