"""Attributes that are partitioned together, and their groups."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from aggopt.core.equal import Fieldwise
from aggopt.core.validation import Labels
from aggopt.solvers import Certificate, Status


@dataclass(frozen=True, eq=False)
class Block(Fieldwise):
    """Attributes that are partitioned together, and how they are.

    Attributes
    ----------
    columns
        Positions of the attributes.
    labels : (n,)
        Group of each record.
    certificate
        What is proven of the partition; None where the method proves nothing.
    """

    columns: tuple[int, ...]
    labels: Labels = field(repr=False)
    certificate: Certificate | None = None

    @property
    def groups(self) -> int:
        """How many groups there are."""
        return int(self.labels.max()) + 1

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the search, which then returned its best so far."""
        found = self.certificate
        return found is not None and found.status is Status.INTERRUPTED


def labels_of(blocks: Sequence[Block]) -> Labels:
    """Return labels (n,) of one block, or (n, d) of several."""
    return blocks[0].labels if len(blocks) == 1 else spread(blocks)


def spread(blocks: Sequence[Block]) -> Labels:
    """Return labels (n, d): those of its block for each attribute."""
    d = sum(len(block.columns) for block in blocks)
    labels = np.empty((len(blocks[0].labels), d), dtype=np.intp)
    for block in blocks:
        labels[:, block.columns] = block.labels[:, None]
    return labels
