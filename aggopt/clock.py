"""Time that is left for a search, and who is told how far it is."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

Progress = Callable[[float], None]


@dataclass
class Clock:
    """Time that is left, and who is told how much of the work is done."""

    seconds: float | None
    progress: Progress | None = None
    started: float = field(default_factory=time.perf_counter)

    @property
    def spent(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self.started

    @property
    def left(self) -> float:
        """Seconds that are left, inf without a limit."""
        return np.inf if self.seconds is None else self.seconds - self.spent

    @property
    def over(self) -> bool:
        """Whether no time is left."""
        return self.left <= 0

    def tell(self, share: float) -> None:
        """Tell who asked for it that this share is done."""
        if self.progress is not None:
            self.progress(min(1.0, share))
