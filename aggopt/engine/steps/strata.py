"""Strata of a table in parts, and the blocks within them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa

from aggopt.core.types import I64, Labels
from aggopt.data.context.strata import (
    count_strata,
    describe_small_strata,
    make_small_strata_error,
    require_complete,
)
from aggopt.data.restore_types import to_plain_column
from aggopt.engine.state.run_state import LeafState, RunState
from aggopt.engine.state.split_tree import merge_leaves
from aggopt.engine.storage.scratch_files import (
    load_state,
    load_table,
    save_state,
    save_table,
)
from aggopt.errors import InfeasibleInputError, naming
from aggopt.release.audit.counts import combine_codes, encode_entries

MOST = 100_000  # strata times leaves: files in between have a part for each
COUNT = "records of stratum"
LESS = (
    'set small = "merge" under [strata], which puts each with the nearest one, or '
    '"drop", which leaves their records out, where others are left; or name fewer '
    "columns as stratum, or a smaller k."
)

Keep = Callable[[Sequence[int]], bool]
Part = tuple[int, ...]  # buckets of one stratum, after each other in the tree


@dataclass(frozen=True, eq=False)
class TableStrata:
    """Published strata of a table, and the treatment of the others.

    Attributes
    ----------
    keys
        The values of each, in a row: (s, q); if some are merged, the values before.
    sizes : (s,)
        Number of records of each.
    small, records
        Number of further strata with fewer than k records, left out or merged with
        others; and the number of their records.
    into
        Stratum that each row of `keys` is merged into; None if none is.
    published
        The values of strata after merging, in a row each: (s, q).
    changed
        Number of records that are published with other values than their own.
    """

    keys: pa.Table = field(repr=False)
    sizes: I64 = field(repr=False)
    small: int = 0
    records: int = 0
    into: I64 | None = field(default=None, repr=False)
    published: pa.Table | None = field(default=None, repr=False)
    changed: int = 0

    def of(self, rows: pa.Table) -> I64:
        """Return the stratum of each row (n,), 0..s-1; -1 if it is left out."""
        columns = convert_to_plain(rows, self.keys.column_names)
        codes = combine_columns(pa.concat_tables([self.keys, columns]))
        place = np.full(int(codes.max()) + 1, -1)
        count = len(self.keys)
        place[codes[:count]] = np.arange(count) if self.into is None else self.into
        return place[codes[count:]]

    @property
    def notes(self) -> Iterator[str]:
        """Yield the text of a note on small strata, if there are any."""
        if self.small:
            changed = None if self.into is None else self.changed
            yield describe_small_strata(self.small, self.records, changed)

    def to_dict(self) -> dict[str, Any]:
        """Return the counts of strata, small ones and their records, for JSON."""
        dropped = self.records if self.into is None else 0
        return count_strata(self.sizes, self.small, self.records, self.changed, dropped)


def convert_to_plain(rows: pa.Table, names: Sequence[str]) -> pa.Table:
    """Return the named columns decoded from dictionaries."""
    return pa.table({name: to_plain_column(rows.column(name)) for name in names})


def combine_columns(rows: pa.Table) -> Labels:
    """Return a code (n,), 0..m-1, for each row's combination of values."""
    frame = nw.from_native(rows, eager_only=True)
    return combine_codes([encode_entries(column) for column in frame.iter_columns()])


def count_part_strata(number: int, config: RunState) -> int:
    """Write the record counts of a piece's strata; return the stratum count."""
    piece = config.pieces[number]
    names = config.job.roles.stratum
    rows = piece.read(names)
    with naming(piece.path.name):
        require_complete(nw.from_native(rows, eager_only=True), names)
    columns = convert_to_plain(rows, names)
    first, sizes = np.unique(
        combine_columns(columns), return_index=True, return_counts=True
    )[1:]
    counted = columns.take(pa.array(first)).append_column(COUNT, pa.array(sizes))
    save_table(config.at("strata", number), counted)
    return len(sizes)


