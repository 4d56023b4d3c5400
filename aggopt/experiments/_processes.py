"""Work spread over processes, one result after the other as it is done."""

from collections.abc import Callable, Generator, Iterable
from typing import TypeVar

from aggopt.core.validation import is_whole
from aggopt.errors import JobError

Part = TypeVar("Part")
Made = TypeVar("Made")


def require_jobs(jobs: object) -> None:
    """Refuse what is no number of processes.

    Raises
    ------
    JobError
        It is 0, or not a whole number.
    """
    if not is_whole(jobs) or jobs == 0:
        raise JobError(f"jobs = {jobs}.", fix="name a number of processes, or -1.")


def results(
    task: Callable[[Part], Made], parts: Iterable[Part], jobs: int
) -> Generator[Made]:
    """Yield the task's result for each part, in the order in which they are done.

    `jobs` processes get parts through pipes, not files; -1 is one per core, and 1 is
    this process.
    """
    from joblib import Parallel, delayed

    run = Parallel(
        n_jobs=jobs,
        return_as="generator_unordered",
        max_nbytes=None,
        batch_size=1,  # else several short tasks are handed back, or lost, at once
    )
    yield from run(delayed(task)(part) for part in parts)
