"""Rows that are recognised again without being kept: keyed hashes of their entries."""

import hashlib
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from aggopt.core.validation import is_number
from aggopt.encoding.typed_column import NAME, TypedColumn

SIZE = 16  # bytes: of a million rows two that differ are alike once in 1e26 times


def row_hashes(frame: nw.DataFrame[Any], key: bytes) -> list[bytes]:
    """Return a keyed hash of each row (n,): equal where all entries are.

    Numbers and truth values count by their value, whatever type or library holds them,
    all else as it is spelled.  What is missing equals what is missing.  Who has the key
    can check a guess of a whole row.
    """
    columns = [_cells(frame[name]) for name in frame.columns]
    rows = zip(*columns, strict=True)
    return [_hash(b"".join(cells), key) for cells in rows]


def _hash(row: bytes, key: bytes) -> bytes:
    return hashlib.blake2b(row, digest_size=SIZE, key=key).digest()


def _cells(column: nw.Series[Any]) -> list[bytes]:
    """Return the entries (n,), each with its length, so that rows are told apart."""
    typed = TypedColumn(column, NAME)
    entries = zip(typed.entries.tolist(), typed.absent.tolist(), strict=True)
    spelled = [b"" if absent else _spelled(entry) for entry, absent in entries]
    return [b"%d:%s" % (len(each), each) for each in spelled]


def _spelled(entry: Any) -> bytes:
    if isinstance(entry, bool | np.bool_) or is_number(entry):
        whole = float(entry).is_integer()
        return b"#%r" % (int(entry) if whole else float(entry))
    return b"'" + str(entry).encode(errors="surrogatepass")
