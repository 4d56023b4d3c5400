"""Loss of groups that publish values which are true of all their records.

A group publishes, for each attribute, a statement that is true of all its records: the
lowest common node of a tree, an interval between cut points, a range, or nothing
("suppressed").  Levels are ordered so that each statement covers neighbouring positions
(for a tree, a depth-first order of its leaves).  The least and the greatest position of
the records of a group then determine its statement, and so its loss:

    tree, by leaves    (leaves below the node - 1) / (leaves of the tree - 1)
    tree, by height    height of the node / height of the tree
    tree, own costs    cost of the node; costs never fall towards the root
    suppressed         0 if all values are equal, 1 otherwise
    range              (greatest - least) / (greatest - least of the table); of an order
                       the ranks, among all its levels
    interval           width between the nearest cut points around the group, over the
                       width between all; 0 if all values are equal

Leaves and levels are those of the tree or the order, not of the table, so that figures
of several tables compare.  A missing value is a level directly below the root: its loss
is 0 if all records of a group lack the value, and 1 if only some do.

The loss of a group is the sum over attributes of weight times loss, for each of its
records.  A larger group never loses less.

Source: Iyengar, KDD 2002 (by leaves); Samarati, IEEE TKDE 13(6), 2001 (by height); Xu,
Wang, Pei, Wang, Shi and Fu, KDD 2006 (ranges and intervals).
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from aggopt.core.memory import require_memory
from aggopt.core.plural import agree, plural
from aggopt.core.record_weights import weight_of_each
from aggopt.core.types import F64, I64
from aggopt.core.validation import check_groups, check_matrix, is_number
from aggopt.encoding.domain import Domain, LevelSpans
from aggopt.encoding.encoded_table import Encoded, EncodedAttribute
from aggopt.encoding.generalisation_rule import (
    ANCESTOR,
    HEIGHT,
    RANGE,
    SUPPRESS,
    GeneralisationRule,
    read_cuts,
    require_enclosed,
)
from aggopt.errors import JobError, naming, require_known


@dataclass(frozen=True, eq=False)
class Generalisation:
    """Values of an attribute in an order, and losses of groups by their first and last.

    Attributes
    ----------
    name
        Name of the attribute.
    positions : (n,)
        Position of each record's value, 0..m-1; each position has a record.
    places : (m,)
        Points of the positions: from position p to q the loss is the distance of their
        points, at most 1.  None if `table` has the losses.
    table : (m, m)
        Loss of a group whose values reach from one position to another one, symmetric.
    hulls : (h, 2)
        Least and greatest position of each rule.  None if any two positions are.
    weight
        Factor of the loss.
    """

    name: str
    positions: I64 = field(repr=False)
    places: F64 | None = field(default=None, repr=False)
    table: F64 | None = field(default=None, repr=False)
    hulls: I64 | None = field(default=None, repr=False)
    weight: float = 1.0

    @property
    def m(self) -> int:
        """Number of positions."""
        return len(self.table if self.places is None else self.places)  # type: ignore[arg-type]

    def losses(self, lowest: I64, highest: I64) -> F64:
        """Return the losses, without the weight, between positions of equal shapes."""
        if self.places is not None:
            between = self.places[highest] - self.places[lowest]
            return np.asarray(np.minimum(np.abs(between), 1.0))
        return np.asarray(self.table[lowest, highest])  # type: ignore[index]


@dataclass(frozen=True, eq=False)
class DistinctRecords:
    """Distinct records of a table.

    Attributes
    ----------
    positions : (c, d)
        Position of each combination in each attribute.
    counts, weights : (c,)
        Number of records, and the sampling weight of each of them.
    kinds : (c,)
        Kind of these records, 0, 1, ...; all 0 if none are given.
    of_record : (n,)
        Combination of each record.
    """

    positions: I64 = field(repr=False)
    counts: I64 = field(repr=False)
    weights: F64 = field(repr=False)
    kinds: I64 = field(repr=False)
    of_record: I64 = field(repr=False)

    def __len__(self) -> int:
        return len(self.counts)


@dataclass(frozen=True, eq=False)
class GeneralisedTable:
    """All attributes of a table, with the loss of any groups.

    Examples
    --------
    >>> import pandas as pd
    >>> from aggopt import encode
    >>> frame = pd.DataFrame({"age": [20, 30, 60, 70], "sex": list("ffmm")})
    >>> table = generalise(encode(frame))
    >>> table.compute_loss([0, 0, 1, 1]), table.largest_loss
    (0.8, 8.0)
    """

    attributes: tuple[Generalisation, ...]

    def __len__(self) -> int:
        return len(self.attributes[0].positions)

    @cached_property
    def positions(self) -> I64:
        """Position of each record in each attribute, (n, d)."""
        return np.stack([a.positions for a in self.attributes], axis=1)

    @property
    def largest_loss(self) -> float:
        """The loss if all values of all records are suppressed."""
        return len(self) * sum(a.weight for a in self.attributes)

    def combine(
        self, weights: npt.ArrayLike | None = None, kinds: I64 | None = None
    ) -> "DistinctRecords":
        """Return the distinct records, ordered by their first records.

        They differ in a position, in their weight, or in their kind (n,).
        """
        kind = np.zeros(len(self), np.int64) if kinds is None else kinds
        rows = np.column_stack([self.positions, kind])
        if weights is not None:
            values = weight_of_each(weights, len(self))
            codes = np.unique(values, return_inverse=True)[1].reshape(-1, 1)
            rows = np.hstack([rows, codes.astype(np.int64)])
        _, first, place = np.unique(
            rows, axis=0, return_index=True, return_inverse=True
        )
        order = np.argsort(first)
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        of_record = rank[place.reshape(-1)]
        firsts = first[order]
        return DistinctRecords(
            np.ascontiguousarray(self.positions[firsts]),
            np.bincount(of_record).astype(np.int64),
            np.ones(len(firsts)) if weights is None else values[firsts],
            np.unique(kind, return_inverse=True)[1].astype(np.int64)[firsts],
            of_record,
        )

    def find_hulls(self, labels: npt.ArrayLike) -> tuple[I64, I64]:
        """Return the least and the greatest positions of each group, (g, d) each."""
        group = check_groups(labels, len(self))
        order = np.argsort(group, kind="stable")
        starts = np.flatnonzero(np.diff(group[order], prepend=-1))
        sorted_positions = self.positions[order]
        lowest = np.minimum.reduceat(sorted_positions, starts)
        return lowest, np.maximum.reduceat(sorted_positions, starts)

    def compute_group_losses(self, labels: npt.ArrayLike) -> F64:
        """Return the loss of each record of a group, (g,)."""
        lowest, highest = self.find_hulls(labels)
        losses = np.zeros(len(lowest))
        for j, a in enumerate(self.attributes):
            losses += a.weight * a.losses(lowest[:, j], highest[:, j])
        return losses

    def compute_loss(
        self, labels: npt.ArrayLike, weights: npt.ArrayLike | None = None
    ) -> float:
        """Return the loss of all records, or of as many as sampling weights count."""
        losses = self.compute_group_losses(labels)
        group = check_groups(labels, len(self))
        counts = np.bincount(group, weight_of_each(weights, len(self)))
        return float(counts @ losses)


def generalise(
    encoded: Encoded, rules: Mapping[str, GeneralisationRule] | None = None
) -> GeneralisedTable:
    """Return the positions and losses of the attributes of an encoded table.

    Parameters
    ----------
    encoded
        The quasi-identifiers, from `aggopt.encode`.
    rules
        What attributes publish, by name, in place of what their types state.

    Raises
    ------
    JobError
        A statement has no meaning for its attribute; a name that no attribute has
        (UnknownNameError); costs that fall towards the root, or name no node.
    TableError
        Values are outside the cut points.  The message has counts, never values.
    MemoryLimitError
        The losses of an attribute with many levels do not fit into memory.
    """
    chosen = dict(rules or {})
    names = [a.name for a in encoded.attributes]
    for name in chosen:
        require_known("attribute", name, names)
    attributes = []
    for attribute in encoded.attributes:
        with naming(f"Attribute {attribute.name!r}"):
            rule = chosen.get(attribute.name, attribute.rule)
            attributes.append(_generalise_attribute(attribute, rule))
    return GeneralisedTable(tuple(attributes))


def generalise_numbers(X: npt.ArrayLike) -> GeneralisedTable:
    """Return the positions and losses of numbers (n, d) that publish ranges.

    >>> generalise_numbers([[0.0], [1.0], [3.0], [4.0]]).compute_loss([0, 0, 1, 1])
    1.0
    """
    columns = check_matrix(X).T
    return GeneralisedTable(
        tuple(
            _place_range(str(j), x, 1.0, (float(x.min()), float(x.max())))
            for j, x in enumerate(columns)
        )
    )


def _generalise_attribute(
    attribute: EncodedAttribute, rule: GeneralisationRule
) -> Generalisation:
    publish = rule.choose(attribute.kind)
    name, weight = attribute.name, float(rule.weight)
    if attribute.numbers is not None:
        values = attribute.numbers.values
        if publish == SUPPRESS:
            return _place_names(name, np.unique(values, return_inverse=True)[1], weight)
        if publish == RANGE:
            return _place_range(name, values, weight, attribute.numbers.ends)
        return _place_intervals(name, values, read_cuts(rule.cuts), weight)
    if publish == ANCESTOR:
        return _place_tree(attribute, rule)
    levels, positions = np.unique(attribute.codes, return_inverse=True)
    if publish == SUPPRESS:
        return _place_names(name, positions, weight)
    places = levels / max(attribute.domain.m - 1, 1)
    return Generalisation(name, positions, places=places, weight=weight)


def _place_names(name: str, codes: npt.ArrayLike, weight: float) -> Generalisation:
    """Return names, suppressed unless equal: points at a distance of 1 or more."""
    positions = np.asarray(codes, np.int64)
    m = int(positions.max()) + 1
    singles = np.repeat(np.arange(m), 2).reshape(m, 2)
    hulls = np.vstack([singles, [[0, m - 1]]]) if m > 1 else singles
    places = np.arange(m, dtype=np.float64)
    return Generalisation(name, positions, places=places, hulls=hulls, weight=weight)


def _place_range(
    name: str, values: F64, weight: float, ends: tuple[float, float]
) -> Generalisation:
    """Return numbers whose losses are distances, over that of the table's ends."""
    distinct, positions = np.unique(values + 0.0, return_inverse=True)
    half = distinct / 2 - (distinct[0] / 4 + distinct[-1] / 4)
    width = ends[1] / 2 - ends[0] / 2
    places = half / width if width > 0 else np.zeros(len(half))
    return Generalisation(
        name, positions.astype(np.int64), places=places, weight=weight
    )


