"""Read the order and the released records of a private key."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

from aggopt.core.regular_files import require_regular
from aggopt.core.types import Labels


def read_released_records(key: Path) -> pa.ChunkedArray | None:
    """Return a mask of the original records that were released, from a key."""
    if not key.exists():
        return None
    require_regular(key)
    places = _read_places(key)
    return None if places is None else places.is_valid()


def read_record_order(path: Path, n: int) -> Labels | None:
    """Return the released position of n records, from a key; None if invalid."""
    places = _read_places(path)
    if places is None:
        return None
    order = places.drop_null().to_numpy()
    is_complete = np.array_equal(np.sort(order), np.arange(n))
    return np.asarray(order, dtype=np.intp) if is_complete else None


def _read_places(path: Path) -> pa.ChunkedArray | None:
    """Return the released position of each original record; None if not a key."""
    try:
        return pyarrow.csv.read_csv(path)["released_record"]
    except (pa.ArrowException, KeyError):
        return None
