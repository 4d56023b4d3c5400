"""From a column and its type to the level of each record."""

from collections.abc import Hashable
from pathlib import Path
from typing import Any

import numpy as np

from aggopt.core.columns.values import OWN
from aggopt.core.plural import plural
from aggopt.core.types import I64
from aggopt.encoding._categories import Categories
from aggopt.encoding._distances import TableOfDistances
from aggopt.encoding._domain import Domain, in_order
from aggopt.encoding.arx import checked_rows, read_rows, tree_of_ways, ways
from aggopt.encoding.attribute_type import AttributeType
from aggopt.encoding.typed_column import RANKED, TypedColumn
from aggopt.errors import JobError, TableError
from aggopt.privacy.nested import parents

WHERE = {"ordinal": "order", "hierarchical": "tree", "distances": "table of distances"}


def categories_of(column: TypedColumn, kind: str, how: AttributeType) -> Categories:
    """Return the level of each record in a domain of this kind.

    Raises
    ------
    TableError
        Values are missing and do not count as a level; or values are absent from the
        order, the tree or the table of distances.  The message contains counts, never
        values.
    JobError
        An order, a tree or distances cannot be used, or an order is needed.
    """
    _require_complete(column, kind, how)
    own = bool(column.absent.any())
    codes, distinct = column.coded
    if kind == "nominal":
        levels = [*in_order(distinct), *([None] if own else [])]
        domain = Domain.nominal(levels)
    elif kind == "ordinal":
        domain = Domain.ordinal(_ordered(column, how))
    elif kind == "hierarchical":
        domain = _hierarchical(how.tree, column, own)
    else:
        domain = TableOfDistances.of(how.distances)
    place = _places(distinct, codes, domain, kind)
    missing = domain.levels.index(None) if own else -1
    return Categories(domain, np.append(place, missing)[codes])


def require_few(domain: Domain, counts: I64) -> None:
    """Refuse names that distinguish most records: they identify, and describe little.

    `counts` (m,) are the numbers of records with each level.

    Raises
    ------
    TableError
        The levels are three or more, and more than half as many as records.
    """
    n, m = int(counts.sum()), int((counts > 0).sum())
    if domain.kind == "nominal" and m > max(2, n / 2):
        raise TableError(
            f"There are {m} different values among {n} records, as of an identifier.",
            fix="leave the column out, or give a tree or an order of its values; of "
            'text that spells dates, as 2020-12-31, write kind = "date".',
        )


def _require_complete(column: TypedColumn, kind: str, how: AttributeType) -> None:
    missing = int(column.absent.sum())
    if not missing:
        return
    if how.missing == OWN and kind in ("nominal", "hierarchical"):
        return
    if how.missing == OWN:
        raise JobError(
            f'What is missing has no place among values of kind "{kind}".',
            fix='fill it, or write kind = "nominal", or give a tree.',
        )
    raise TableError(
        f"{plural(missing, 'value')} {'is' if missing == 1 else 'are'} missing.",
        fix="remove those records or fill the values; what is missing among names can "
        f'be one level more: missing = "{OWN}"; and a job may say what is to '
        'happen: policy = "patterns" or "fill" under [missing].',
    )


def _ordered(column: TypedColumn, how: AttributeType) -> list[Hashable]:
    if how.order is not None:
        return list(how.order)
    if column.what == RANKED and column.categories is not None:
        return column.categories
    raise JobError(
        'kind = "ordinal" needs an order.',
        fix='name each level once, lowest first: order = ["low", "middle", "high"].',
    )


def _hierarchical(tree: Any, column: TypedColumn, own: bool) -> Domain:
    parent: dict[Any, Any]
    name: dict[Any, Any] = {}
    if isinstance(tree, str | Path):
        tree = read_rows(Path(tree))
    if isinstance(tree, list | tuple):
        parent, name = tree_of_ways(ways(checked_rows(tree)), whole=column.whole)
    else:
        parent = parents(tree)
    if own:
        parent[None] = next(iter(set(parent.values()) - set(parent)))
    return Domain.hierarchical(parent, name)


def _places(distinct: list[Hashable], codes: I64, domain: Domain, kind: str) -> I64:
    """Return the level of each distinct value."""
    at = {level: j for j, level in enumerate(domain.levels)}
    place = np.array([at.get(value, -1) for value in distinct])
    strange = place < 0
    if strange.any():
        records = int(strange[codes[codes >= 0]].sum())
        raise TableError(
            f"{int(strange.sum())} of {len(distinct)} different values, of "
            f"{plural(records, 'record')}, are not in the {WHERE[kind]}.",
            fix="add each, spelled and typed as in the table.",
        )
    return place
