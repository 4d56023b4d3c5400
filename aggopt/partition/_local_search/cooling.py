"""Adaptive batch sizes, and falling temperatures."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from aggopt.core.compile_time import compile_time
from aggopt.core.deadline import Deadline
from aggopt.core.validation import Floats

PORTION = 0.05  # seconds between two checks of the clock and of Ctrl-C, roughly
COUNT = 64  # in the first portion


class Batch:
    """Batch size that grows or shrinks until a batch takes PORTION seconds."""

    def __init__(self) -> None:
        self.count = COUNT

    def __enter__(self) -> None:
        self._started = compile_time.now()

    def __exit__(self, *_: object) -> None:
        spent = compile_time.now() - self._started
        if spent < PORTION / 2:
            self.count *= 2
        elif spent > 2 * PORTION:
            self.count = max(1, self.count // 2)


class Cooling(NamedTuple):
    """Temperatures at the beginning and at the end of a search."""

    begin: float
    end: float

    def at(self, done: Floats) -> Floats:
        """Return the temperatures at completed shares: they fall geometrically."""
        return np.asarray(self.begin * (self.end / self.begin) ** done)


def compute_shares(done: npt.ArrayLike, clock: Deadline) -> Floats:
    """Return the completed shares, of the work or of the time."""
    spent = clock.spent / clock.seconds if clock.seconds else 0.0
    return np.clip(done, spent, 1.0)
