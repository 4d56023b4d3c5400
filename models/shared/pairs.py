"""Pairs of records: which records they join, and the groups that joined pairs make."""

from dataclasses import dataclass
from functools import cached_property
from itertools import permutations

import numpy as np

from aggopt.core.types import Bool
from aggopt.core.validation import Floats, Labels


@dataclass(frozen=True)
class Pairs:
    """The pairs p = (i, j), i < j, of n records, in the order of i and then of j."""

    n: int

    @cached_property
    def ends(self) -> tuple[Labels, Labels]:
        """Records i < j of each pair, (p,) and (p,)."""
        i, j = np.triu_indices(self.n, 1)
        return i, j

    @cached_property
    def touching(self) -> Floats:
        """1 if record i is in pair p, else 0, (n, p)."""
        i, j = self.ends
        found = np.zeros((self.n, len(i)))
        found[i, np.arange(len(i))] = found[j, np.arange(len(i))] = 1.0
        return found

    @cached_property
    def of(self) -> list[list[int]]:
        """The pairs that each record is in, ascending."""
        return [np.flatnonzero(row).tolist() for row in self.touching]

    @cached_property
    def triangles(self) -> tuple[Labels, Labels, Labels]:
        """Pairs ij, jl, il for any three records, each il once."""
        number = np.zeros((self.n, self.n), int)
        number[self.ends] = np.arange(len(self.ends[0]))
        number += number.T
        threes = [t for t in permutations(range(self.n), 3) if t[0] < t[2]]
        i, j, k = np.array(threes, int).reshape(-1, 3).T
        return number[i, j], number[j, k], number[i, k]

    def mates(self, held: Floats) -> Floats:
        """Return held (n, B) of the other record of each pair, (n, B, p); else 0."""
        i, j = self.ends
        p = np.arange(len(i))
        found = np.zeros((*held.shape, len(i)))
        found[i, :, p] = held[j]
        found[j, :, p] = held[i]
        return found

    def groups(self, joined: Bool) -> Labels:
        """Return the group of each record (n,), of pairs that are joined (p,) or not.

        >>> Pairs(3).groups(np.array([False, True, False]))
        array([0, 1, 0])
        """
        i, j = self.ends
        first = np.arange(self.n)
        for p in np.flatnonzero(joined):  # by i: its first mate is known
            first[j[p]] = min(first[j[p]], first[i[p]])
        return np.unique(first, return_inverse=True)[1].astype(np.intp)
