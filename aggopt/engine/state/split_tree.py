"""Records cut into blocks of about equal size, of records that are near each other.

A tree is made from a sample: each node cuts its part near its middle, at the point with
the fewest records.  Groups do not cross a cut, so records near a cut lose.
Records exactly on a cut, as many zeros can be, take either side by a hash of their
number, in the shares of the sample: so no value makes one block huge.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import log2
from pathlib import Path
from typing import NamedTuple

import numpy as np

from aggopt.core.types import I64, U64, Bool, Floats
from aggopt.engine.storage.scratch_files import load_arrays

DIGITS = 9  # of an axis: its last ones are of no use
PER_LEAF = 400  # records of the sample for each leaf: sizes then differ by a sixth
UNEVEN = 1.4  # times the average: the most that a leaf has of the sample
NEAR = 0.025  # of a node's sample: how many on either side tell how dense a place is


@dataclass(frozen=True, eq=False)
class SplitTree:
    """Cuts of a binary tree with 2^levels leaves; nodes as in a heap.

    Attributes
    ----------
    axes : (nodes, d)
        The direction along which each node is cut.
    cuts : (nodes,)
        Where: records below it go left, above it right.
    shares : (nodes,)
        Of records on the cut, how many go left.
    """

    levels: int
    axes: Floats
    cuts: Floats
    shares: Floats

    @property
    def leaves(self) -> int:
        """Number of leaves of the tree."""
        return 1 << self.levels

    @classmethod
    def of(cls, Z: Floats, levels: int) -> "SplitTree":
        """Return a tree of `levels` halvings of a sample Z (s, d)."""
        nodes = (1 << levels) - 1
        axes = np.zeros((nodes, Z.shape[1]))
        cuts = np.zeros(nodes)
        shares = np.full(nodes, 0.5)
        parts = {0: np.arange(len(Z))}
        for node in range(nodes):
            rows = parts.pop(node)
            even = len(Z) >> ((node + 1).bit_length() - 1)
            axes[node], middle = _choose_cut(Z[rows], len(rows) / max(even, 1))
            projected = project_on_axes(Z[rows], axes[node][None, :])
            order = np.argsort(projected, kind="stable")
            if len(rows) > 1:
                cuts[node] = projected[order[middle - 1 : middle + 1]].mean()
                on_cut = projected == cuts[node]
                below = projected < cuts[node]
                shares[node] = (middle - below.sum()) / max(on_cut.sum(), 1)
            parts[2 * node + 1] = rows[order[:middle]]
            parts[2 * node + 2] = rows[order[middle:]]
        return cls(levels, axes, cuts, shares)

    def leaf(self, Z: Floats, numbers: I64) -> I64:
        """Return the leaf of each record of Z (n, d), 0..leaves-1.

        `numbers` (n,) are the positions of the records in the table: they decide on
        a cut.
        """
        node = np.zeros(len(Z), np.int64)
        for _ in range(self.levels):
            projected = project_on_axes(Z, self.axes[node])
            cut = self.cuts[node]
            chance = hash_to_unit(numbers.astype(np.uint64), node.astype(np.uint64))
            right = np.where(
                projected == cut, chance >= self.shares[node], projected > cut
            )
            node = 2 * node + 1 + right
        return node - len(self.cuts)


def project_on_axes(Z: Floats, axes: Floats) -> Floats:
    """Return the projection (n,) of each record (n, d) on its axis.

    Summed in one order, column after column, for any number of records: equal records
    have equal positions on any machine.
    """
    projected = np.zeros(len(Z))
    for j in range(Z.shape[1]):
        projected += Z[:, j] * axes[:, j]
    return projected


def hash_to_unit(numbers: U64, nodes: U64) -> Floats:
    """Return a pseudo-random number in [0, 1) for each record and tree node."""
    with np.errstate(over="ignore"):
        mixed = numbers * np.uint64(0x9E3779B97F4A7C15) + nodes
        for shift, factor in _STEPS:
            mixed ^= mixed >> np.uint64(shift)
            mixed *= np.uint64(factor)
        mixed ^= mixed >> np.uint64(31)
    return np.asarray((mixed >> np.uint64(11)) * 2.0**-53)


_STEPS = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))  # of splitmix64


def _choose_cut(Z: Floats, size: float) -> tuple[Floats, int]:
    """Return the axis that cuts a sample (s, d), and the number of records on its left.

    `size` is the node's, 1 if all of its depth are alike.  The best cut across a
    principal axis is turned towards the line between the means of its two sides, while
    that is better: the gap between clusters is seldom across an axis of them all.
    """
    axes = _find_principal_axes(Z)
    n = len(Z)
    beside = max(1, round(NEAR * n))
    if n <= max(Z.shape[1], 2 * beside):
        return axes[0], n // 2
    lowest = max(1 - UNEVEN / (2 * size), 1 / (2 * size * UNEVEN))
    first = min(max(beside, round(lowest * n)), n // 2)
    places = np.arange(first, n - first + 1)
    places = places[np.argsort(np.abs(2 * places - n), kind="stable")]
    best = _find_best_cut(Z, axes, places, beside)
    while True:
        tilted = _find_best_cut(Z, _find_direction(Z, best)[None, :], places, beside)
        if tilted.reach <= best.reach:
            return best.axis, best.place
        best = tilted


class _Cut(NamedTuple):
    """A cut of a sample: the number on the left, and the reach of records near it."""

    axis: Floats
    place: int
    reach: float


def _find_best_cut(Z: Floats, axes: Floats, places: I64, beside: int) -> _Cut:
    """Return the cut of a sample (s, d) where records are sparsest.

    At this place along axes (a, d) the `beside` nearest records of either side reach
    farthest.
    """
    projected = np.sort(Z @ axes.T, axis=0)
    middle = (projected[places - 1] + projected[places]) / 2
    below = middle - projected[places - beside]
    above = projected[places + beside - 1] - middle
    reach = np.minimum(below, above).T
    axis, place = divmod(int(np.argmax(reach)), len(places))
    return _Cut(axes[axis], int(places[place]), float(reach[axis, place]))


def _find_direction(Z: Floats, cut: _Cut) -> Floats:
    """Return the unit direction (d,) from the left side's mean to the right's."""
    order = np.argsort(Z @ cut.axis, kind="stable")
    left = Z[order[: cut.place]]
    right = Z[order[cut.place :]]
    away = right.mean(axis=0) - left.mean(axis=0)
    length = float(np.sqrt((away**2).sum()))
    return np.round(away / length, DIGITS) if length else cut.axis


def _find_principal_axes(Z: Floats) -> Floats:
    """Return the principal axes (d, d) of records (n, d), by variance."""
    if len(Z) <= Z.shape[1]:
        return np.asarray(np.eye(Z.shape[1]))
    away = Z - Z.mean(axis=0)
    axes = np.linalg.eigh(away.T @ away)[1].T[::-1]
    largest = np.take_along_axis(axes, np.abs(axes).argmax(axis=1)[:, None], axis=1)
    return np.asarray(np.round(axes * np.sign(largest), DIGITS))


def count_tree_levels(n: float, block: int) -> int:
    """Return the number of halvings of n records to leaves of about `block`."""
    return max(0, round(log2(max(n, 1) / block)))


def estimate_largest_leaf(n: int, block: int) -> int:
    """Return the approximate number of records of the largest leaf."""
    return min(n, round(UNEVEN * n / (1 << count_tree_levels(n, block))))


def merge_leaves(
    sizes: I64, needed: int, keep: Callable[[Sequence[int]], bool] = lambda leaves: True
) -> list[tuple[int, ...]]:
    """Return leaves merged with neighbours, so that each has `needed` records.

    Sizes (leaves,) are the number of records of each leaf; the total is at least
    `needed`.  If all leaves together `keep` the requirement of a block, each block
    does.
    """
    merged: list[list[int]] = []
    leaves_of_part: list[int] = []
    records = 0
    for leaf, size in enumerate(sizes.tolist()):
        leaves_of_part.append(leaf)
        records += size
        if records >= needed and keep(leaves_of_part):
            merged.append(leaves_of_part)
            leaves_of_part = []
            records = 0
    if leaves_of_part:
        leaves_of_part = [*(merged.pop() if merged else []), *leaves_of_part]
        while merged and not keep(leaves_of_part):
            leaves_of_part = [*merged.pop(), *leaves_of_part]
        merged.append(leaves_of_part)
    return [tuple(leaves) for leaves in merged]


MOST = 1000  # patterns that have leaves of their own: each is a batch of each file


@dataclass(frozen=True, eq=False)
class PatternBuckets:
    """Leaves of a tree with a number of levels for each pattern.

    Attributes
    ----------
    patterns : (p, d)
        Which attributes are missing; records of another pattern go to the last bucket.
    levels : (p,)
        Levels of the tree that records of each pattern descend.
    depth
        Levels of the tree.
    """

    patterns: Bool = field(repr=False)
    levels: I64 = field(repr=False)
    depth: int

    @classmethod
    def of(
        cls, patterns: Bool, counts: I64, block: int, depth: int
    ) -> "PatternBuckets":
        """Return buckets for patterns of missing values (p, d) with these counts."""
        common = np.argsort(-counts, kind="stable")[:MOST]
        ordered = common[np.lexsort(patterns[common].T)]
        needed = np.rint(np.log2(np.maximum(counts[ordered] / block, 1.0)))
        levels = np.minimum(needed, depth).astype(np.int64)
        return cls(patterns[ordered], levels, depth)

    @property
    def count(self) -> int:
        """Number of buckets."""
        return int(self._first[-1]) + 1

    def bucket(self, absent: Bool, leaf: I64) -> I64:
        """Return the bucket of records (n,), by missing values (n, d) and leaf."""
        groups, which = np.unique(absent, axis=0, return_inverse=True)
        at = {pattern.tobytes(): j for j, pattern in enumerate(self.patterns)}
        other = len(self.patterns)
        place = np.array([at.get(pattern.tobytes(), other) for pattern in groups])
        place = place[which.ravel()]
        shift = np.append(self.depth - self.levels, self.depth)[place]
        return np.asarray(self._first[place] + (leaf >> shift))

    @property
    def _first(self) -> I64:
        """Number of the first bucket of each pattern, and of the last bucket."""
        return np.concatenate([[0], np.cumsum(1 << self.levels)]).astype(np.int64)


def count_patterns(absent: Bool) -> dict[str, Bool | I64]:
    """Return the distinct patterns of missing values (n, d), and their counts."""
    if not absent.any():  # no sorting of records
        first = absent[:1]
        return {"patterns": first, "of each": np.full(len(first), len(absent))}
    patterns, counts = np.unique(absent, axis=0, return_counts=True)
    return {"patterns": patterns, "of each": counts.astype(np.int64)}


def merge_patterns(paths: Sequence[Path]) -> tuple[Bool, I64]:
    """Return the patterns of missing values (p, d) of all pieces, with counts."""
    arrays = [load_arrays(path, "patterns", "of each") for path in paths]
    rows = np.vstack([requirement["patterns"] for requirement in arrays])
    patterns, which = np.unique(rows, axis=0, return_inverse=True)
    counts = np.concatenate([requirement["of each"] for requirement in arrays])
    return patterns, np.bincount(which.ravel(), counts).astype(np.int64)


def count_present(X: Floats, leaf: I64, leaves: int) -> dict[str, I64]:
    """Return the number of present values (leaves, d) of each attribute and leaf."""
    columns = [np.bincount(leaf, ~absent, leaves) for absent in np.isnan(X).T]
    return {"there": np.stack(columns, axis=1).astype(np.int64)}
