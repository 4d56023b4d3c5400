"""Reports of progress, passed on from the parts of a work to whoever asked."""

from aggopt.partition._pool import REPORTS, Progress


def rarely(progress: Progress | None) -> Progress:
    """Return what may be told as often as one likes, and passes on a few dozen."""
    reported = -1.0

    def report(share: float) -> None:
        nonlocal reported
        if progress and share >= reported + 1 / REPORTS:
            reported = share
            progress(share)

    return report


def part(progress: Progress, begin: float, end: float) -> Progress:
    """Return the progress of a part of the work, from share `begin` to share `end`."""
    return lambda share: progress(begin + (end - begin) * share)
