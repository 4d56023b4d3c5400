"""Categorical attributes: from a column and its type to the level of each record."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from aggopt.core.columns import OWN
from aggopt.core.memory import require_memory
from aggopt.core.plural import is_or_are, plural
from aggopt.core.types import F64, I64, Bool
from aggopt.core.validation import check_groups, is_number
from aggopt.encoding.arx import build_arx_tree, check_rows, list_ways, read_rows
from aggopt.encoding.attribute_type import AttributeType
from aggopt.encoding.domain import Domain, LevelSpans, sort_distinct
from aggopt.encoding.generalisation_rule import RANGE, SUPPRESS
from aggopt.encoding.typed_column import RANKED, TypedColumn
from aggopt.errors import JobError, TableError
from aggopt.privacy.nested import read_parents


@dataclass(frozen=True, eq=False)
class Categories:
    """Levels of records in a domain.

    Attributes
    ----------
    domain
        The levels, and the distances between them.
    codes : (n,)
        Level of each record, 0..m-1.
    """

    domain: Domain
    codes: I64 = field(repr=False)

    @property
    def levels(self) -> tuple[Hashable, ...]:
        """Names of all levels (m,), with or without records."""
        return self.domain.levels

    @property
    def distances(self) -> F64:
        """Distances between nodes (nodes, nodes); the first m nodes are levels."""
        return self.domain.distances

    @cached_property
    def observed(self) -> Bool:
        """Whether any record has each level, (m,)."""
        return self.record_counts > 0

    @cached_property
    def record_counts(self) -> I64:
        """Number of records with each level, (m,)."""
        return np.bincount(self.codes, minlength=self.domain.m)

    def points(self) -> F64:
        """Return coordinates (n, q) without constant columns.

        Squared distances of records are the distances of their nodes.
        """
        coordinates = self.domain.apart(np.unique(self.codes))
        n = len(self.codes)
        p = coordinates.shape[1]
        require_memory(16 * n * p, f"{p} coordinates of {n} records")
        return np.asarray(coordinates[self.codes])

    def counts(self, labels: npt.ArrayLike, weights: F64 | None = None) -> I64 | F64:
        """Return the number of records with each level in each group, (groups, m).

        With `weights` (n,), return sums of weights instead.

        >>> Categories(Domain.nominal("ab"), np.array([0, 1, 1])).counts([0, 0, 1])
        array([[1, 1],
               [0, 1]])
        """
        group = check_groups(labels, len(self.codes))
        size = int(group.max()) + 1
        m = self.domain.m
        counts = np.bincount(group * m + self.codes, weights, minlength=size * m)
        return counts.reshape(size, m)

    def costs(self, labels: npt.ArrayLike, *, nodes: bool = False) -> F64:
        """Return the total distance of each group's records from each candidate.

        Candidates are the m levels, with `nodes` all nodes of the tree: (groups, m) or
        (groups, nodes).  Exact up to one rounding, so that equal costs are equal.

        >>> Categories(Domain.ordinal("abc"), np.array([0, 1, 2])).costs([0, 0, 0])
        array([[1.5, 1. , 1.5]])
        """
        domain = self.domain
        steps = domain.steps[: domain.m, : None if nodes else domain.m]
        return np.asarray(self.counts(labels) @ steps / domain.unit)


EPSILON = 2.0**-52
UP = 1 + 1e-5  # so that six digits suffice
ROUNDING = 1e-9  # of the largest eigenvalue: what rounding makes negative


@dataclass(frozen=True, eq=False)
class TableOfDistances(Domain):
    """Levels with user-defined distances `table` (m, m)."""

    table: F64 = field(repr=False)

    @classmethod
    def of(cls, distances: Any) -> "TableOfDistances":
        """Return the levels of a table of distances.

        Raises
        ------
        JobError
            The argument is not a table, misses a pair, is not symmetric, has an entry
            that is not a finite number from 0 up, or is not of negative type.
        """
        table = _make_symmetric(_read_map(distances))
        levels = sort_distinct(table)
        D = np.array([[table[u].get(v, 0.0) for v in levels] for u in levels])
        none = np.full(len(levels), -1)
        distance_table = cls(
            "distances", tuple(levels), len(levels), none, none * 0.0, 1.0, table=D
        )
        _require_negative_type(distance_table.spectrum[0])
        return distance_table

    @cached_property
    def spectrum(self) -> tuple[F64, F64]:
        """Eigenvalues, least first, and eigenvectors of -J D J / 2."""
        D = self.table
        centred = D - D.mean(axis=0) - D.mean(axis=1)[:, None] + D.mean()
        values, vectors = np.linalg.eigh(-centred / 2)
        return values, vectors

    @cached_property
    def points(self) -> F64:
        """Coordinates (m, q), whose squared distances are `distances`."""
        values, vectors = self.spectrum
        is_positive = values > EPSILON * len(values) * values[-1]
        return np.asarray(
            vectors[:, is_positive] * np.sqrt(values[is_positive]), np.float64
        )

    def find_differing(self, levels: I64) -> Bool:
        """Return which coordinates differ between nodes `levels`, (q,)."""
        selected = self.points[levels]
        return np.asarray((selected != selected[0]).any(axis=0))

    @property
    def steps(self) -> F64:
        """The distances themselves: their unit is 1."""
        return self.table


def _read_map(distances: Any) -> dict[Hashable, dict[Hashable, Any]]:
    """Return a mapping or data frame of distances as nested dicts."""
    if hasattr(distances, "to_dict") and hasattr(distances, "columns"):
        distances = distances.to_dict()
    if not isinstance(distances, Mapping) or not all(
        isinstance(row, Mapping) for row in distances.values()
    ):
        raise _explain_no_table(
            f"distances are {type(distances).__name__}, and no map of maps."
        )
    if not distances:
        raise _explain_no_table("distances are empty.")
    return {u: dict(row) for u, row in distances.items()}


def _make_symmetric(
    table: dict[Hashable, dict[Hashable, Any]],
) -> dict[Hashable, dict[Hashable, float]]:
    """Return the distance of each pair both ways round; of equals it is 0."""
    full: dict[Hashable, dict[Hashable, float]] = {u: {} for u in table}
    for u, row in table.items():
        for v, apart in row.items():
            if not (is_number(apart) and 0 <= apart < np.inf):
                raise _explain_no_table("A distance is no finite number from 0 up.")
            two_ways = table.get(v, {}).get(u, apart)
            if apart != two_ways or (u == v and apart):
                raise _explain_no_table(
                    "The distances are not symmetric, or not 0 of equals."
                )
            full[u][v] = float(apart)
            full.setdefault(v, {})[u] = float(apart)
    missing = sum(v not in full[u] for u in full for v in full if u != v) // 2
    if missing:
        pairs = f"{plural(missing, 'pair')} of {len(full)} levels"
        raise _explain_no_table(
            f"{pairs} {'has' if missing == 1 else 'have'} no distance."
        )
    return full


def _require_negative_type(eigenvalues: F64) -> None:
    """Refuse distances that no coordinates reproduce."""
    smallest = float(eigenvalues[0])
    largest = float(np.abs(eigenvalues).max())
    more = -2 * smallest * UP  # Lingoes, Statistique et Analyse des Donnees 1, 1971
    if smallest < -ROUNDING * largest:
        raise JobError(
            "The distances are not of negative type, so that no points are so far "
            f"apart: the least eigenvalue is {smallest:.6g}, and must not be below 0.",
            fix=f"add {more:.6g} to the distance of each two different levels, "
            "or give a tree.",
        )


def _explain_no_table(problem: str) -> JobError:
    """Return the error of an invalid table of distances."""
    return JobError(
        problem,
        fix='name the distance of each pair: {"a": {"b": 1.0, "c": 2.0}, "b": {"c": '
        "1.0}}.",
    )


WHERE = {"ordinal": "order", "hierarchical": "tree", "distances": "table of distances"}


def read_categories(
    column: TypedColumn, kind: str, attribute_type: AttributeType
) -> Categories:
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
    _require_complete(column, kind, attribute_type)
    has_missing = bool(column.absent.any())
    codes, distinct = column.coded
    if kind == "nominal":
        levels = [*sort_distinct(distinct), *([None] if has_missing else [])]
        domain = Domain.nominal(levels)
    elif kind == "ordinal":
        domain = Domain.ordinal(_read_ordered(column, attribute_type))
    elif kind == "hierarchical":
        domain = _read_hierarchical(attribute_type.tree, column, has_missing)
    else:
        domain = TableOfDistances.of(attribute_type.distances)
    if attribute_type.is_truthful:
        attribute_type.rule.choose(kind)
    if attribute_type.publish == SUPPRESS:
        domain = Domain.suppressed(domain.levels)
    elif attribute_type.publish == RANGE:
        domain = LevelSpans.of(domain.levels)
    place = _find_levels(distinct, codes, domain, kind)
    missing = domain.levels.index(None) if has_missing else -1
    return Categories(domain, np.append(place, missing)[codes])


def require_few(domain: Domain, counts: I64) -> None:
    """Refuse names that distinguish most records: they identify, and describe little.

    `counts` (m,) are the numbers of records with each level.

    Raises
    ------
    TableError
        The levels are three or more, and more than half as many as records.
    """
    n = int(counts.sum())
    m = int((counts > 0).sum())
    if domain.kind == "nominal" and m > max(2, n / 2):
        raise TableError(
            f"There are {m} different values among {n} records, as of an identifier.",
            fix='list the column as drop; or, in a job, write rare = "avoid", which '
            "publishes its frequent values alone, or a tree or an order of its values; "
            'of text that spells dates, as 2020-12-31, write kind = "date".',
        )


def _require_complete(
    column: TypedColumn, kind: str, attribute_type: AttributeType
) -> None:
    """Refuse missing entries unless the type makes them a level."""
    missing = int(column.absent.sum())
    if not missing:
        return
    if attribute_type.missing == OWN and kind in ("nominal", "hierarchical"):
        return
    if attribute_type.missing == OWN:
        raise JobError(
            f'Missing values have no place among values of kind "{kind}".',
            fix='fill it, or write kind = "nominal", or give a tree.',
        )
    raise TableError(
        f"{plural(missing, 'value')} {'is' if missing == 1 else 'are'} missing.",
        fix="remove those records or fill the values; what is missing among names can "
        f'be one level more: missing = "{OWN}"; and a job may say what is to '
        'happen: policy = "patterns" or "fill" under [missing].',
    )


def _read_ordered(column: TypedColumn, attribute_type: AttributeType) -> list[Hashable]:
    """Return the levels of an ordinal column, lowest first."""
    if attribute_type.order is not None:
        return list(attribute_type.order)
    if column.what == RANKED and column.categories is not None:
        return column.categories
    raise JobError(
        'kind = "ordinal" needs an order.',
        fix='name each level once, lowest first: order = ["low", "middle", "high"].',
    )


def _read_hierarchical(tree: Any, column: TypedColumn, is_nested: bool) -> Domain:
    """Return the domain of a tree for the entries of a column."""
    parent: dict[Any, Any]
    name: dict[Any, Any] = {}
    if isinstance(tree, str | Path):
        tree = read_rows(Path(tree))
    if isinstance(tree, list | tuple):
        parent, name = build_arx_tree(
            list_ways(check_rows(tree)), complete=column.whole
        )
    else:
        parent = read_parents(tree)
    if is_nested:
        parent[None] = next(iter(set(parent.values()) - set(parent)))
    return Domain.hierarchical(parent, name)


def _find_levels(
    distinct: list[Hashable], codes: I64, domain: Domain, kind: str
) -> I64:
    """Return the level of each distinct value."""
    at = {level: j for j, level in enumerate(domain.levels)}
    place = np.array([at.get(value, -1) for value in distinct])
    strange = place < 0
    if strange.any():
        records = int(strange[codes[codes >= 0]].sum())
        unknown = int(strange.sum())
        raise TableError(
            f"{unknown} of {plural(len(distinct), 'different value')}, of "
            f"{plural(records, 'record')}, {is_or_are(unknown)} not in the "
            f"{WHERE[kind]}.",
            fix="add each, spelled and typed as in the table.",
        )
    return place
