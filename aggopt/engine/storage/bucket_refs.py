"""Where the records of a block are: in which files in between, and which part."""

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
    """What a task of a second step reads: a region of the files `first` to `last`.

    Its buckets are those from `bucket` on, `width` of them.
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
