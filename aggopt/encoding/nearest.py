"""The published row that is nearest to a record, by the distances of its types."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from aggopt.core.standardise import Scale
from aggopt.core.types import F64, I64
from aggopt.encoding.attribute_type import NUMERIC, AttributeType
from aggopt.encoding.domain import Domain, sort_distinct
from aggopt.encoding.levels import read_categories
from aggopt.encoding.typed_column import DEFAULT, NAME, TypedColumn
from aggopt.errors import naming

AT_ONCE = 2**22  # distances that are looked at together: 32 MiB of each attribute

Distances = Callable[[slice], F64]


def find_nearest_rows(
    published: nw.DataFrame[Any],
    counts: I64,
    records: nw.DataFrame[Any],
    types: Mapping[str, AttributeType],
) -> I64:
    """Return for each record (n,) the number of the nearest published row.

    Parameters
    ----------
    published
        Different rows (m,) of a release.
    counts : (m,)
        Number of records with each row.  Attributes have the weights that
        `aggopt.encode` gives the whole release.
    records
        Records (n,) with the columns of the release, in their order.  An
        unpublished name is equally far from each published name.  Of equally near rows
        the first is taken, so that no record depends on another.
    types
        As `aggopt.encode` takes them.

    Raises
    ------
    TableError
        Entries are missing, of another type than the published entries, or absent from
        the order or tree of their attribute.
    """
    apart: list[Distances] = []
    for name, column in zip(published.columns, records.columns, strict=True):
        with naming(f"Column {name!r}"):
            declared = types.get(name, AttributeType())
            apart += _compute_distances(
                published[name], counts, records[column], declared
            )
    step = max(1, AT_ONCE // len(published))
    parts = [slice(i, i + step) for i in range(0, len(records), step)]
    places = np.zeros(len(records), np.int64)
    for rows in parts if apart else ():
        places[rows] = np.argmin(sum(distance(rows) for distance in apart), axis=1)
    return places


def _compute_distances(
    published: nw.Series[Any],
    counts: I64,
    column: nw.Series[Any],
    attribute_type: AttributeType,
) -> list[Distances]:
    """Return weighted squared distances of an attribute; none if its rows are equal."""
    typed = TypedColumn.of(column, attribute_type.kind, attribute_type.format)
    if (attribute_type.kind or DEFAULT[typed.what]) in NUMERIC:
        return _compute_number_distances(
            TypedColumn.of(published, attribute_type.kind, attribute_type.format),
            counts,
            typed,
            attribute_type,
        )
    return _compute_level_distances(
        TypedColumn(published, NAME), counts, typed, attribute_type
    )


def _compute_number_distances(
    published: TypedColumn,
    counts: I64,
    original: TypedColumn,
    attribute_type: AttributeType,
) -> list[Distances]:
    """Return weighted squared distances of a numeric attribute, records by rows."""
    numbers = published.numeric()
    scale = Scale.of(np.repeat(numbers.values, counts)[:, None])
    if scale.constant[0]:
        return []
    z = scale.standardise(numbers.values[:, None])[:, 0]
    x = scale.standardise(original.on(numbers)[:, None])
    return [partial(_compute_squares, x, z, float(attribute_type.weight))]


def _compute_squares(x: F64, z: F64, weight: float, rows: slice) -> F64:
    """Return the weighted squared differences between values and published rows."""
    with np.errstate(over="ignore"):  # then it is far from all of them
        return np.asarray(weight * (x[rows] - z) ** 2)


def _compute_level_distances(
    published: TypedColumn,
    counts: I64,
    original: TypedColumn,
    attribute_type: AttributeType,
) -> list[Distances]:
    """Return weighted squared distances of a categorical attribute, records by rows."""
    categories = read_categories(
        original, attribute_type.kind or DEFAULT[original.what], attribute_type
    )
    domain = categories.domain
    codes = categories.codes
    if domain.kind == "nominal":
        domain, codes = _join_domains(published, original)
    at = {None if node is None else str(node): j for j, node in enumerate(domain.nodes)}
    place, distinct = published.coded
    nodes = [at.get(str(level), -1) for level in distinct]
    node = np.array([*nodes, at.get(None, -1)])[place]  # missing has the code -1
    steps = domain.steps / domain.unit
    shares = np.bincount(node[node >= 0], counts[node >= 0], len(steps)) / counts.sum()
    spread = float(shares @ steps @ shares) / 2
    if not spread:
        return []
    table = np.where(node >= 0, steps[:, node], 1.0) * (attribute_type.weight / spread)
    return [partial(_look_up, table, codes)]


def _join_domains(published: TypedColumn, original: TypedColumn) -> tuple[Domain, I64]:
    """Return the domain of the published and the records' names, and records' codes."""
    codes, distinct = original.coded
    names = sort_distinct({*distinct, *published.coded[1]})
    at = {name: j for j, name in enumerate(names)}
    place = np.array([*(at[name] for name in distinct), len(names)])
    return Domain.nominal([*names, None]), place[codes]


def _look_up(table: F64, codes: I64, rows: slice) -> F64:
    """Return the distances of a table for codes of records and of published rows."""
    return table[codes[rows]]
