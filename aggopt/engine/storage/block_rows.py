"""Read a block in input order, with its helper columns."""

import numpy as np
import pyarrow as pa

from aggopt.core.types import I64, Labels
from aggopt.engine.run_state import BlockState
from aggopt.engine.storage.bucket_refs import read_sources


def read_block(number: int, config: BlockState) -> tuple[pa.Table, I64]:
    """Return the records of a block, sorted by their numbers, and the numbers."""
    rows, numbers = _read(number, config)
    order = np.argsort(numbers, kind="stable")
    own = rows.select(list(range(len(config.columns))))
    return own.take(pa.array(order)), numbers[order]


def read_earlier_groups(number: int, config: BlockState) -> Labels:
    """Return the groups (n,) of these records, as a first look has made them."""
    rows, numbers = _read(number, config)
    group = rows.column(len(config.columns) + 1).to_numpy()
    order = np.argsort(numbers, kind="stable")
    return np.unique(group[order], return_inverse=True)[1].astype(np.intp)


def _read(number: int, config: BlockState) -> tuple[pa.Table, I64]:
    rows = read_sources(config.blocks[number], config.at)
    return rows, rows.column(len(config.columns)).to_numpy()
