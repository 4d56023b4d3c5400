"""Progress callbacks: for parts of a computation, and throttled."""

from collections.abc import Callable

from aggopt.errors import JobError

Progress = Callable[[float], None]

REPORTS = 32  # calls, about: enough for a smooth bar, too few to cost time


def require_progress(progress: object, what: str = "the share that is done") -> None:
    """Raise unless `progress` is None or callable; `what` is its argument, in words."""
    if progress is not None and not callable(progress):
        raise JobError(
            f"progress is of type {type(progress).__name__}, which cannot be called.",
            fix=f"pass a function of {what}, such as print, or None.",
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
