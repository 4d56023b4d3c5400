"""Records cut into blocks of about the same size, of records that lie near each other.

A balanced tree is made of a sample: each node halves its part across the principal
axis.  Records that lie exactly on a cut, as many zeros do, go by a hash of their number
to either side, in the shares that the sample has: so no value makes one block huge.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from aggopt.core.types import I64, U64
from aggopt.core.validation import Floats

DIGITS = 9  # of an axis: its last ones are of no use


@dataclass(frozen=True, eq=False)
class SplitTree:
    """Cuts of a balanced binary tree with 2^levels leaves; nodes as in a heap.

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
        """How many there are."""
        return 1 << self.levels

    @classmethod
    def of(cls, Z: Floats, levels: int) -> "SplitTree":
        """Return the tree of a sample Z (s, d), which each node halves."""
        nodes = (1 << levels) - 1
        axes, cuts = np.zeros((nodes, Z.shape[1])), np.zeros(nodes)
        shares = np.full(nodes, 0.5)
        parts = {0: np.arange(len(Z))}
        for node in range(nodes):
            rows = parts.pop(node)
            axes[node] = _principal(Z[rows])
            there = along(Z[rows], axes[node][None, :])
            order = np.argsort(there, kind="stable")
            half = len(rows) // 2
            if len(rows):
                cuts[node] = there[order[half]]
                on_cut, below = there == cuts[node], there < cuts[node]
                shares[node] = (half - below.sum()) / on_cut.sum()
            parts[2 * node + 1] = rows[order[:half]]
            parts[2 * node + 2] = rows[order[half:]]
        return cls(levels, axes, cuts, shares)

    def leaf(self, Z: Floats, numbers: I64) -> I64:
        """Return the leaf of each record of Z (n, d), 0..leaves-1.

        `numbers` (n,) are those of the records in the table: they decide on a cut.
        """
        node = np.zeros(len(Z), np.int64)
        for _ in range(self.levels):
            there = along(Z, self.axes[node])
            chance = hashed(numbers.astype(np.uint64), node.astype(np.uint64))
            right = np.where(
                there == self.cuts[node],
                chance >= self.shares[node],
                there > self.cuts[node],
            )
            node = 2 * node + 1 + right
        return node - len(self.cuts)


def along(Z: Floats, axes: Floats) -> Floats:
    """Return how far each record (n, d) lies along its axis, (n, d) or (1, d).

    Summed in one order, column after column, whatever the number of records: equal
    records lie equally far, on any machine.
    """
    found = np.zeros(len(Z))
    for j in range(Z.shape[1]):
        found += Z[:, j] * axes[:, j]
    return found


def hashed(numbers: U64, nodes: U64) -> Floats:
    """Return a number in [0, 1) of each record and node, as if drawn."""
    with np.errstate(over="ignore"):
        mixed = numbers * np.uint64(0x9E3779B97F4A7C15) + nodes
        for shift, factor in _STEPS:
            mixed ^= mixed >> np.uint64(shift)
            mixed *= np.uint64(factor)
        mixed ^= mixed >> np.uint64(31)
    return np.asarray((mixed >> np.uint64(11)) * 2.0**-53)


_STEPS = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))  # of splitmix64


def _principal(Z: Floats) -> Floats:
    """Return the direction in which records (n, d) vary most."""
    if len(Z) <= Z.shape[1]:
        return np.asarray(np.eye(Z.shape[1])[0])
    away = Z - Z.mean(axis=0)
    axis = np.linalg.eigh(away.T @ away)[1][:, -1]
    signed = axis * np.sign(axis[np.abs(axis).argmax()])
    return np.asarray(np.round(signed, DIGITS))


def blocks_of(
    sizes: I64, least: int, keep: Callable[[Sequence[int]], bool] = lambda leaves: True
) -> list[tuple[int, ...]]:
    """Return leaves together, neighbours in the tree, so that each has `least`.

    Sizes (leaves,) are how many records each leaf has; there are `least` in all.  Where
    all leaves together `keep` what is asked of a block, each block does.
    """
    found: list[list[int]] = []
    own: list[int] = []
    held = 0
    for leaf, size in enumerate(sizes.tolist()):
        own.append(leaf)
        held += size
        if held >= least and keep(own):
            found.append(own)
            own, held = [], 0
    if own:
        own = [*(found.pop() if found else []), *own]
        while found and not keep(own):
            own = [*found.pop(), *own]
        found.append(own)
    return [tuple(leaves) for leaves in found]
