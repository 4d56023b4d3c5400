"""Reports of progress, passed on from the parts of a work to whoever asked."""

from aggopt.partition._pool import Progress


def part(progress: Progress, begin: float, end: float) -> Progress:
    """Return the progress of a part of the work, from share `begin` to share `end`."""
    return lambda share: progress(begin + (end - begin) * share)