def _place_intervals(
    name: str, values: F64, cuts: F64, weight: float
) -> Generalisation:
    """Return numbers that publish the nearest cut points around them.

    An interval includes its lower cut point, and the last one its upper one, too.
    """
    require_enclosed(values, cuts)
    distinct, positions = np.unique(values + 0.0, return_inverse=True)
    m = len(distinct)
    require_memory(8 * m * m, f"the losses between {m} values")
    cell = np.minimum(np.searchsorted(cuts, distinct, "right"), len(cuts) - 1) - 1
    upper, lower = np.maximum.outer(cell, cell) + 1, np.minimum.outer(cell, cell)
    table = (cuts[upper] - cuts[lower]) / (cuts[-1] - cuts[0])
    np.fill_diagonal(table, 0.0)
    first = np.searchsorted(cell, np.unique(cell), "left")
    last = np.searchsorted(cell, np.unique(cell), "right") - 1
    intervals = [(p, q) for j, p in enumerate(first) for q in last[j:]]
    hulls = _list_hulls(intervals, m)
    return Generalisation(
        name, positions.astype(np.int64), table=table, hulls=hulls, weight=weight
    )


def _place_tree(
    attribute: EncodedAttribute, rule: GeneralisationRule
) -> Generalisation:
    """Return the levels with records in the depth-first order of their tree."""
    domain = attribute.domain
    costs = _compute_node_costs(domain, rule.cost)
    order = _order_depth_first(domain)
    levels = order[np.isin(order, attribute.codes)]
    m = len(levels)
    require_memory(8 * m * m, f"the losses between {m} levels")
    place = np.full(domain.m, -1)
    place[levels] = np.arange(m)
    lowest, highest = _find_spans(domain, place)
    table = np.full((m, m), np.inf)
    spans = []
    for node in reversed(range(domain.m, len(domain.nodes))):  # parents first
        p, q = int(lowest[node]), int(highest[node])
        if p <= q:
            table[p : q + 1, p : q + 1] = costs[node]
            spans.append((p, q))
    np.fill_diagonal(table, 0.0)
    return Generalisation(
        attribute.name,
        place[attribute.codes],
        table=table,
        hulls=_list_hulls(spans, m),
        weight=float(rule.weight),
    )


