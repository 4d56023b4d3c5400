"""Groups within parts of a table, each of which is partitioned by itself."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import compress
from typing import Any, NamedTuple

import numpy as np

from aggopt.core.types import Bool, Labels
from aggopt.core.validation import numbered
from aggopt.encoding import Encoded
from aggopt.encoding._incomplete import in_rows
from aggopt.partition._in_blocks import partition_blocks
from aggopt.partition._shared.result import Block, Partition, Proof
from aggopt.pipeline.attribute_blocks import Columns
from aggopt.pipeline.processes import each_in_processes
from aggopt.solvers import Certificate, Status

OnProgress = Callable[[float], None]
How = tuple[str | Callable[..., Partition], Mapping[str, Any], OnProgress]


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
    jobs: int = 1,
) -> tuple[Block, ...]:
    """Return each block of attributes with groups that lie within its parts.

    Each part is a complete table, with distances as they are between all records; its
    partition is proven for itself, and the bounds add up to one on all groups within
    these parts.  A limit of time is shared out by records.  `jobs` processes share the
    parts of a block.
    """
    divide, settings, on_progress = how
    blocks = []
    for done, (block, own) in enumerate(zip(columns, parts, strict=True)):
        told_of = partial(share_of, on_progress, done, len(columns))
        of = _Within(records.only(block), own, [names[j] for j in block])
        blocks.append(Block(block, of.divided(k, (divide, settings, told_of), jobs)))
    on_progress(1.0)
    return tuple(blocks)


@dataclass(frozen=True, eq=False)
class _Within:
    """A block of attributes: records, and their parts."""

    records: Encoded = field(repr=False)
    parts: Parts = field(repr=False)
    names: Sequence[str]

    def divided(self, k: int, how: How, jobs: int) -> Partition:
        """Return the groups of all parts, and the proof of each."""
        labels = self.parts.labels
        members = [np.flatnonzero(labels == j) for j in range(int(labels.max()) + 1)]
        shared = [self._part(rows, k, how) for rows in members]
        made: Iterable[Partition] = self._one_by_one(shared, how[2])
        if jobs > 1 and len(shared) > 1:
            made = each_in_processes(_proven, shared, jobs, how[2])
        groups, first = np.empty_like(labels), 0
        proofs: list[Proof] = []
        for rows, own in zip(members, made, strict=True):
            groups[rows] = first + own.labels
            proofs += own.evidence
            first += len(own.sizes)
        return Partition(numbered(groups), proofs)

    def _part(self, rows: Labels, k: int, how: How) -> "_Part":
        divide, settings, _ = how
        n, held = len(self.parts.labels), self.parts.held[rows[0]]
        own_of = shared_out(in_rows_of(settings, rows, n), len(rows) / n)
        own = in_rows(self.records, rows, held) if held.any() else None
        return _Part(
            own, len(rows), k, divide, own_of, list(compress(self.names, held))
        )

    def _one_by_one(
        self, parts: Sequence["_Part"], on_progress: OnProgress
    ) -> Iterator[Partition]:
        n, done = len(self.parts.labels), 0
        for part in parts:
            yield part.divided(
                partial(share_of, on_progress, done / part.size, n / part.size)
            )
            done += part.size


class _Part(NamedTuple):
    """The records of a part, how many they are, and how they are partitioned.

    Without records nothing of them is published.
    """

    records: Encoded | None
    size: int
    k: int
    divide: str | Callable[..., Partition]
    settings: Mapping[str, Any]
    names: Sequence[str]

    def divided(self, on_progress: OnProgress | None) -> Partition:
        """Return its groups."""
        if self.records is None:
            proof = Certificate(Status.OPTIMAL, 0.0, 0.0, 0.0, "nothing published", 0.0)
            return Partition(np.zeros(self.size, np.intp), proof)
        whole = (tuple(range(len(self.names))),)
        how = self.divide, self.settings, on_progress, self.names
        (block,) = partition_blocks(self.records, self.k, whole, *how)
        return block.partition


def _proven(part: _Part) -> Partition:
    """Return its groups with their certificates, as another process hands them back."""
    return part.divided(None)


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


def share_of(on_progress: OnProgress, done: float, of: float, share: float) -> None:
    """Call a progress callback with the share of the whole that a part has done."""
    on_progress((done + share) / of)
