"""Code that never returns, and HiGHS that does not: what the tests of limits share."""

import collections
import ctypes
import itertools
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

HIGHS = """
import ctypes, os, sys, time
from pathlib import Path

sys.path.remove(os.path.dirname(__file__))
del sys.modules["highspy"]
import highspy

run, calls = highspy.Highs.run, []
hangs, after = {hangs!r}, {after}

def hang(highs):
    calls.append(1)
    if len(calls) <= after:
        return run(highs)
    if hangs == "sleeps":
        time.sleep(1e6)
    if hangs == "keeps the lock":
        ctypes.PyDLL(None).pause()
    if hangs == "frees the lock":
        ctypes.CDLL(None).pause()
    if hangs == "aborts":
        os.abort()
    while True:
        os.write(1, b"A line of HiGHS." * 50)

highspy.Highs.run = hang
"""


def ways(*after: int) -> list[Any]:
    """Return how HiGHS hangs, and after how many solves; all but the first are slow."""
    first, *others = [("keeps the lock", count) for count in after]
    others += [(hangs, 0) for hangs in ("sleeps", "frees the lock", "prints")]
    return [first, *(pytest.param(*each, marks=pytest.mark.slow) for each in others)]


def hang_highs(folder: Path, monkeypatch, hangs: str, after: int = 0) -> None:
    """Let HiGHS hang in processes that start from here on, after so many solves."""
    pytest.importorskip("highspy")  # the true one, in this process
    (folder / "highspy.py").write_text(HIGHS.format(hangs=hangs, after=after))
    monkeypatch.syspath_prepend(folder)


def sleeps(model, data, *, time_limit=None):
    time.sleep(1e6)


def keeps_the_lock(model, data, *, time_limit=None):
    collections.deque(itertools.repeat(1), maxlen=0)  # for ever, in compiled code


def frees_the_lock(model, data, *, time_limit=None):
    ctypes.CDLL(None).pause()


def ignores_its_limit(model, data, *, time_limit=None):
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    while True:
        pass


def prints(model, data, *, time_limit=None):
    while True:
        print("A line of a solver." * 50)


def eats_memory(model, data, *, time_limit=None):
    blocks = []
    while True:
        try:
            blocks.append(bytearray(1 << 24))
        except MemoryError:
            time.sleep(0.01)


def aborts(model, data, *, time_limit=None):
    os.abort()


def runs_out():
    raise MemoryError


def is_killed(kills, count):
    kills.write_text(f"oom_kill {count}\n")
    os.kill(os.getpid(), signal.SIGKILL)


SOLVERS = (
    sleeps,
    keeps_the_lock,
    frees_the_lock,
    ignores_its_limit,
    prints,
    eats_memory,
)
