"""Pool of the distinct groups of a search: columns for an integer program."""

import numpy as np

from aggopt.core.types import I64
from aggopt.core.validation import Labels
from aggopt.partition._local_search.state import FOUND, Collected

SLOTS = 1 << 16  # at first


class Collection:
    """Collects the groups of n records that accepted changes made.

    Two groups with equal hashes of 64 bits count as one: among 10^6 groups that happens
    once in 10^7 searches, and a missing column does no harm.
    """

    def __init__(self, n: int) -> None:
        keys = np.random.default_rng(0).integers(1, 2**63, size=n, dtype=np.uint64)
        self.arrays = Collected(
            keys,
            np.zeros(SLOTS, np.uint64),
            np.zeros(SLOTS, np.int64),
            np.zeros(8 * SLOTS, np.int64),
            np.zeros(1, np.int64),
        )

    def __len__(self) -> int:
        """Return the number of groups."""
        return int(self.arrays.counts[FOUND])

    def add(self, labels: Labels) -> None:
        """Add the groups of labels (n,)."""
        from aggopt.partition._local_search import column_pool_kernels as kernels

        order = np.argsort(labels, kind="stable")
        start = np.concatenate(([0], np.cumsum(np.bincount(labels))))
        while self._full(len(start), len(labels)):
            self._grow()
        kernels.add_groups(self.arrays, order.astype(np.int64), start)

    def groups(self) -> tuple[I64, I64]:
        """Return (start, ids): group c has the records ids[start[c] : start[c + 1]].

        The records of a group are in ascending order, the groups in the order of their
        first occurrence.
        """
        count = len(self)
        start = self.arrays.start[: count + 1].copy()
        ids = self.arrays.ids[: start[-1]]
        group = np.repeat(np.arange(count), np.diff(start))
        return start, ids[np.lexsort((ids, group))]

    def reserve(self) -> None:
        """Grow if more than a quarter is used."""
        used = int(self.arrays.start[len(self)])
        while self._full(3 * len(self), 3 * used):
            self._grow()

    def _full(self, groups: int, members: int) -> bool:
        a = self.arrays
        return 2 * (len(self) + groups) >= len(a.slots) or a.start[
            len(self)
        ] + members >= len(a.ids)

    def _grow(self) -> None:
        """Double the size of all arrays."""
        from aggopt.partition._local_search import column_pool_kernels as kernels

        old = self.arrays
        count = len(self)
        self.arrays = Collected(
            old.key,
            np.zeros(2 * len(old.slots), np.uint64),
            np.zeros(2 * len(old.start), np.int64),
            np.zeros(2 * len(old.ids), np.int64),
            np.zeros(1, np.int64),
        )
        kernels.add_groups(self.arrays, old.ids, old.start[: count + 1])
