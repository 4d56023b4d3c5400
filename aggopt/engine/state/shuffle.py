"""Rows shuffled from many files to many buckets, through regions of buckets.

A file has one fragment for each bucket.  A thousand files of ten thousand buckets would
be ten million of them, a few rows each.  Then neighbouring buckets first share a
region, and a second step deals the rows of each region to its buckets.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from aggopt.core.types import I64
from aggopt.engine.state.run_state import BlockState, RunState
from aggopt.engine.storage.input_parts import PIECE
from aggopt.engine.storage.scratch_files import (
    BlockSource,
    ShuffleRegion,
    Sources,
    append_column,
    read_buckets,
    read_sources,
    remove_steps,
    split_last_column,
    write_sorted,
)

MOST = 200_000  # fragments of a step
AGAIN = {  # the second step, by whose files it reads
    "scattered": "scatter again",
    "published": "publish again",
    "sorted": "sort again",
}

C = TypeVar("C", bound=RunState)
Each = Callable[[str, int, Any], list[Any]]


@dataclass(frozen=True)
class Shuffle:
    """Distribution of the rows of a step's files over buckets.

    Attributes
    ----------
    step
        Name of the step, which is part of the names of its files.
    files, buckets
        Number of files and of buckets.
    """

    step: str
    files: int
    buckets: int

    @property
    def width(self) -> int:
        """Number of buckets in a region; 1 if one step suffices."""
        return max(1, -(-self.files * self.buckets // MOST))

    @property
    def regions(self) -> int:
        """Number of regions (runs of buckets), which the first step writes."""
        return -(-self.buckets // self.width)

    def write(self, to: Path, rows: pa.Table, bucket: I64) -> list[int]:
        """Write rows sorted by bucket (n,); return the row count of each region."""
        if self.width > 1:
            rows = append_column(rows, bucket)
        region = bucket // self.width
        return [int(size) for size in write_sorted(to, rows, region, self.regions)]

    def deals(self, sizes: I64) -> tuple[ShuffleRegion, ...]:
        """Return the tasks of a second step, for row counts (files, regions)."""
        result = []
        for region in range(self.regions):
            place = region * self.width, self.width
            first = 0
            rows = 0
            for file, size in enumerate(sizes[:, region].tolist()):
                if file > first and rows + size > PIECE:
                    result.append(ShuffleRegion(region, first, file, *place))
                    first = file
                    rows = 0
                rows += size
            result.append(ShuffleRegion(region, first, self.files, *place))
        return tuple(result)

    def sources(self, buckets: Sequence[int], config: RunState) -> Sources:
        """Return the scratch files and positions of the rows of some buckets."""
        if self.width == 1:
            return (BlockSource(self.step, 0, self.files, tuple(buckets)),)
        regions: dict[int, list[int]] = {}
        for bucket in buckets:
            region, place = divmod(bucket, self.width)
            regions.setdefault(region, []).append(place)
        return tuple(
            BlockSource(
                _name_second_step(self.step),
                *self._tasks(region, config),
                tuple(places),
            )
            for region, places in regions.items()
        )

    def _tasks(self, region: int, config: RunState) -> tuple[int, int]:
        """Return first and last task (exclusive) of the second step for a region."""
        deals = enumerate(config.deals[self.step])
        numbers = [number for number, deal in deals if deal.region == region]
        return numbers[0], numbers[-1] + 1


def run_second_step(
    run_step: Each, spread: Shuffle, sizes: list[list[int]], config: C
) -> tuple[C, I64]:
    """Shuffle regions to buckets if necessary; return state and bucket sizes.

    `sizes` are the counts that `write` returned for each file.
    """
    counts = np.array(sizes, np.int64)
    if spread.width == 1:
        return config, counts.sum(axis=0)
    deals = spread.deals(counts)
    config = replace(config, deals={**config.deals, spread.step: deals})
    results = run_step(AGAIN[spread.step], len(deals), config)
    remove_steps(config.work, spread.step)
    total = np.zeros(spread.width * spread.regions, np.int64)
    for deal, rows in zip(deals, results, strict=True):
        total[deal.bucket : deal.bucket + deal.width] += rows
    return config, total[: spread.buckets]


def shuffle_region(step: str, number: int, config: RunState) -> list[int]:
    """Write the rows of a region sorted by bucket; return each bucket's count."""
    deal = config.deals[step][number]
    files = [config.at(step, file) for file in range(deal.first, deal.last)]
    rows, bucket = split_last_column(read_buckets(files, [deal.region]))
    to = config.at(_name_second_step(step), number)
    sizes = write_sorted(to, rows, bucket - deal.bucket, deal.width)
    return [int(size) for size in sizes]


def _name_second_step(step: str) -> str:
    """Return the name of the files of a step's second shuffle."""
    return f"{step}-again"


def read_block(number: int, config: BlockState) -> tuple[pa.Table, I64]:
    """Return the records of a block in order of their numbers, and the numbers."""
    rows = read_sources(config.blocks[number], config.at)
    numbers = rows.column(len(config.columns)).to_numpy()
    order = np.argsort(numbers, kind="stable")
    records = rows.select(list(range(len(config.columns))))
    return records.take(pa.array(order)), numbers[order]
