"""Read a block in input order, with its helper columns."""

import numpy as np
import pyarrow as pa

from aggopt.core.types import I64
from aggopt.engine.run_state import BlockState
from aggopt.engine.storage.bucket_refs import read_sources


def read_block(number: int, config: BlockState) -> tuple[pa.Table, I64]:
    """Return the records of a block, sorted by their numbers, and the numbers."""
    rows = read_sources(config.blocks[number], config.at)
    numbers = rows.column(len(config.columns)).to_numpy()
    order = np.argsort(numbers, kind="stable")
    own = rows.select(list(range(len(config.columns))))
    return own.take(pa.array(order)), numbers[order]
