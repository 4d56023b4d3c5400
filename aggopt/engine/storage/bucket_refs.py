"""References to the records of a block: the scratch files, and the part of each."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from aggopt.engine.storage.scratch_files import read_buckets


class BlockSource(NamedTuple):
    """Buckets of the files of a step, from number `first` to before `last`."""

    step: str
    first: int
    last: int
    buckets: tuple[int, ...]


class ShuffleRegion(NamedTuple):
    """Input of a task of a second step: a region of the files `first` to `last`.

    Its buckets are `width` buckets from `bucket` on.
    """

    region: int
    first: int
    last: int
    bucket: int
    width: int


Sources = tuple[BlockSource, ...]


def read_sources(sources: Sources, at: Callable[[str, int], Path]) -> pa.Table:
    """Return the rows of some sources, one after the other; `at` names their files."""
    found = [
        read_buckets([at(step, number) for number in range(first, last)], buckets)
        for step, first, last, buckets in sources
    ]
    return pa.concat_tables(found).combine_chunks()