def _list_hulls(spans: list[tuple[int, int]], m: int) -> I64:
    """Return distinct spans and single positions (h, 2), narrow ones first."""
    distinct = {(int(p), int(q)) for p, q in spans} | {(p, p) for p in range(m)}
    ordered = sorted(distinct, key=lambda span: (span[1] - span[0], span[0]))
    return np.array(ordered, np.int64)


def _find_spans(domain: Domain, place: I64) -> tuple[I64, I64]:
    """Return the least and greatest place below each node; least > greatest if none."""
    size = len(domain.nodes)
    lowest, highest = np.full(size, size), np.full(size, -1)
    present = np.flatnonzero(place >= 0)
    lowest[present] = highest[present] = place[present]
    for node in range(size):  # children first
        above = domain.parent[node]
        if above >= 0:
            lowest[above] = min(lowest[above], lowest[node])
            highest[above] = max(highest[above], highest[node])
    return lowest, highest


def _order_depth_first(domain: Domain) -> I64:
    """Return the leaves, so that those below any node are neighbours."""
    children: dict[int, list[int]] = {}
    for node, above in enumerate(domain.parent.tolist()):
        children.setdefault(above, []).append(node)
    waiting, leaves = children[-1][::-1], []
    while waiting:
        node = waiting.pop()
        if node < domain.m:
            leaves.append(node)
        else:
            waiting += children[node][::-1]
    return np.array(leaves, np.int64)


