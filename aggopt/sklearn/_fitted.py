"""What an estimator keeps of the rows that it was fitted on: none of their entries."""

import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import cycle
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from aggopt.core.frame import to_frame
from aggopt.core.types import I64
from aggopt.core.validation import is_number
from aggopt.encoding import AttributeType
from aggopt.encoding.nearest import find_nearest_rows
from aggopt.encoding.typed_column import NAME, TypedColumn
from aggopt.release.release import Release

SIZE = 16  # bytes: of a million rows two that differ are alike once in 1e26 times


def hash_table_rows(frame: nw.DataFrame[Any], key: bytes) -> list[bytes]:
    """Return a keyed hash of each row (n,): equal for equal rows.

    Numbers and truth values count by their value, whatever type or library holds them,
    all else by its spelling.  Missing entries are equal.  Who has the key
    can check a guess of a whole row.
    """
    columns = [_list_cells(frame[name]) for name in frame.columns]
    rows = zip(*columns, strict=True)
    return [_hash(b"".join(cells), key) for cells in rows]


def _hash(row: bytes, key: bytes) -> bytes:
    return hashlib.blake2b(row, digest_size=SIZE, key=key).digest()


def _list_cells(column: nw.Series[Any]) -> list[bytes]:
    """Return the entries (n,), each with its length: no two rows are confused."""
    typed = TypedColumn(column, NAME)
    entries = zip(typed.entries.tolist(), typed.absent.tolist(), strict=True)
    spelled = [b"" if absent else _encode_entry(entry) for entry, absent in entries]
    return [b"%d:%s" % (len(text), text) for text in spelled]


def _encode_entry(entry: Any) -> bytes:
    if isinstance(entry, bool | np.bool_) or is_number(entry):
        is_integer = float(entry).is_integer()
        return b"#%r" % (int(entry) if is_integer else float(entry))
    return b"'" + str(entry).encode(errors="surrogatepass")


KEY = 32  # bytes of the key under which rows are hashed


@dataclass(frozen=True, eq=False)
class FittedRows:
    """Published row of each fitted record, and the keys that recognise records.

    Attributes
    ----------
    published
        Different rows (m,) of the release, as the kind of table that was fitted,
        without an index.
    place : (n,)
        Which of them each record has.
    hashes, key
        A hash of each record, and the key of all.
    types
        Settings of attributes, by name.
    """

    published: Any = field(repr=False)
    place: I64 = field(repr=False)
    hashes: tuple[bytes, ...] = field(repr=False)
    key: bytes = field(repr=False)
    types: Mapping[str, AttributeType] = field(repr=False)

    @classmethod
    def of(cls, frame: nw.DataFrame[Any], release: Release) -> "FittedRows":
        """Return the fitted state of the records (n,) of a release."""
        masked = release.masked
        key = secrets.token_bytes(KEY)
        _, first, place = np.unique(
            masked.matrix(), axis=0, return_index=True, return_inverse=True
        )
        native = masked.frame[first].to_native()
        if masked.is_array:
            native = native.to_numpy()
        elif masked.frame.implementation.is_pandas():
            native = native.reset_index(drop=True)  # it would say whose they were
        hashes = tuple(hash_table_rows(frame, key))
        return cls(native, place.ravel(), hashes, key, dict(masked.types))

    def places(self, frame: nw.DataFrame[Any]) -> I64:
        """Return which published row each record has (n,), -1 if it was not fitted.

        Equal rows take turns, so that all rows that were fitted, in any order, get what
        was released.
        """
        fitted: dict[bytes, list[int]] = {}
        for row, place in zip(self.hashes, self.place.tolist(), strict=True):
            fitted.setdefault(row, []).append(place)
        turns = {row: cycle(places) for row, places in fitted.items()}
        hashes = hash_table_rows(frame, self.key)
        return np.array([next(turns[row]) if row in turns else -1 for row in hashes])

    def nearest(self, frame: nw.DataFrame[Any]) -> I64:
        """Return which published row is nearest to each record, (n,)."""
        counts = np.bincount(self.place)
        return find_nearest_rows(to_frame(self.published), counts, frame, self.types)

    def at(self, place: I64, like: Any) -> Any:
        """Return published rows (n,): an array if `like` is an array.

        With the index of a pandas table that they are like.
        """
        if isinstance(self.published, np.ndarray):
            return self.published[place]
        rows = to_frame(self.published)[place]
        if isinstance(like, np.ndarray):
            return rows.to_numpy()
        native = rows.to_native()
        if not rows.implementation.is_pandas():
            return native
        indexed = nw.dependencies.is_pandas_dataframe(like)
        return native.set_axis(like.index if indexed else range(len(place)), axis=0)
