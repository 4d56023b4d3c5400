"""Progress of a task, reported to the process that waits for the step.

A task in this process reports it at once.  A task in another process writes it next to
the scratch files, and the waiting process reads it from time to time.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from time import monotonic

OnProgress = Callable[[float], None]
EVERY = 1.0  # seconds between two looks, and at least between two notes
_NAME = "share-"
_ON_PROGRESS: ContextVar[OnProgress | None] = ContextVar("on_progress", default=None)


@contextmanager
def report_to(on_progress: OnProgress) -> Iterator[None]:
    """Call `on_progress` with the share that the current task has done."""
    before = _ON_PROGRESS.set(on_progress)
    try:
        yield
    finally:
        _ON_PROGRESS.reset(before)


@contextmanager
def write_progress_in(folder: Path, number: int) -> Iterator[None]:
    """Write progress to a folder, unless a callback in this process receives it."""
    if _ON_PROGRESS.get() is not None:
        yield
        return
    with report_to(_make_writer(folder / f"{_NAME}{number}")):
        yield


def report_task_share(share: float) -> None:
    """Report the completed share of the task that is running, if any is."""
    on_progress = _ON_PROGRESS.get()
    if on_progress is not None:
        on_progress(share)


def make_phase_progress(count: int) -> OnProgress:
    """Return a progress callback for a task whose share rises this many times.

    >>> with report_to(print):
    ...     on_progress = make_phase_progress(2)
    ...     for share in (0.0, 1.0, 0.5):
    ...         on_progress(share)
    0.0
    0.5
    0.75
    """
    phase, last = 0, 0.0

    def on_progress(share: float) -> None:
        nonlocal phase, last
        if share < last:
            phase = min(phase + 1, count - 1)
        last = share
        report_task_share((phase + share) / count)

    return on_progress


def sum_shares(folder: Path, numbers: Iterable[int]) -> float:
    """Return the sum of what tasks of these numbers have noted."""
    return sum(map(_read_share, (folder / f"{_NAME}{number}" for number in numbers)))


def remove_shares(folder: Path) -> None:
    """Remove what tasks of an earlier step have noted."""
    for path in folder.glob(f"{_NAME}*"):
        path.unlink(missing_ok=True)


def _make_writer(to: Path) -> OnProgress:
    last = monotonic()

    def write(share: float) -> None:
        nonlocal last
        if monotonic() - last >= EVERY:
            with suppress(OSError):  # of a full disk: the task itself will raise it
                to.write_text(f"{share:.4f}")
            last = monotonic()

    return write


def _read_share(path: Path) -> float:
    try:
        return float(path.read_text())
    except (OSError, ValueError):  # nothing yet, or half of it
        return 0.0
