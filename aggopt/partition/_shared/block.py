"""Attributes that are partitioned together, and their groups."""

from collections.abc import Sequence
from dataclasses import dataclass

from aggopt.core.equal import same
from aggopt.core.types import Labels
from aggopt.partition._shared.result import Partition, together
from aggopt.solvers import Certificate


@dataclass(frozen=True, eq=False)
class Block:
    """Attributes that are partitioned together, and how they are.

    Attributes
    ----------
    columns
        Positions of the attributes.
    partition
        Their groups, and what is proven of them.
    """

    columns: tuple[int, ...]
    partition: Partition

    @property
    def labels(self) -> Labels:
        """Group of each record (n,)."""
        return self.partition.labels

    @property
    def certificate(self) -> Certificate:
        """What is proven of the groups."""
        return self.partition.certificate

    @property
    def groups(self) -> int:
        """How many groups there are."""
        return len(self.partition.sizes)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Block):
            return NotImplemented
        return same(self._parts, other._parts)

    def __hash__(self) -> int:
        """Return a number from the columns: few blocks are ever in one set."""
        return hash((Block, self.columns))

    @property
    def _parts(self) -> tuple[object, ...]:
        return self.columns, self.labels, self.partition.certificates


def labels_of(blocks: Sequence[Block]) -> Labels:
    """Return labels (n,) of one block, or (n, d) of several."""
    if len(blocks) == 1:
        return blocks[0].labels
    parts = [block.partition for block in blocks]
    return together(parts, [block.columns for block in blocks]).labels
