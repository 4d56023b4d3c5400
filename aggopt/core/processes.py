"""Work spread over processes, each result as soon as its task ends."""

import os
import pickle
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any, TypeVar

from aggopt.errors import EngineError

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


Part = TypeVar("Part")
Made = TypeVar("Made")


def run_in_processes(
    task: Callable[[Part], Made], parts: Iterable[Part], jobs: int
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
