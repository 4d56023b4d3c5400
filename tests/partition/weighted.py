"""What tests of sampling weights share."""

from collections.abc import Iterator

import numpy as np
from partition import exact


def all_partitions(n: int, k: int) -> Iterator[np.ndarray]:
    """The labels of every partition of n records into groups of k or more."""
    for parts in exact.partitions(list(range(n)), k):
        labels = np.empty(n, int)
        for g, members in enumerate(parts):
            labels[members] = g
        yield labels
