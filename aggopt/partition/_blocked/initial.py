"""The groups to begin with: those of blocks, each partitioned by itself."""

import numpy as np

from aggopt.core.progress import Progress
from aggopt.core.threads import ThreadPool
from aggopt.core.validation import Floats, Labels, is_whole
from aggopt.errors import JobError
from aggopt.partition._blocked.regions import firsts
from aggopt.partition._neighbours.spatial_order import parts
from aggopt.partition._registry import Divide, divide_of, inner_methods

BLOCK, GROUPS = 1000, 20  # records of a block, or so many times k


def block_size_of(asked: object, k: int) -> int:
    """Return how many records a block has at most, as asked if anything was."""
    if asked is None:
        return max(BLOCK, GROUPS * k)
    if not is_whole(asked) or asked < 2 * k:
        raise JobError(
            f"block_size = {asked}, and k = {k}.",
            fix=f"pass a whole number of at least 2 k = {2 * k}, a thousand or more "
            "if there are that many records, or leave it out.",
        )
    return int(asked)


def require_region_size(size: object) -> None:
    """Refuse what is no size of a region."""
    if size is not None and not (is_whole(size) and size >= 1):
        raise JobError(
            f"region_size = {size}.", fix="pass a whole number from 1 up, or None."
        )


def in_blocks(
    rows: Floats,
    k: int,
    inner: str | Divide,
    size: int,
    threads: ThreadPool,
    progress: Progress,
) -> Labels:
    """Return the first record of each record's group, (n,).

    The rows (n, d) are in spatial order, and each block of `size` or fewer is
    partitioned by the method `inner`.
    """
    divide = divide_of(inner, "inner method", inner_methods())

    def block(part: slice) -> Labels:
        return np.asarray(
            part.start + firsts(np.asarray(divide(rows[part], k, scale="none")))
        )

    return np.concatenate(threads.each(block, parts(len(rows), size), progress))
