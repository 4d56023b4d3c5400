"""A released table, read with the types of the original."""

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from aggopt.core.frame import to_frame
from aggopt.core.plural import plural
from aggopt.core.types import F64, I64
from aggopt.encoding.domain import Domain
from aggopt.encoding.encoded_table import Encoded, EncodedAttribute
from aggopt.encoding.iso_text import parse_text_dates
from aggopt.encoding.typed_column import NAME, RANKED, TypedColumn
from aggopt.errors import TableError, naming


def read_released_values(original: Encoded, released: Any) -> list[F64 | I64]:
    """Return for each attribute the number or the node (n,) released for each record.

    Nodes are numbered as in the attribute's domain, including the inner nodes of
    a tree.  A name of several nodes refers to the level, or else to the lowest node.

    Raises
    ------
    TableError
        `released` is not a table, has other records or columns than the original, has
        another type, or has values absent from the order or tree.  The message contains
        counts, never values.
    """
    table = to_frame(released)
    names = [attribute.name for attribute in original.attributes]
    others = set(table.columns) ^ set(names)
    if others:
        raise TableError(
            f"{plural(len(others), 'column')} of one of the tables "
            f"{'is' if len(others) == 1 else 'are'} not in the other: "
            f"{', '.join(map(repr, sorted(others)))}.",
            fix="pass the same attributes of both.",
        )
    if len(table) != len(original):
        raise TableError(
            f"The original has {plural(len(original), 'record')}, and the release "
            f"{len(table)}.",
            fix="pass the same records in the same order.",
        )
    values = []
    for attribute in original.attributes:
        with naming(f"Column {attribute.name!r}"):
            values.append(_read_values(attribute, table[attribute.name]))
    return values


def _read_values(attribute: EncodedAttribute, series: nw.Series[Any]) -> F64 | I64:
    if attribute.numbers is None:
        return _find_nodes(attribute.domain, TypedColumn(series, NAME))
    clock = attribute.numbers.clock
    column = TypedColumn.of(
        series if clock is None else parse_text_dates(series, clock.format)
    )
    if column.what in (NAME, RANKED) and column.series.dtype != nw.Boolean:
        raise TableError(
            "What is released are names, and in the original numbers.",
            fix="pass the numbers that are released.",
        )
    return column.on(attribute.numbers)


def _find_nodes(domain: Domain, column: TypedColumn) -> I64:
    at: dict[Any, int] = {}
    spelled: dict[str, int] = {}  # nodes above numbers are released as text
    for j, node in enumerate(domain.nodes):
        at.setdefault(node, j)
        spelled.setdefault(str(node), j)
    codes, distinct = column.coded
    nodes = [at.get(value, spelled.get(str(value), -1)) for value in distinct]
    nodes_of_records = np.array([*nodes, at.get(None, -1)])[
        codes
    ]  # missing has the code -1
    strange = int((nodes_of_records < 0).sum())
    if strange:
        raise TableError(
            f"{strange} of {len(nodes_of_records)} records "
            f"{'is' if strange == 1 else 'are'} "
            "released with what no record of the original has, nor its order or tree.",
            fix="pass the same attributes of both, spelled and typed alike.",
        )
    return nodes_of_records
