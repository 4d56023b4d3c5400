"""Categories of a table that is read in pieces: which levels there are, how often."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aggopt.core.columns import OWN
from aggopt.core.types import F64, I64
from aggopt.data.restore_types import to_plain_column
from aggopt.encoding import AttributeType, Domain
from aggopt.encoding.domain import describe_odd_branches
from aggopt.encoding.encode_table import weight_of
from aggopt.encoding.levels import read_categories, require_few
from aggopt.encoding.typed_column import DEFAULT, TypedColumn
from aggopt.engine.validate.values import (
    require_any_level,
    require_common_order,
    require_levels,
)
from aggopt.job import Job


@dataclass(frozen=True, eq=False)
class Levels:
    """Levels of a category, over all records of a table.

    Attributes
    ----------
    kind, domain
        Kind of the category, and the domain that defines distances.
    counts, shares : (m,)
        Number of records of each level, and its share of all; by weight, if they
        have any.
    weight
        Factor of distances; 0 if no record differs.
    asked
        The part of the factor that the job sets, 1 if it sets none.
    entries
        An entry of the column for each different value.
    """

    kind: str
    domain: Domain = field(repr=False)
    counts: I64 = field(repr=False)
    shares: F64 = field(repr=False)
    weight: float
    asked: float
    entries: pa.Array = field(repr=False)

    @classmethod
    def of(cls, values: pa.Table, declared: AttributeType) -> "Levels":
        """Return the levels of a category from counts of values, added over pieces.

        Each as `counted` has found them.

        Raises
        ------
        TableError
            They are too many; or as `aggopt.encode`.
        """
        counted = values.group_by("value", use_threads=False).aggregate(
            [("count", "sum")]
        )
        require_levels(len(counted))
        require_any_level(len(counted))
        entries = counted.column("value").combine_chunks()
        column = read_typed_entries(entries, declared)
        kind = declared.kind or DEFAULT[column.what]
        categories = read_categories(column, kind, declared)
        domain = categories.domain
        records = counted.column("count_sum").to_numpy()
        counts = np.bincount(categories.codes, records, domain.m).astype(np.int64)
        require_few(domain, counts)
        levels = cls(
            kind,
            domain,
            counts,
            counts.astype(np.float64),
            0.0,
            declared.weight,
            entries,
        )
        return levels.weighed(levels.shares)

    def weighed(self, sums: F64) -> "Levels":
        """Return the levels with shares of weight, from sums of weights per level.

        Sums are over all records of each level, (m,).
        """
        shares = sums / sums.sum()
        weight = weight_of(self.domain, shares, "variance")
        return replace(self, shares=shares, weight=self.asked * weight)

    @cached_property
    def points(self) -> F64:
        """Coordinates of all nodes (nodes, q), in dimensions where records differ."""
        if not self.weight:
            return np.empty((len(self.domain.nodes), 0))
        rows = np.flatnonzero(self.counts)
        return np.asarray(np.sqrt(self.weight) * self.domain.apart(rows))

    @cached_property
    def middle(self) -> F64:
        """The mean coordinates of all records (q,)."""
        return np.asarray(self.shares @ self.points[: self.domain.m])

    @property
    def note(self) -> str:
        """The text of a note on odd branches of the tree, else empty."""
        return describe_odd_branches(self.domain)

    def column(self, name: str) -> nw.Series[Any]:
        """Return a column of this name with each distinct value once."""
        column: nw.Series[Any] = nw.from_native(
            pa.chunked_array([self.entries]), series_only=True
        )
        return column.alias(name)


def count_coordinates(job: Job, levels: Mapping[str, Levels]) -> int:
    """Return the number of coordinates of a record: one of a number, more of nodes.

    `levels` are those of the categories, by name.
    """
    names = job.roles.quasi_identifier
    return sum(levels[n].points.shape[1] if n in levels else 1 for n in names)


def count_values(
    column: pa.ChunkedArray, declared: AttributeType, *, holes: bool = False
) -> pa.Table:
    """Return a table of the distinct values of some records and their counts.

    With `holes` missing values are not counted.

    Raises
    ------
    TableError, JobError
        As `aggopt.encode` of these records; or values are too many.
    """
    require_common_order(column.type, declared)
    entries = (
        _select_present(to_plain_column(column)) if holes else to_plain_column(column)
    )
    value_counts = pc.value_counts(entries)
    require_levels(len(value_counts))
    if entries.null_count < len(entries) or (len(entries) and declared.missing != OWN):
        typed = read_typed_entries(entries, declared)
        read_categories(typed, declared.kind or DEFAULT[typed.what], declared)
    return pa.table({"value": value_counts.field(0), "count": value_counts.field(1)})


def _select_present(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the entries that are not missing: neither null nor nan."""
    if pa.types.is_floating(column.type):
        column = column.filter(pc.invert(pc.is_nan(column)))
    return column.drop_null()


def read_typed_entries(
    entries: pa.Array | pa.ChunkedArray, declared: AttributeType
) -> TypedColumn:
    """Return the entries of a column with their inferred or declared type."""
    series = nw.from_native(_make_chunked(entries), series_only=True)
    return TypedColumn.of(series, declared.kind, declared.format)


def _make_chunked(entries: pa.Array | pa.ChunkedArray) -> pa.ChunkedArray:
    """Return entries as a chunked array."""
    chunked = isinstance(entries, pa.ChunkedArray)
    return entries if chunked else pa.chunked_array([entries])