def merge_strata_counts(config: RunState) -> Path:
    """Write the strata of the whole table; return the path.

    Raises
    ------
    InfeasibleInputError
        Some have fewer than k records and must be refused, or all have.
    """
    counts_of_parts = pa.concat_tables(
        map(load_table, config.all("strata", len(config.pieces)))
    )
    keys = counts_of_parts.drop_columns([COUNT])
    counts = counts_of_parts.column(COUNT).to_numpy()
    first, which = np.unique(
        combine_columns(keys), return_index=True, return_inverse=True
    )[1:]
    sizes = np.bincount(which, counts).astype(np.int64)
    merged = config.job.strata.small == "merge"  # once the means of all are known
    few = (sizes < config.job.privacy.k) & (not merged)
    small = int(few.sum())
    records = int(sizes[few].sum())
    if few.all() or (small and config.job.strata.small == "refuse"):
        raise make_small_strata_error(
            small, len(sizes), records, config.job.privacy.k, fix=LESS
        )
    rows = np.sort(first[~few])
    strata = TableStrata(keys.take(pa.array(rows)), sizes[which[rows]], small, records)
    to = config.work / "of-strata"
    save_state(to, strata)
    return to


def read_published_rows(
    rows: pa.Table, first: int, config: RunState
) -> tuple[pa.Table, I64]:
    """Return the rows of a piece that are published, and their numbers."""
    numbers = first + np.arange(len(rows), dtype=np.int64)
    if config.strata is None:
        return rows, numbers
    state = load_state(config.strata).of(rows) >= 0
    return rows.filter(pa.array(state)), numbers[state]


def count_buckets(config: LeafState) -> int:
    """Return the number of buckets of records: leaves times strata.

    Raises
    ------
    InfeasibleInputError
        They are more than files can have.
    """
    leaves = config.leaves
    if config.strata is None:
        return leaves
    strata = len(load_state(config.strata).sizes)
    if strata * leaves > MOST:
        raise InfeasibleInputError(
            f"There are {strata} strata, each to be cut into {leaves} parts: more than "
            f"{MOST} in all.",
            fix="choose a larger block under [engine], or name fewer columns as "
            "stratum.",
        )
    return strata * leaves


def find_bucket(leaf: I64, rows: pa.Table, config: LeafState) -> I64:
    """Return the bucket of each row (n,): its leaf within its stratum."""
    if config.strata is None:
        return leaf
    return np.asarray(load_state(config.strata).of(rows) * config.leaves + leaf)


def split_strata(
    sizes: I64, config: LeafState, keep: Keep, smallest: int
) -> list[Part]:
    """Return parts of adjacent buckets, each of `smallest` records or more.

    A part has `smallest` records or more, and within strata half a block, or all that
    its stratum has.
    """
    if config.strata is None:
        return merge_leaves(sizes, smallest, keep)
    smallest = max(smallest, config.job.engine.block // 2)
    strata: list[Part] = []
    for sources in np.split(np.arange(len(sizes)), len(sizes) // config.leaves):
        is_present = sources[sizes[sources] > 0]
        strata += _iterate_parts(is_present, sizes[is_present], smallest, keep)
    return strata


def _iterate_parts(counts: I64, sizes: I64, needed: int, keep: Keep) -> Iterator[Part]:
    """Yield parts of a stratum: adjacent buckets with `needed` records."""

    def part(places: Sequence[int]) -> Part:
        return tuple(counts[list(places)].tolist())

    for places in merge_leaves(sizes, needed, lambda places: keep(part(places))):
        yield part(places)


def assign_parts_to_blocks(
    parts: Sequence[Part], sizes: I64, config: LeafState
) -> list[list[Part]]:
    """Return the parts of each block; small parts of strata share a block."""
    if config.strata is None:
        return [[part] for part in parts]
    block = config.job.engine.block
    result: list[list[Part]] = []
    filled = block
    for part in parts:
        records = count_records(part, sizes)
        if filled + records <= block:
            result[-1].append(part)
            filled += records
        else:
            result.append([part])
            filled = records
    return result


def count_records(part: Part, sizes: I64) -> int:
    """Return the number of records of a part, from bucket sizes (buckets,)."""
    return int(sizes[list(part)].sum())


def apply_within_strata(strata: I64, partition: Callable[[I64], Labels]) -> Labels:
    """Return the groups (n,) that `partition` makes within each stratum."""
    labels = np.empty(len(strata), np.intp)
    count = 0
    for stratum in np.unique(strata):
        rows = np.flatnonzero(strata == stratum)
        labels[rows] = count + partition(rows)
        count = int(labels[rows].max()) + 1
    return labels
