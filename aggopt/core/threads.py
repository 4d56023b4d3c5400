"""A thread pool with a deadline."""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed, wait
from typing import TypeVar

from aggopt.core.deadline import Deadline, Progress
from aggopt.core.validation import is_whole_number
from aggopt.errors import JobError

Part = TypeVar("Part")
Done = TypeVar("Done")


def ignore_progress(share: float) -> None:
    """Do nothing: the progress callback of work that reports none."""


class ThreadPool:
    """A thread pool of `jobs` threads and a deadline; a context manager.

    The result of a part must not depend on other parts: then it does not depend on the
    number of threads either.  Kernels release the interpreter lock.
    """

    def __init__(self, jobs: int | None = None, seconds: float | None = None) -> None:
        self.jobs = _check_jobs(jobs)
        self._pool = ThreadPoolExecutor(self.jobs, "aggopt")
        self.clock = Deadline(seconds)

    def __enter__(self) -> "ThreadPool":
        return self

    def __exit__(self, *error: object) -> None:
        self._pool.shutdown(cancel_futures=True)

    def map(
        self,
        task: Callable[[Part], Done],
        parts: Iterable[Part],
        progress: Progress = ignore_progress,
    ) -> list[Done]:
        """Return the task's result for each part, in the order of the parts.

        `progress` is called in this thread with the share done so far.  An error there,
        or Ctrl-C, ends the work: running parts find their deadline passed, no other
        starts, and no thread is running when the error is raised.
        """
        futures = []
        try:
            for part in parts:
                futures.append(self._pool.submit(task, part))
            for done, future in enumerate(as_completed(futures), 1):
                future.result()
                progress(done / len(futures))
        except BaseException:
            self.clock.seconds = 0.0
            for future in futures:
                future.cancel()
            wait(futures)
            raise
        return [future.result() for future in futures]


def _check_jobs(jobs: object) -> int:
    if jobs is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    if not is_whole_number(jobs) or jobs < 1:
        raise JobError(
            f"jobs = {jobs}.",
            fix="pass the number of threads, 1 or more, or leave it out.",
        )
    return int(jobs)
