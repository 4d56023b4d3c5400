"""Deadlines, progress callbacks, and the time of compiling, which no limit counts."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from aggopt.core.validation import is_number, is_whole_number
from aggopt.errors import JobError

Listener = Callable[[str | None], None]


@dataclass
class CompileClock:
    """Counts of kernels, and a clock that stops while kernels compile.

    Attributes
    ----------
    kernels, compiled
        Number of imported kernels, and number of compiled kernels.
    homeless
        Number of kernels without a cache folder for later processes.
    listener
        Called with the part of the package whose kernel is compiled as one begins,
        and with None when nothing compiles any more.
    """

    kernels: int = 0
    compiled: int = 0
    homeless: int = 0
    listener: Listener | None = None
    _depth: int = 0  # kernels compile within others, and in several threads
    _began: float = 0.0
    _spent: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def now(self) -> float:
        """Return the seconds of a clock that stops while kernels compile."""
        with self._lock:
            at = self._began if self._depth else time.perf_counter()
            return at - self._spent

    @contextmanager
    def passing(self) -> Iterator[None]:
        """Stop the clock within the block."""
        with self._lock:
            if self._depth == 0:
                self._began = time.perf_counter()
            self._depth += 1
        try:
            yield
        finally:
            with self._lock:
                self._depth -= 1
                if self._depth == 0:
                    self._spent += time.perf_counter() - self._began

    def begin(self, part: str) -> None:
        """Note that a kernel of a part of the package is compiled, not read."""
        self.compiled += 1
        if self.listener is not None:
            self.listener(part)

    def end(self) -> None:
        """Note that it is."""
        if self.listener is not None and self._depth <= 1:
            self.listener(None)

    @contextmanager
    def reported_to(self, listener: Listener) -> Iterator[None]:
        """Report kernels that compile within the block to a listener."""
        before = self.listener
        self.listener = listener
        try:
            yield
        finally:
            self.listener = before


compile_time = CompileClock()


Progress = Callable[[float], None]

REPORTS = 32  # calls, about: enough for a smooth bar, too few to cost time


def require_progress(
    progress: object, argument: str = "the share that is done"
) -> None:
    """Raise unless `progress` is None or callable, with `argument` in the message."""
    if progress is not None and not callable(progress):
        raise JobError(
            f"progress is of type {type(progress).__name__}, which cannot be called.",
            fix=f"pass a function of {argument}, such as print, or None.",
        )


def progress_part(progress: Progress, begin: float, end: float) -> Progress:
    """Return the callback of a part of the work, from share `begin` to `end`."""
    return lambda share: progress(begin + (end - begin) * share)


def throttle(progress: Progress | None) -> Progress:
    """Return a throttled callback, which passes on a few dozen calls."""
    require_progress(progress)
    reported = -1.0

    def report(share: float) -> None:
        nonlocal reported
        if progress and share >= min(reported + 1 / REPORTS, 1.0):
            reported = share
            progress(share)

    return report


MOST = int(sys.float_info.max)  # whole numbers beyond have no float
ENDLESS = "in place of no limit name as long a time as you would wait"
LONGEST = 600.0  # seconds: default limit of searches that may never end


def require_time_limit(seconds: object) -> None:
    """Raise unless a time limit is None or a finite number from 0 up."""
    if seconds is None:
        return
    large = is_whole_number(seconds) and abs(seconds) > MOST
    if not large and is_number(seconds) and 0 <= seconds < np.inf:  # type: ignore[operator]
        return
    received = "a whole number that no float holds" if large else quote_limit(seconds)
    fix = f"pass a number from 0 up, or None; {ENDLESS}."
    raise JobError(f"time_limit = {received}.", fix=fix)


def quote_limit(seconds: object) -> str:
    """Return a limit as the caller wrote it: text in quotes."""
    return repr(seconds) if isinstance(seconds, str) else str(seconds)


class EndRequest:
    """A flag without a lock: a signal may interrupt a thread in any of its methods."""

    def __init__(self) -> None:
        self._is_set = False

    def is_set(self) -> bool:
        """Whether searches were requested to end."""
        return self._is_set

    def set(self) -> None:
        """Request that searches end."""
        self._is_set = True

    def clear(self) -> None:
        """Withdraw the request."""
        self._is_set = False


# While it is set, the time of each deadline in this process is over: searches end with
# their best groups so far, as at a time limit.  The function that sets it clears it.
end_request = EndRequest()


@dataclass
class Deadline:
    """A time limit in seconds since the start, with a progress callback.

    It does not count the time that kernels take to compile.  `end_request` ends it.
    """

    seconds: float | None
    progress: Progress | None = None
    started: float = field(default_factory=compile_time.now)

    def __post_init__(self) -> None:
        require_progress(self.progress)

    @property
    def spent(self) -> float:
        """Seconds since the start."""
        return compile_time.now() - self.started

    @property
    def left(self) -> float:
        """Remaining seconds, inf without a limit."""
        left = np.inf if self.seconds is None else self.seconds - self.spent
        return min(left, 0.0) if end_request.is_set() else left

    @property
    def over(self) -> bool:
        """Whether the time is up."""
        return self.left <= 0

    def report(self, share: float) -> None:
        """Call the progress callback, if any, with the share that is done."""
        if self.progress is not None:
            self.progress(min(1.0, share))