def _compute_node_costs(domain: Domain, cost: str | Mapping[Any, float]) -> F64:
    """Return the loss of each node of a tree, 0 of leaves, 1 of the root if not own."""
    size = len(domain.nodes)
    if isinstance(cost, Mapping):
        return _read_node_costs(domain, cost)
    inner = np.arange(size) >= domain.m
    if cost == HEIGHT:
        height = np.zeros(size)
        for node in range(size - 1):  # children first
            height[domain.parent[node]] = height[node] + domain.rise[node]
        return np.where(inner, height / max(height[-1], 1.0), 0.0)
    leaves = np.zeros(size)
    leaves[: domain.m] = [level is not None for level in domain.levels]
    for node in range(size - 1):
        leaves[domain.parent[node]] += leaves[node]
    costs = (leaves - 1) / max(leaves[-1] - 1, 1.0)
    costs[-1] = 1.0  # with a missing value below the root, of any number of leaves
    return np.where(inner, costs, 0.0)


def _read_node_costs(domain: Domain, cost: Mapping[Hashable, float]) -> F64:
    """Return costs by name; refuse those of no node, and those that fall."""
    inner = set(domain.nodes[domain.m :])
    unknown = sum(name not in inner for name in cost)
    missing = sum(name not in cost for name in inner)
    if unknown or missing:
        raise JobError(
            f"The costs leave out {plural(missing, 'inner node')} of the tree, and "
            f"{unknown} of their names {agree(unknown, 'is', 'are')} none of its inner "
            "nodes.",
            fix="name the cost of each inner node, the root included.",
        )
    costs = np.zeros(len(domain.nodes))
    for node in range(domain.m, len(domain.nodes)):
        value = cost[domain.nodes[node]]
        costs[node] = value if is_number(value) else np.nan
    if not np.isfinite(costs).all() or (costs < 0).any():
        raise JobError(
            "A cost is no finite number from 0 up.",
            fix="pass such a number for each inner node.",
        )
    falls = sum(
        costs[node] > costs[above] for node, above in enumerate(domain.parent[:-1])
    )
    if falls:
        raise JobError(
            f"The costs fall towards the root, at {plural(int(falls), 'node')}: a "
            "larger group would lose less.",
            fix="give no node a lower cost than one below it.",
        )
    return costs


def compute_published_losses(attribute: EncodedAttribute, nodes: I64) -> F64:
    """Return the loss of the node that is published for each record (n,), 0 to 1.

    A node that is not true of its record loses all: 1.
    """
    domain = attribute.domain
    is_true = domain.above[attribute.codes, nodes]
    return np.where(is_true, compute_node_losses(domain, attribute.rule)[nodes], 1.0)


def compute_node_losses(domain: Domain, rule: GeneralisationRule) -> F64:
    """Return the loss of each node that groups may publish, without the weight."""
    if isinstance(domain, LevelSpans):
        width = domain.ends[:, 1] - domain.ends[:, 0]
        return np.asarray(width / max(domain.m - 1, 1))
    return _compute_node_costs(domain, rule.cost)
