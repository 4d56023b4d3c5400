"""What the literature does with categories: MDAV with modes, and k-modes.

Both work on distances of levels, attribute by attribute, and publish the level of
least total distance: the plurality of names, the median of an order or of numbers.
Small and slow; not a benchmark itself.

Sources: Domingo-Ferrer and Torra, Data Mining and Knowledge Discovery 11(2), 2005;
Huang, Data Mining and Knowledge Discovery 2(3), 1998, whose clusters of fewer than k
are dissolved here, and those of 2k or more split by MDAV.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from aggopt.encoding import Encoded

Labels = npt.NDArray[np.intp]
ROUNDS = 8  # of k-modes


class Levels(NamedTuple):
    """Records as levels (n, d), and what the levels of each attribute are apart."""

    codes: Labels
    apart: list[npt.NDArray[np.float64]]

    @classmethod
    def of(cls, encoded: Encoded) -> "Levels":
        codes, apart = [], []
        for each in encoded.attributes:
            if each.numbers is None:
                m = len(each.levels)
                codes.append(each.codes)
                apart.append(each.weight * each.domain.distances[:m, :m])
            else:  # by range
                there, at = np.unique(each.numbers.values, return_inverse=True)
                codes.append(at)
                gaps = abs(there[:, None] - there)
                apart.append(each.weight * gaps / np.ptp(there))
        return cls(np.stack(codes, axis=1), apart)

    def only(self, records: Labels) -> "Levels":
        return self._replace(codes=self.codes[records])

    def to(self, levels: Labels, records: Labels) -> npt.NDArray[np.float64]:
        """Return how far records are from a combination of levels (d,)."""
        pairs = zip(self.apart, levels, self.codes[records].T, strict=True)
        return sum(table[level][codes] for table, level, codes in pairs)

    def mode(self, records: Labels) -> Labels:
        """Return the level of least total distance of each attribute, (d,)."""
        columns = zip(self.apart, self.codes[records].T, strict=True)
        return np.array(
            [(np.bincount(c, minlength=len(t)) @ t).argmin() for t, c in columns]
        )

    def lost(self, labels: Labels) -> float:
        """Return the total distance of records from what their group publishes."""
        groups = (np.flatnonzero(labels == g) for g in range(labels.max() + 1))
        return float(sum(self.to(self.mode(g), g).sum() for g in groups))


def mdav_modes(table: Levels, k: int) -> Labels:
    """Return the groups of MDAV whose centroids are modes."""
    left, labels = np.arange(len(table.codes)), np.full(len(table.codes), -1)

    def take(record: int) -> None:
        nonlocal left
        apart = table.to(table.codes[record], left)
        apart[left == record] = -1.0  # the record itself before its copies
        near = np.argsort(apart, kind="stable")[:k]
        labels[left[near]] = labels.max() + 1
        left = np.delete(left, near)

    while len(left) >= 3 * k:
        r = _farthest(table, table.mode(left), left)
        s = _farthest(table, table.codes[r], left)
        take(r)
        take(s if labels[s] < 0 else _farthest(table, table.codes[r], left))
    if len(left) >= 2 * k:
        take(_farthest(table, table.mode(left), left))
    labels[left] = labels.max() + 1
    return labels


def _farthest(table: Levels, levels: Labels, records: Labels) -> int:
    return int(records[table.to(levels, records).argmax()])


def k_modes(table: Levels, k: int, seed: int = 0) -> Labels:
    """Return clusters around n / k modes, mended to groups of k to 2k - 1 records."""
    n = len(table.codes)
    rows = np.arange(n)
    chosen = np.random.default_rng(seed).choice(n, n // k, replace=False)
    modes = table.codes[chosen]
    for _ in range(ROUNDS):
        labels = np.argmin([table.to(mode, rows) for mode in modes], axis=0)
        for j in np.unique(labels):
            modes[j] = table.mode(np.flatnonzero(labels == j))
    return _split(table, _dissolved(table, modes, labels, k), k)


def _dissolved(table: Levels, modes: Labels, labels: Labels, k: int) -> Labels:
    """Return labels whose groups below k, smallest first, went to the nearest mode."""
    labels, sizes = labels.copy(), np.bincount(labels, minlength=len(modes))
    while (short := np.flatnonzero((sizes > 0) & (sizes < k))).size:
        j = short[sizes[short].argmin()]
        large = np.flatnonzero(sizes >= k)
        for record in np.flatnonzero(labels == j):
            apart = [table.to(modes[g], np.array([record]))[0] for g in large]
            labels[record] = large[np.argmin(apart)]
            sizes[labels[record]] += 1
        sizes[j] = 0
    return labels


def _split(table: Levels, labels: Labels, k: int) -> Labels:
    made = np.full(len(labels), -1)
    for j in np.unique(labels):
        group = np.flatnonzero(labels == j)
        parts = mdav_modes(table.only(group), k) if len(group) >= 2 * k else 0
        made[group] = made.max() + 1 + parts
    return made
