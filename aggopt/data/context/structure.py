"""Columns that number units: others are constant in their entries, or complete them.

The names of columns are not used, and no entry is passed on.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aggopt.core.types import I64

LEAST = 6  # entries of a column that numbers units: fewer are groups of a study
SHARED = 10  # records that share an entry with another: fewer are alike by chance
CHANCE = 1e-9  # that a column is constant within entries that have no part in it
SAMPLE = 2000  # records that are looked at before all of them
WIDE = 300  # columns: pairs of more take too long to look at


@dataclass(frozen=True)
class Structure:
    """Relations between columns.

    Attributes
    ----------
    constant
        The columns that are constant within the entries of each, by its name: as of a
        household; empty without any.
    panel
        The columns that have each entry of another once, as years of firms, by the
        name of either.
    """

    constant: Mapping[str, Sequence[str]] = field(default_factory=dict)
    panel: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, table: pa.Table) -> "Structure":
        """Return the relations of a table's columns; empty for very many columns."""
        if not 0 < table.num_columns <= WIDE:
            return cls()
        coded = {name: _encode_column(table[name]) for name in table.column_names}
        complete = {name: codes for name, codes in coded.items() if codes is not None}
        different = {name: int(codes.max()) + 1 for name, codes in complete.items()}
        constant: dict[str, list[str]] = {}
        panel: dict[str, list[str]] = {}
        n = len(table)
        for name, other in permutations(complete, 2):
            unit = complete[name]
            values = complete[other]
            m = different[name]
            width = different[other]
            if not LEAST <= m <= n - SHARED:
                continue
            if width > 1 and _is_constant(unit, values, m):
                constant.setdefault(name, []).append(other)
            elif (
                n <= m * width <= 2 * n
                and width < n
                and _count_pairs(unit, values) == n
            ):
                panel.setdefault(name, []).append(other)
        return cls(constant, panel)


def _encode_column(column: pa.ChunkedArray) -> I64 | None:
    """Return the number of each entry (n,) in their order; None if one is missing."""
    if column.null_count or not len(column):
        return None
    if not pa.types.is_dictionary(column.type):
        try:
            column = column.dictionary_encode()
        except pa.ArrowException:  # nested entries; the message may quote one
            return None
    unified = column.unify_dictionaries().combine_chunks()
    places = _order_entries(unified.dictionary)
    codes = np.asarray(unified.indices, np.int64)
    return np.unique(places[codes], return_inverse=True)[1].astype(np.int64)


def _order_entries(entries: pa.Array) -> I64:
    """Return the place of each entry in their order; of text that of numbers, if so."""
    try:
        numbers = pc.cast(entries, pa.float64())
    except pa.ArrowException:
        numbers = entries
    order = np.asarray(pc.array_sort_indices(numbers), np.int64)
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order))
    return places


def _count_pairs(one: I64, other: I64) -> int:
    """Return the number of distinct pairs of codes in two columns."""
    return len(np.unique(one * (int(other.max()) + 1) + other))


def _is_constant(unit: I64, values: I64, m: int) -> bool:
    """Whether values (n,) are constant in m units, and neither by chance nor derived.

    Derived values, such as groups of ages, rise or fall with the values that they are
    derived from.
    """
    first = np.zeros(m, np.int64)
    for some in (slice(SAMPLE), slice(None)):  # most columns differ soon
        first[unit[some][::-1]] = values[some][::-1]
        if (first[unit[some]] != values[some]).any():
            return False
    shares = np.bincount(values) / len(values)
    by_chance = (len(unit) - m) * np.log((shares**2).sum())
    steps = np.diff(first)
    return bool(by_chance < np.log(CHANCE) and not _is_monotone(steps))


def _is_monotone(steps: I64) -> bool:
    return bool((steps >= 0).all() or (steps <= 0).all())
