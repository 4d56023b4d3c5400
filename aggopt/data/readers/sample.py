"""Sample of a large file, in flat memory: equal in each run."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa

from aggopt.data.formats.registry import require_format
from aggopt.data.readers.read import read_as_text
from aggopt.job import Input

MOST = 20_000  # records of a sample: rare entries are seen, and memory stays small
RUN = 200  # records in a row: members of a household are looked at together


@dataclass(frozen=True)
class Sample:
    """Records of a table; all of them if it is small.

    Attributes
    ----------
    table
        The records, unconverted.
    records
        How many the whole table has.
    """

    table: pa.Table = field(repr=False)
    records: int

    @classmethod
    def of(cls, path: Path, csv_format: Input) -> "Sample":
        """Return a sample of the table in a file; raises as `read_as_text`."""
        open_blocks = require_format(path).open_blocks
        blocks = open_blocks(path, csv_format) if open_blocks else None
        if blocks is not None and blocks.records > MOST:
            with suppress(OSError, pa.ArrowException):  # a damaged page: see below
                return cls.of_blocks(blocks.tables, blocks.records)
        table = read_as_text(path, csv_format)
        return cls.of_blocks([table], len(table))

    @classmethod
    def of_blocks(cls, blocks: Iterable[pa.Table], n: int) -> "Sample":
        """Return a sample of consecutive blocks with n records in all."""
        if n > MOST:
            return cls(_sample_blocks(blocks, n), n)
        return cls(pa.concat_tables(list(blocks)), n)

    @property
    def note(self) -> str:
        """Which records were looked at, in a sentence; "" of all."""
        if len(self.table) == self.records:
            return ""
        return (
            f"Of {self.records} records a sample was looked at: the first {RUN} of "
            f"each {self.records // (MOST // RUN)}."
        )


def _sample_blocks(blocks: Iterable[pa.Table], n: int) -> pa.Table:
    """Return runs of records, evenly spread over the n that the blocks have."""
    return pa.concat_tables(list(_iter_runs(blocks, n // (MOST // RUN))))


def _iter_runs(blocks: Iterable[pa.Table], every: int) -> Iterator[pa.Table]:
    """Yield the first records of each `every`, `MOST` in total."""
    first = 0
    for block in blocks:
        last = first + len(block)
        for number in range(first // every, min(-(-last // every), MOST // RUN)):
            start = max(number * every, first)
            stop = min(number * every + RUN, last)
            if start < stop:
                rows = np.arange(start - first, stop - first)
                yield block.take(pa.array(rows))  # a slice would keep all of the block
        first = last
