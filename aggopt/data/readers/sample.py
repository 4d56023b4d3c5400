"""Records of a file that is large, in memory that stays flat: the same each time."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from aggopt.core.regular_files import require_no_partition
from aggopt.data.readers.csv_text import read_csv_shape, read_text_blocks
from aggopt.data.readers.formats import EXCEL, STATISTICAL, file_ending, is_csv
from aggopt.data.readers.parquet import check_parquet
from aggopt.data.readers.read import read_as_text
from aggopt.job import Input

MOST = 20_000  # records of a sample: rare entries are seen, and memory stays small
RUN = 200  # records in a row: members of a household are looked at together


@dataclass(frozen=True)
class Sample:
    """Records of a table, all of them if it is no larger than a sample.

    Attributes
    ----------
    table
        The records, as they are written.
    records
        How many the whole table has.
    """

    table: pa.Table = field(repr=False)
    records: int

    @classmethod
    def of(cls, path: Path, how: Input) -> "Sample":
        """Return a sample of the table in a file; raises as `read_as_text`."""
        if is_csv(path):
            shape = read_csv_shape(path, how)
            require_no_partition(path, shape.names)
            if shape.records > MOST:
                return cls.of_blocks(read_text_blocks(path, shape, how), shape.records)
        elif file_ending(path) not in (*STATISTICAL, EXCEL):
            file = _parquet(path)
            n = 0 if file is None else file.metadata.num_rows
            if file is not None and n > MOST:
                check_parquet(path, file)
                batches = file.iter_batches(use_threads=False)
                with suppress(OSError, pa.ArrowException):  # a damaged page: see below
                    return cls.of_blocks(map(_table, batches), n)
        whole = read_as_text(path, how)
        return cls.of_blocks([whole], len(whole))

    @classmethod
    def of_blocks(cls, blocks: Iterable[pa.Table], n: int) -> "Sample":
        """Return a sample of consecutive blocks with n records in all."""
        if n > MOST:
            return cls(_sampled(blocks, n), n)
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


def _parquet(path: Path) -> pq.ParquetFile | None:
    """Return an open file; None of one that `read_as_text` refuses in words."""
    try:
        return pq.ParquetFile(path)
    except (OSError, pa.ArrowException):
        return None


def _table(batch: pa.RecordBatch) -> pa.Table:
    return pa.Table.from_batches([batch])


def _sampled(blocks: Iterable[pa.Table], n: int) -> pa.Table:
    """Return runs of records, evenly spread over the n that the blocks have."""
    return pa.concat_tables(list(_runs(blocks, n // (MOST // RUN))))


def _runs(blocks: Iterable[pa.Table], every: int) -> Iterator[pa.Table]:
    """Yield the first records of each so many, `MOST` in all."""
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
