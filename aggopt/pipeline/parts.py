"""Groups within parts of a table, each of which is partitioned by itself."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import compress
from typing import Any, NamedTuple

import numpy as np

from aggopt.core.types import Bool, Labels
from aggopt.core.validation import numbered
from aggopt.encoding import Encoded
from aggopt.encoding._incomplete import in_rows
from aggopt.partition._in_blocks import divided
from aggopt.partition._shared.block import Block
from aggopt.partition._shared.result import Partition, Proof
from aggopt.pipeline.attribute_blocks import Columns
from aggopt.solvers import Certificate, Status

Told = Callable[[float], None]
How = tuple[str | Callable[..., Partition], Mapping[str, Any], Told]


class Parts(NamedTuple):
    """The part of each record, (n,), and which values (n, d) decide what is published.

    The records of a part have values in the same attributes.
    """

    labels: Labels
    held: Bool


def divided_within(
    records: Encoded,
    columns: Columns,
    parts: Sequence[Parts],
    k: int,
    how: How,
    names: Sequence[str],
) -> tuple[Block, ...]:
    """Return each block of attributes with groups that lie within its parts.

    Each part is a complete table, with distances as they are between all records; its
    partition is proven for itself, and the bounds add up to one on all groups within
    these parts.  A limit of time is shared out by records.
    """
    divide, settings, told = how
    blocks = []
    for done, (block, own) in enumerate(zip(columns, parts, strict=True)):
        told_of = partial(share_of, told, done, len(columns))
        of = _Within(records.only(block), own, [names[j] for j in block])
        blocks.append(Block(block, of.divided(k, (divide, settings, told_of))))
    told(1.0)
    return tuple(blocks)


@dataclass(frozen=True, eq=False)
class _Within:
    """A block of attributes: records, and their parts."""

    records: Encoded = field(repr=False)
    parts: Parts = field(repr=False)
    names: Sequence[str]

    def divided(self, k: int, how: How) -> Partition:
        """Return the groups of all parts, and the proof of each."""
        divide, settings, told = how
        labels = self.parts.labels
        n, done, first = len(labels), 0, 0
        groups = np.empty(n, np.intp)
        proofs: list[Proof] = []
        for part in range(int(labels.max()) + 1):
            rows = np.flatnonzero(labels == part)
            told_of = partial(share_of, told, done / len(rows), n / len(rows))
            own_of = shared_out(in_rows_of(settings, rows, n), len(rows) / n)
            shared = divide, own_of, told_of
            own = self._of(rows, k, shared)
            groups[rows] = first + own.labels
            proofs += own.evidence
            done, first = done + len(rows), first + len(own.sizes)
        return Partition(numbered(groups), proofs)

    def _of(self, rows: Labels, k: int, how: How) -> Partition:
        held = self.parts.held[rows[0]]
        if not held.any():
            proof = Certificate(Status.OPTIMAL, 0.0, 0.0, 0.0, "nothing published", 0.0)
            return Partition(np.zeros(len(rows), np.intp), proof)
        whole = (tuple(range(int(held.sum()))),)
        names = list(compress(self.names, held))
        own = in_rows(self.records, rows, held)
        (block,) = divided(own, k, whole, *how, names)
        return block.partition


def in_rows_of(settings: Mapping[str, Any], rows: Labels, n: int) -> dict[str, Any]:
    """Return settings with what they say of each of n records for these rows alone."""
    return {
        name: value[rows]
        if isinstance(value, np.ndarray) and len(value) == n
        else value
        for name, value in settings.items()
    }


def shared_out(settings: Mapping[str, Any], share: float) -> dict[str, Any]:
    """Return settings with this share of the limit of time, if there is one."""
    limit = settings.get("time_limit")
    return {**settings, **({} if limit is None else {"time_limit": share * limit})}


def share_of(told: Told, done: float, of: float, share: float) -> None:
    """Call a progress callback with the share of the whole that a part has done."""
    told((done + share) / of)
