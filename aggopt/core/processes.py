"""Work spread over processes, each result as soon as its task ends."""

import pickle
import warnings
from collections.abc import Callable, Generator, Iterable
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar

from aggopt.core.safe_path import exclude_working_directory
from aggopt.errors import EngineError

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
        made = run(delayed(_run_packed)(each) for each in packed)
        try:
            for each in made:  # noqa: UP028  by it `made` would be closed outside
                yield each
        except BrokenProcessPool:
            raise EngineError(
                "A process ended before its task did.",
                fix="look whether the system ends processes for want of memory, and "
                "use fewer of them (jobs).",
            ) from None
        finally:
            with warnings.catch_warnings():  # an early stop has a reason
                warnings.simplefilter("ignore", UserWarning)
                made.close()


def _run_packed(packed: bytes) -> Any:
    """Return the result of a task for a part.

    The part is unpacked here, not in the queue.  So a refusal to load changed user code
    is reported as any other error.
    """
    task, part = pickle.loads(packed)
    return task(part)
