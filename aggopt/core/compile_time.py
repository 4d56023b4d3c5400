"""Time that compiling takes: no limit of time counts it, and the command shows it.

Importing this imports no compiler.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

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
