"""Initial groups: those of blocks, each partitioned independently."""

import numpy as np

from aggopt.core.progress import Progress
from aggopt.core.threads import ThreadPool
from aggopt.core.validation import Floats, Labels, is_whole
from aggopt.errors import JobError
from aggopt.partition._blocked.regions import find_first_records
from aggopt.partition._neighbours.spatial_order import split_in_parts
from aggopt.partition._registry import (
    PartitionFunction,
    list_inner_methods,
    resolve_function,
)

BLOCK, GROUPS = 1000, 20  # records of a block, or multiple of k


def choose_block_size(block_size: object, k: int) -> int:
    """Return the largest size of a block, as requested or by default."""
    if block_size is None:
        return max(BLOCK, GROUPS * k)
    if not is_whole(block_size) or block_size < 2 * k:
        raise JobError(
            f"block_size = {block_size}, and k = {k}.",
            fix=f"pass a whole number of at least 2 k = {2 * k}, a thousand or more "
            "if there are that many records, or leave it out.",
        )
    return int(block_size)


def require_region_size(size: object) -> None:
    """Refuse an invalid size of regions."""
    if size is not None and not (is_whole(size) and size >= 1):
        raise JobError(
            f"region_size = {size}.", fix="pass a whole number from 1 up, or None."
        )


def partition_in_blocks(
    rows: Floats,
    k: int,
    inner: str | PartitionFunction,
    size: int,
    threads: ThreadPool,
    progress: Progress,
) -> Labels:
    """Return the first record of each record's group, (n,).

    The rows (n, d) are in spatial order, and each block of `size` or fewer is
    partitioned by the method `inner`.
    """
    divide = resolve_function(inner, "inner method", list_inner_methods())

    def block(part: slice) -> Labels:
        return np.asarray(
            part.start
            + find_first_records(np.asarray(divide(rows[part], k, scale="none")))
        )

    return np.concatenate(
        threads.each(block, split_in_parts(len(rows), size), progress)
    )
