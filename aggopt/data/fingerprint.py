"""A fingerprint of a whole table: every column, in order."""

import hashlib
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

_PLAIN = "biuf"  # kinds of numbers that are their bytes


def compute_fingerprint(frame: nw.DataFrame[Any]) -> str:
    """Return the SHA-256 of the names and entries of a table, in hexadecimal.

    Numbers without holes count by their value in memory, and all other entries by their
    spelling.  A file has one fingerprint on every reading.
    """
    digest = hashlib.sha256()
    for name in frame.columns:
        entries = _list_entries(frame[name])
        digest.update(f"{name!r} {len(entries)}\n".encode(errors="surrogatepass"))
        digest.update(entries)
    return digest.hexdigest()


def _list_entries(column: nw.Series[Any]) -> bytes:
    if not column.null_count():
        numbers = np.asarray(column.to_numpy())
        if numbers.dtype.kind in _PLAIN:
            return numbers.dtype.str.encode() + numbers.tobytes()
    return repr(column.to_list()).encode(errors="surrogatepass")
