"""Duplicate records, which are priced once."""

from dataclasses import dataclass

import numpy as np

from aggopt.core.types import I32, Bool
from aggopt.core.validation import Floats, Labels
from aggopt.partition._optimal.columns import GroupColumns, sort_groups

COPIES = 24  # duplicates; fewer are priced like other records
VARIANTS = 400  # of one group, by exchange of duplicates


@dataclass(frozen=True, eq=False)
class Duplicates:
    """Duplicates among the records, of points that occur MANY times or more.

    Attributes
    ----------
    place : (n,)
        Number of each record's point.
    before : (n,)
        The previous duplicate of a record in the table, -1 for the first, or if fewer.
    many : (n,)
        Whether a record's point occurs that often.
    spare : (n,)
        Whether enough duplicates precede it that no group needs it.
    """

    place: Labels
    before: Labels
    many: Bool
    spare: Bool

    @classmethod
    def of(cls, Z: Floats, k: int) -> "Duplicates":
        """Return the duplicates among records (n, d), their weights among the d."""
        _, place, sizes = np.unique(Z, axis=0, return_inverse=True, return_counts=True)
        place = place.ravel()
        many = sizes[place] >= max(k, COPIES)
        order = np.argsort(place, kind="stable")
        before = np.full(len(Z), -1, np.intp)
        same = (place[order[1:]] == place[order[:-1]]) & many[order[1:]]
        before[order[1:][same]] = order[:-1][same]
        rank = np.empty(len(Z), np.intp)
        rank[order] = np.arange(len(Z)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return cls(place, before, many, many & (rank >= 2 * k - 1))

    @property
    def some(self) -> bool:
        """Whether any record is such a duplicate."""
        return bool(self.many.any())

    def averaged(self, u: Floats) -> Floats:
        """Return duals (n,) averaged over duplicates: symmetrised.

        Dual feasible if u is: they are the mean over all permutations of duplicates.
        """
        mean = np.bincount(self.place, u) / np.bincount(self.place)
        return np.where(self.many, mean[self.place], u)

    def for_all(self, bounds: Floats) -> Floats:
        """Return bounds (n,), extended from the first duplicates to all others."""
        first = np.flatnonzero(self.before < 0)
        of_place = np.full(int(self.place.max()) + 1, np.inf)
        np.minimum.at(of_place, self.place[first], bounds[first])
        return np.where(self.many, of_place[self.place], bounds)

    def spread(self, groups: GroupColumns, u: Floats) -> GroupColumns:
        """Return variants of groups (q, w), duplicates of the highest duals first.

        If a group prices out at averaged duals, its first variant does at the duals u.
        """
        has_duplicates = np.append(self.many, False)[groups.members].any(axis=1)
        rows = [groups.members[~has_duplicates]]
        for members, size in zip(
            groups.members[has_duplicates], groups.sizes[has_duplicates], strict=True
        ):
            rows.append(self._variants(members, members[:size], u))
        return sort_groups(np.concatenate(rows))

    def _variants(self, row: I32, records: I32, u: Floats) -> I32:
        copied = records[self.many[records]]
        places, counts = np.unique(self.place[copied], return_counts=True)
        blocks = []
        for place, count in zip(places, counts, strict=True):
            duplicates = np.flatnonzero(self.place == place)
            duplicates = duplicates[np.argsort(-u[duplicates], kind="stable")]
            usable = len(duplicates) // count * count
            blocks.append(duplicates[:usable].reshape(-1, count))
        number = min(VARIANTS, max(len(block) for block in blocks))
        rows = np.full((number, len(row)), -1, row.dtype)
        rows[:, : len(records) - len(copied)] = records[~self.many[records]]
        at = len(records) - len(copied)
        for block in blocks:
            width = block.shape[1]
            rows[:, at : at + width] = block[np.arange(number) % len(block)]
            at += width
        return rows
