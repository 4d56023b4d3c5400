"""Threads that share the parts of one task."""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed, wait
from typing import TypeVar

from aggopt.core.deadline import Clock
from aggopt.core.progress import Progress
from aggopt.core.validation import is_whole
from aggopt.errors import JobError

Part = TypeVar("Part")
Done = TypeVar("Done")


def ignored(share: float) -> None:
    """Tell nobody."""


class Crew:
    """Threads, as many as there are jobs, and the time they have; use it in `with`.

    What comes of a part may not depend on other parts: then it does not depend on the
    number of threads either.  Kernels let go of the interpreter, so that several run.
    """

    def __init__(self, jobs: int | None = None, seconds: float | None = None) -> None:
        self.jobs = _checked(jobs)
        self._pool = ThreadPoolExecutor(self.jobs, "aggopt")
        self.clock = Clock(seconds)

    def __enter__(self) -> "Crew":
        return self

    def __exit__(self, *error: object) -> None:
        self._pool.shutdown(cancel_futures=True)

    def each(
        self,
        task: Callable[[Part], Done],
        parts: Iterable[Part],
        told: Progress = ignored,
    ) -> list[Done]:
        """Return what the task makes of each part, in the order of the parts.

        `told` hears in this thread of the share that is done.  What it raises, and
        Ctrl-C, end the work: the clock runs out for the parts that have begun, no other
        begins, and nothing is running any more when the error arrives.
        """
        futures = []
        try:
            for part in parts:
                futures.append(self._pool.submit(task, part))
            for done, future in enumerate(as_completed(futures), 1):
                future.result()
                told(done / len(futures))
        except BaseException:
            self.clock.seconds = 0.0
            for future in futures:
                future.cancel()
            wait(futures)
            raise
        return [future.result() for future in futures]


def _checked(jobs: object) -> int:
    if jobs is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    if not is_whole(jobs) or jobs < 1:
        raise JobError(
            f"jobs = {jobs}.",
            fix="pass how many threads may work at once, 1 or more, or leave it out.",
        )
    return int(jobs)
