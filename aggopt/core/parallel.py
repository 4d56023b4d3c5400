"""Work spread over processes, or over threads with a deadline."""

import os
import pickle
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any, TypeVar

from aggopt.core.deadline import Deadline, Progress
from aggopt.core.validation import is_whole_number
from aggopt.errors import EngineError, JobError

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


NAME = "PYTHONSAFEPATH"  # as Python's option -P, also for child processes


@contextmanager
def exclude_working_directory() -> Iterator[None]:
    """Keep child processes of the block from importing the working directory."""
    before = os.environ.get(NAME)
    os.environ[NAME] = "1"
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(NAME, None)
        else:
            os.environ[NAME] = before


Task = TypeVar("Task")
Made = TypeVar("Made")


def run_in_processes(
    task: Callable[[Task], Made], parts: Iterable[Task], jobs: int
) -> Generator[Made]:
    """Yield the task's result for each part, in the order of completion.

    `jobs` processes get parts through pipes, not files; -1 is one per core, and 1 is
    this process.

    Raises
    ------
    UntrustedCodeError
        A file of code that a part names has changed since it was trusted.
    EngineError
        A process ended before its task did.
    """
    from joblib import Parallel, delayed
    from joblib.externals.loky.backend.reduction import dumps

    run = Parallel(
        n_jobs=jobs,
        return_as="generator_unordered",
        max_nbytes=None,
        batch_size=1,  # else several short tasks are handed back, or lost, at once
    )
    if jobs == 1:
        yield from run(delayed(task)(part) for part in parts)
        return
    packed = (bytes(dumps((task, part))) for part in parts)
    with exclude_working_directory():
        outcomes = run(delayed(_run_packed)(job) for job in packed)
        try:
            for job in outcomes:  # noqa: UP028  by it `made` would be closed outside
                yield job
        except BrokenProcessPool:
            raise EngineError(
                "A process ended before its task did.",
                fix="look whether the system ends processes for want of memory, and "
                "use fewer of them (jobs).",
            ) from None
        finally:
            with warnings.catch_warnings():  # an early stop has a reason
                warnings.simplefilter("ignore", UserWarning)
                outcomes.close()


def _run_packed(packed: bytes) -> Any:
    """Return the result of a task for a part.

    The part is unpacked here, not in the queue.  So a refusal to load changed user code
    is reported as any other error.
    """
    task, part = pickle.loads(packed)
    return task(part)
