"""Categorical quasi-identifiers of a table: their types, their levels, and back.

A table counts and compares them by the number of their level; a level is published as
an entry of the very column, so that every type is preserved.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa

from aggopt.core.types import I64, Bool, Floats
from aggopt.data.parsing.entries import Entry, read_tree
from aggopt.data.restore_types import blank_entries, take_rows
from aggopt.encoding import AttributeType, Domain
from aggopt.encoding.attribute_type import NUMERIC
from aggopt.encoding.levels import read_categories, require_few
from aggopt.encoding.typed_column import DEFAULT, NAME, WORDS, TypedColumn
from aggopt.errors import JobError, TableError, naming
from aggopt.job import AttributeSection

Types = Mapping[str, AttributeType]


def find_encoding_types(
    frame: nw.DataFrame[Any], attributes: Mapping[str, AttributeSection]
) -> Types:
    """Return the types of a table's columns for `aggopt.encode`.

    Names in an order or a tree are read as the column spells them: whole numbers as
    text if the column is text, and vice versa.
    """
    return {
        name: _convert_levels(section.type, _choose_conversion(frame[name]))
        for name, section in attributes.items()
    }


def _convert_levels(attribute_type: AttributeType, entry: Entry) -> AttributeType:
    """Return a type whose levels are converted by a function of one entry."""
    tree = attribute_type.tree
    order = attribute_type.order
    if order is not None:
        order = [entry(level) for level in order]
    if tree is not None and not isinstance(tree, str):
        tree = read_tree(tree, entry)
    return replace(attribute_type, order=order, tree=tree)


def _choose_conversion(column: nw.Series[Any]) -> Entry:
    """Return the function that converts levels to the entries of a column."""
    if column.dtype.is_integer():
        return _to_whole
    return _to_text if column.dtype in WORDS else lambda value: value


def _to_whole(value: Any) -> Any:
    spelled = isinstance(value, str) and value.removeprefix("-").isdecimal()
    return int(value) if spelled and str(int(value)) == value else value


def _to_text(value: Any) -> Any:
    return str(value) if type(value) is int else value


def find_domains(
    frame: nw.DataFrame[Any],
    names: Iterable[str],
    types: Types,
    keep_missing: Collection[str] = (),
) -> dict[str, Domain]:
    """Return the levels of categorical columns, by name.

    Missing values in `keep_missing` columns are not a level, and not refused.

    Raises
    ------
    TableError, JobError
        As `aggopt.encode`: the message names the column, never a level.
    """
    domains = {}
    for name in names:
        attribute_type = types.get(name, AttributeType())
        numeric = not attribute_type.kind and frame[name].dtype.is_numeric()
        if attribute_type.kind in NUMERIC or numeric:
            continue
        with naming(f"Column {name!r}", name):
            column = TypedColumn.of(frame[name])
            if name in keep_missing and column.absent.any():
                column = TypedColumn.of(frame[name][np.flatnonzero(~column.absent)])
            kind = attribute_type.kind or DEFAULT[column.what]
            if kind != "numeric":
                categories = read_categories(column, kind, attribute_type)
                require_few(categories.domain, categories.record_counts)
                _require_storable(frame[name])
                domains[name] = categories.domain
    return domains


def _require_storable(column: nw.Series[Any]) -> None:
    """Refuse now names of a type that no file can hold."""
    if column.dtype != nw.Object:
        return
    try:
        column.to_arrow()
        return
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        pass  # its message quotes an entry
    raise TableError(
        "The values are of a type that no file can hold, as whole numbers beyond 64 "
        "bits are.",
        fix="make them text, which is masked as it is spelled.",
    )


def find_nodes(column: nw.Series[Any], domain: Domain) -> I64:
    """Return the node of each entry (n,); other entries have numbers of their own.

    Nodes with one name count as the first of them, as for a reader of the column.
    """
    at: dict[Any, int] = {}
    for j, node in enumerate(domain.nodes):
        at.setdefault(node if node is None else str(node), j)
    codes, distinct = TypedColumn(column, NAME).coded
    names = [*map(str, distinct), None]  # what is missing has the code -1
    new = len(domain.nodes)
    return np.array([at.get(name, new + j) for j, name in enumerate(names)])[codes]


def find_missing_entries(column: nw.Series[Any]) -> Bool:
    """Return which entries are missing, (n,)."""
    return TypedColumn(column, NAME).absent


def _make_nullable(column: nw.Series[Any]) -> nw.Series[Any]:
    """Return a column, whole numbers of pandas in the type that has missing ones."""
    native = column.to_native()
    if not (column.implementation.is_pandas() and isinstance(native.dtype, np.dtype)):
        return column
    if native.dtype.kind not in "iu":
        return column
    kind = native.dtype.name.replace("uint", "UInt").replace("int", "Int")
    series: nw.Series[Any] = nw.from_native(native.astype(kind), series_only=True)
    return series


def publish_nodes(
    column: nw.Series[Any],
    domain: Domain,
    nodes: Floats,
    levels: nw.Series[Any] | None = None,
    *,
    as_text: bool = False,
) -> nw.Series[Any]:
    """Return a column with nodes (n,) in place of its entries, in its own type.

    If a published node is no record's own, the column becomes text; with `as_text` it
    does in any case.  `levels` are the entries of all records, if the column has only
    some.  A node of nan publishes a missing entry.
    """
    entries = column if levels is None else levels
    blank = np.isnan(nodes)
    n = len(nodes)
    entry_nodes = find_nodes(entries, domain)
    node = np.where(blank, 0, nodes)
    node = node.astype(np.int64)
    first = np.full(max(len(domain.nodes), entry_nodes.max() + 1), -1)
    first[entry_nodes[::-1]] = np.arange(len(entry_nodes))[::-1]
    rows = np.where(blank, 0, first[node])
    if (rows >= 0).all() and (column.dtype in WORDS or not as_text):
        taken = take_rows(entries, rows, like=column)
        return blank_entries(_make_nullable(taken) if blank.any() else taken, blank)
    if column.dtype not in WORDS and not as_text:
        raise JobError(
            f"{column.name!r}: nodes of a tree are published as text, and the column "
            "has none.",
            fix='make it text first, or set publish = "leaf".',
        )
    names = [domain.nodes[j] for j in node.tolist()]
    text = [name if name is None else str(name) for name in names]
    released = nw.new_series(
        column.name, text, nw.String, backend=column.implementation
    )
    return blank_entries(take_rows(released, np.arange(n), like=column), blank)
