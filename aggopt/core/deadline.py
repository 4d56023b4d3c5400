"""Time that is left for a search, and who is told how far it is."""

import sys
import time
from dataclasses import dataclass, field

import numpy as np

from aggopt.core.progress import Progress, require_progress
from aggopt.core.validation import is_number, is_whole
from aggopt.errors import JobError

MOST = int(sys.float_info.max)
LONGEST = 600.0  # seconds, where none are named, of a search that may never end


def require_seconds(seconds: object) -> None:
    """Refuse a time that is neither None nor a finite number from 0 up."""
    if seconds is None:
        return
    large = is_whole(seconds) and abs(seconds) > MOST
    if not large and is_number(seconds) and 0 <= seconds < np.inf:  # type: ignore[operator]
        return
    seen = "a whole number that no float holds" if large else seconds
    raise JobError(f"seconds = {seen}.", fix="pass a number from 0 up, or None.")


@dataclass
class Clock:
    """Time that is left, and who is told how much of the work is done."""

    seconds: float | None
    progress: Progress | None = None
    started: float = field(default_factory=time.perf_counter)

    def __post_init__(self) -> None:
        require_progress(self.progress)

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
