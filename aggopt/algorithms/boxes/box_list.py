"""List of all boxes that groups of k records may publish: one span per attribute."""

from dataclasses import dataclass, field
from math import inf

import numpy as np

from aggopt.algorithms.boxes.ascent import PricedBoxes
from aggopt.algorithms.boxes.loss_tables import pack_losses
from aggopt.algorithms.boxes.state import (
    BOXES,
    MEMBERS,
    BoxArrays,
    BoxKinds,
    BoxLevels,
)
from aggopt.core.memory import require_memory
from aggopt.core.types import F64, I32, I64
from aggopt.encoding.generalisation import (
    DistinctRecords,
    Generalisation,
    GeneralisedTable,
)
from aggopt.models import generalised_loss as model

MOST_MEMBERS = 40_000_000  # of all boxes: 160 MB
SHRINK = 0.8  # the cap falls to this share until the list fits


@dataclass(frozen=True, eq=False)
class BoxList:
    """All closed boxes of k records or more, of l kinds, that lose less than a cap.

    A box is closed if no smaller box has the same records.

    Attributes
    ----------
    starts : (b + 1,)
        Box b has the combinations members[starts[b] : starts[b + 1]].
    members : (p,)
        Distinct records in the boxes.
    losses : (b,)
        Loss of each record of a box.
    cap
        All boxes below this loss are listed; inf if all are.
    """

    starts: I64 = field(repr=False)
    members: I32 = field(repr=False)
    losses: F64 = field(repr=False)
    cap: float

    def __len__(self) -> int:
        return len(self.losses)

    def price(self, distinct: DistinctRecords, k: int, l: int = 1) -> PricedBoxes:  # noqa: E741
        """Return the boxes with the counts and weights that prices depend on."""
        return PricedBoxes(
            self.starts,
            self.members,
            self.losses,
            distinct.counts,
            np.ascontiguousarray(distinct.weights),
            k,
            self.cap,
            distinct.kinds,
            l,
        )

    def make_data(
        self,
        combinations: DistinctRecords,
        k: int,
        shares: str = "whole",
        l: int = 1,  # noqa: E741
    ) -> model.Data:
        """Return the data of the model `generalised_loss` with these boxes."""
        return model.Data(
            np.repeat(np.arange(len(self)), np.diff(self.starts)),
            self.members,
            self.losses,
            combinations.counts,
            k,
            shares,
            weight=combinations.weights,
            cap=self.cap,
            kind=combinations.kinds,
            l=l,
        )


def list_boxes(
    table: GeneralisedTable,
    combinations: DistinctRecords,
    k: int,
    *,
    l: int = 1,  # noqa: E741
    cap: float = inf,
    max_members: int = MOST_MEMBERS,
) -> BoxList:
    """Return all boxes of k records that lose less than a cap; it falls until they fit.

    Parameters
    ----------
    k, l
        Least number of records in a box, and of their kinds.
    most
        Members of all boxes together.  While the list has more, the cap shrinks: a
        bound is then lower, and remains true.

    Raises
    ------
    MemoryLimitError
        A list of `max_members` members does not fit into memory.
    """
    from aggopt.algorithms.boxes import list_kernels as kernels

    attributes = table.attributes
    order = sorted(
        range(len(attributes)), key=lambda j: _count_statements(attributes[j])
    )
    losses = pack_losses(tuple(attributes[j] for j in order), statements=True)
    positions = np.ascontiguousarray(combinations.positions[:, order])
    total = sum(a.weight for a in attributes)
    require_memory(6 * max_members, f"a list of boxes with {max_members} members")
    levels = _make_levels(*positions.shape)
    counts = combinations.counts
    stamps = np.full(int(combinations.kinds.max()) + 1, -1)
    kinds = BoxKinds(combinations.kinds, l, stamps)
    empty = BoxArrays(
        np.zeros(0, np.int64),
        np.zeros(0, np.int32),
        np.zeros(0),
        np.zeros(3, np.int64),
    )
    limit = cap
    while not kernels.write_box_list(
        losses, positions, counts, k, kinds, limit, max_members, levels, empty
    ):
        limit = SHRINK * min(limit, total)
    boxes, members = empty.counts[BOXES], empty.counts[MEMBERS]
    full = BoxArrays(
        np.zeros(boxes + 1, np.int64),
        np.zeros(members, np.int32),
        np.zeros(boxes),
        np.zeros(3, np.int64),
    )
    kernels.write_box_list(
        losses, positions, counts, k, kinds, limit, max_members, levels, full
    )
    return BoxList(full.starts, full.members, full.losses, limit)


def _count_statements(a: Generalisation) -> int:
    return a.m * (a.m + 1) // 2 if a.hulls is None else len(a.hulls)


def _make_levels(c: int, d: int) -> BoxLevels:
    """Return the state of a search among c combinations of d attributes."""
    return BoxLevels(
        order=np.zeros((d, c), np.int32),
        run_start=np.zeros((d, c + 1), np.int64),
        run_position=np.zeros((d, c + 1), np.int64),
        mass=np.zeros((d, c + 1), np.int64),
        size=np.zeros(d, np.int64),
        runs=np.zeros(d, np.int64),
        left=np.zeros(d, np.int64),
        right=np.zeros(d, np.int64),
        loss=np.zeros(d + 1),
        least=np.zeros(d, np.int64),
        greatest=np.zeros(d, np.int64),
    )
