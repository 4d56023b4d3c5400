"""Read the order and the released records of a private key."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

from aggopt.core.regular_files import require_regular
from aggopt.core.validation import Labels


def read_released_records(key: Path) -> pa.ChunkedArray | None:
    """Return the released records in a private key; None without a key."""
    if not key.exists():
        return None
    require_regular(key)
    try:
        return pyarrow.csv.read_csv(key)["released_record"].is_valid()
    except (pa.ArrowException, KeyError):
        return None


def read_record_order(path: Path, n: int) -> Labels | None:
    """Return the order of n records that a private key states, None if it is none."""
    try:
        place = pyarrow.csv.read_csv(path)["released_record"].drop_null().to_numpy()
    except (pyarrow.ArrowException, KeyError):
        return None
    is_complete = np.array_equal(np.sort(place), np.arange(n))
    return np.asarray(place, dtype=np.intp) if is_complete else None
