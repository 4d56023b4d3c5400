"""The values that a categorical attribute can have, as nodes of a tree.

Every edge has a length, and two values are as far apart as the path between them is
long: the ground distances of t-closeness, at most 1 between levels.

    nominal        a star, each edge 1/2: different values are 1 apart
    ordinal        a path, each edge 1/(m - 1): |r - r'| / (m - 1) of ranks r, r'
    hierarchical   the tree itself, an edge (h(parent) - h(child)) / (2 H) with heights
                   h and that of the root H: h(lowest common ancestor) / H

With a coordinate sqrt(length) for each edge between a value and the root, 0 for the
other edges, the squared Euclidean distance of two values is that length: they differ in
just the edges of the path between them.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from aggopt.core.memory import require_memory
from aggopt.core.plural import plural
from aggopt.core.types import F64, I64, Bool
from aggopt.errors import JobError
from aggopt.privacy.nested import ROOT, compute_heights

ANYTHING = "*"  # how a root without a name is written, in ARX's files too


@dataclass(frozen=True, eq=False)
class Domain:
    """The nodes of a tree with edge lengths; the first m nodes are levels.

    Attributes
    ----------
    kind
        "nominal", "ordinal" or "hierarchical".
    nodes
        Names of the nodes: first the m levels, which records have, then the inner nodes
        of a hierarchy.
    m
        Number of levels.
    parent : (nodes,)
        Parent of each node; -1 for a root, or below the nameless centre of a star.
    rise : (nodes,)
        Length of the edge above each node in whole units; 0 without an edge.
    unit
        Units per distance 1.
    """

    kind: str
    nodes: tuple[Hashable, ...] = field(repr=False)
    m: int
    parent: I64 = field(repr=False)
    rise: F64 = field(repr=False)
    unit: float = field(repr=False)

    @classmethod
    def nominal(cls, levels: Sequence[Hashable]) -> "Domain":
        """Return levels (m,) that are all equally far apart.

        >>> Domain.nominal(["a", "b", "c"]).distances
        array([[0., 1., 1.],
               [1., 0., 1.],
               [1., 1., 0.]])
        """
        m = len(levels)
        return cls("nominal", tuple(levels), m, np.full(m, -1), np.ones(m), 2.0)

    @classmethod
    def ordinal(cls, levels: Sequence[Hashable]) -> "Domain":
        """Return levels (m,) in their order, lowest first.

        >>> Domain.ordinal(["low", "middle", "high"]).distances[0]
        array([0. , 0.5, 1. ])
        """
        m = len(levels)
        rise = np.ones(m)
        rise[0] = 0.0
        unit = float(max(m - 1, 1))
        return cls("ordinal", tuple(levels), m, np.arange(-1, m - 1), rise, unit)

    @classmethod
    def hierarchical(
        cls, parent: Mapping[Any, Any], name: Mapping[Any, Hashable] | None = None
    ) -> "Domain":
        """Return the leaves of a tree as levels, and its inner nodes.

        `parent` is the result of `aggopt.privacy.nested.read_parents`; `name` maps
        nodes that are not names themselves to their names.

        Raises
        ------
        JobError
            The root has the name of another node: a reader could not distinguish them.

        Examples
        --------
        >>> tree = {"flu": "lung", "asthma": "lung", "attack": "heart"}
        >>> tree |= {"lung": "any", "heart": "any"}
        >>> Domain.hierarchical(tree).nodes
        ('asthma', 'attack', 'flu', 'heart', 'lung', 'any')
        >>> Domain.hierarchical(tree).distances[0, :3]
        array([0. , 1. , 0.5])
        """
        height = compute_heights(parent)
        leaves = sort_distinct(set(parent) - set(parent.values()))
        inner = sort_distinct(set(parent.values()))
        nodes = [*leaves, *sorted(inner, key=lambda node: height[node])]
        at = {node: j for j, node in enumerate(nodes)}
        above = np.array([at[parent[v]] if v in parent else -1 for v in nodes])
        rise = [height[parent[v]] - height[v] if v in parent else 0 for v in nodes]
        called = {ROOT: ANYTHING, **(name or {})}
        names = tuple(called.get(node, node) for node in nodes)
        if names[-1] in names[:-1]:
            raise JobError(
                "The tree names a node twice: another one is called as the root is.",
                fix="rename it, in the table, too; a root without a name is called "
                f'"{ANYTHING}".',
            )
        return cls(
            "hierarchical",
            names,
            len(leaves),
            above,
            np.array(rise, np.float64),
            2.0 * max(height.values()),
        )

    @classmethod
    def suppressed(cls, levels: Sequence[Hashable]) -> "Domain":
        """Return levels (m,), all equally far apart, below a root for "any of them".

        Raises
        ------
        JobError
            A level is called as the root is.

        Examples
        --------
        >>> Domain.suppressed(["a", "b"]).nodes
        ('a', 'b', '*')
        """
        if ANYTHING in levels:
            raise JobError(
                f'A level is called "{ANYTHING}", as suppressed values are.',
                fix="rename it, in the table, too.",
            )
        m = len(levels)
        parent = np.append(np.full(m, m), -1)
        rise = np.append(np.ones(m), 0.0)
        return cls("hierarchical", (*levels, ANYTHING), m, parent, rise, 2.0)

    @property
    def levels(self) -> tuple[Hashable, ...]:
        """Names of the levels (m,)."""
        return self.nodes[: self.m]

    @cached_property
    def below(self) -> Bool:
        """Whether edge e is on the path from the root to a node, (nodes, edges)."""
        size = len(self.nodes)
        require_memory(9 * size * size, f"the tree of {size} values")
        on_path = np.eye(size, dtype=bool)
        chain = self.parent.copy()
        while (up := chain >= 0).any():
            on_path[np.flatnonzero(up), chain[up]] = True
            chain[up] = self.parent[chain[up]]
        return np.asarray(on_path[:, self.rise > 0])

    @cached_property
    def above(self) -> Bool:
        """Whether a node is a level itself or above it, (m, nodes)."""
        is_above = np.zeros((self.m, len(self.nodes)), dtype=bool)
        is_above[:, self.rise > 0] = self.below[: self.m]
        return np.asarray(is_above | ((self.parent < 0) & (self.rise == 0)))

    @cached_property
    def points(self) -> F64:
        """Coordinates (nodes, edges), whose squared distances are `distances`."""
        return np.where(self.below, np.sqrt(self.rise[self.rise > 0] / self.unit), 0.0)

    def apart(self, levels: I64) -> F64:
        """Return the coordinates (nodes, q) of the edges in which `levels` differ."""
        return np.asarray(self.points[:, self.find_differing(levels)])

    def count_coordinates(self, levels: I64) -> int:
        """Return how many coordinates differ between nodes `levels`.

        >>> Domain.nominal("abc").count_coordinates(np.array([0, 2]))
        2
        """
        return int(self.find_differing(levels).sum())

    def find_differing(self, levels: I64) -> Bool:
        """Return which coordinates differ between nodes `levels`, (edges,).

        Their edges are above some of these nodes, but not above all.
        """
        size = len(self.nodes)
        nodes = np.unique(levels)
        reached = np.bincount(nodes, minlength=size).tolist()
        parent_is_later = (self.parent > np.arange(size)).any()
        parents = self.parent.tolist()
        # children first: the count of a node is complete when its parent adds it
        for node in range(size) if parent_is_later else reversed(range(size)):
            if parents[node] >= 0:
                reached[parents[node]] += reached[node]
        below = np.array(reached)[self.rise > 0]
        return (below > 0) & (below < len(nodes))

    @cached_property
    def steps(self) -> F64:
        """Distances (nodes, nodes) in whole numbers of units: their sums are exact."""
        below = self.below.astype(np.float64)
        depth = below @ self.rise[self.rise > 0]
        shared = (below * self.rise[self.rise > 0]) @ below.T
        return np.asarray(depth[:, None] + depth - 2.0 * shared, np.float64)

    @property
    def widest(self) -> float:
        """Largest distance of two levels, in units."""
        return float(self.steps[: self.m, : self.m].max())

    @property
    def distances(self) -> F64:
        """Distances (nodes, nodes)."""
        return self.steps / self.unit


MOST_SPANS = 5000  # of an order: levels up to 100


@dataclass(frozen=True, eq=False)
class LevelSpans(Domain):
    """Levels in their order, and every range of them as a node.

    A range is halfway between its ends: at a quarter of their distance from each of its
    levels.

    Attributes
    ----------
    ends : (nodes, 2)
        Least and greatest level of each node.
    """

    ends: I64 = field(repr=False)

    @classmethod
    def of(cls, levels: Sequence[Hashable]) -> "LevelSpans":
        """Return levels (m,), lowest first, with their ranges.

        Raises
        ------
        JobError
            The levels are too many, or one is called as a range is.

        Examples
        --------
        >>> LevelSpans.of(["low", "middle", "high"]).nodes[3:]
        ('low .. middle', 'low .. high', 'middle .. high')
        """
        m = len(levels)
        if m * (m - 1) > 2 * MOST_SPANS:
            raise JobError(
                f'publish = "range" of an order of {m} levels has '
                f"{m * (m - 1) // 2} ranges, more than {MOST_SPANS}.",
                fix="give it a tree, or merge levels.",
            )
        pairs = [(p, q) for p in range(m) for q in range(p + 1, m)]
        spans = [f"{levels[p]} .. {levels[q]}" for p, q in pairs]
        nodes = (*levels, *spans)
        if len(set(map(str, nodes))) < len(nodes):
            raise JobError(
                "A level is called as a range of levels is.",
                fix="rename it, in the table, too.",
            )
        size = len(nodes)
        ends = np.array([*((p, p) for p in range(m)), *pairs], np.int64)
        none = np.full(size, -1)
        unit = 4.0 * max(m - 1, 1)
        return cls("ordinal", nodes, m, none, np.zeros(size), unit, ends)

    @cached_property
    def points(self) -> F64:
        """Coordinates (nodes, m - 1) of nodes at squared distances `distances`."""
        edges = np.arange(self.m - 1)
        share = (edges < self.ends[:, :1]) + 0.0 + (edges < self.ends[:, 1:])
        return np.asarray(share / 2 / np.sqrt(max(self.m - 1, 1)))

    @cached_property
    def steps(self) -> F64:
        """Distances (nodes, nodes) in whole numbers of units: their sums are exact."""
        shares = np.rint(self.points * 2 * np.sqrt(max(self.m - 1, 1)))
        squares = (shares**2).sum(axis=1)
        return np.asarray(squares[:, None] + squares - 2 * shares @ shares.T)

    @cached_property
    def above(self) -> Bool:
        """Whether a node is a level itself or a range that holds it, (m, nodes)."""
        level = np.arange(self.m)[:, None]
        return np.asarray((self.ends[:, 0] <= level) & (level <= self.ends[:, 1]))

    def find_differing(self, levels: I64) -> Bool:
        """Return which coordinates differ between nodes `levels`, (m - 1,)."""
        selected = self.points[levels]
        return np.asarray((selected != selected[0]).any(axis=0))


def sort_distinct(values: Any) -> list[Any]:
    """Return distinct values in an order that only they decide."""
    try:
        return sorted(values)
    except TypeError:  # of several types, or of one without an order
        return sorted(values, key=lambda value: (type(value).__name__, str(value)))


def describe_odd_branches(domain: Domain) -> str:
    """Return a note on branches with one value, "" without these branches.

    A name that is spelled in two ways causes them: then a sibling branch has nearly an
    equal name.  The note contains counts, never names.

    >>> found = {"a": "Europe", "b": "Europe", "c": "Europa", "d": "Asia", "e": "Asia"}
    >>> tree = found | dict.fromkeys(("Europe", "Europa", "Asia"), "*")
    >>> describe_odd_branches(Domain.hierarchical(tree)).split(";")[0]
    '1 branch of the tree has one value only'
    """
    if domain.kind != "hierarchical":
        return ""
    single = [v for v in _list_inner_nodes(domain) if domain.above[:, v].sum() == 1]
    if not single:
        return ""
    has = "has" if len(single) == 1 else "have"
    note = (
        f"{plural(len(single), 'branch', 'branches')} of the tree {has} one value only"
    )
    alike = sum(_has_twin(domain, v) for v in single)
    if alike:
        names = "its name" if len(single) == 1 else f"names of {alike} of them"
        note += f"; {names} and a name beside it differ by a letter or less"
    return f"{note}: look whether a name is spelled in two ways."


def _list_inner_nodes(domain: Domain) -> range:
    """Return the nodes that are not levels, without the root, which is last."""
    return range(domain.m, len(domain.nodes) - 1)


def _has_twin(domain: Domain, node: int) -> bool:
    """Whether another inner node with this parent has a nearly equal name."""
    return any(
        v != node
        and domain.parent[v] == domain.parent[node]
        and _close(str(domain.nodes[v]), str(domain.nodes[node]))
        for v in _list_inner_nodes(domain)
    )


def _close(one: str, other: str) -> bool:
    """Whether two names differ by case and spaces, or one letter besides, at most.

    >>> _close("Europe", "europa "), _close("20-29", "30-39"), _close("East", "Eats")
    (True, False, False)
    """
    a, b = ("".join(name.split()).casefold() for name in (one, other))
    if len(a) > len(b):
        a, b = b, a
    if len(b) - len(a) > 1:
        return False
    first_difference = next(
        (i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), None
    )
    if first_difference is None:
        return not b[len(a) :].isdecimal()
    skip = first_difference + (len(a) == len(b))
    letters = b[first_difference] + (a[first_difference] if len(a) == len(b) else "")
    return a[skip:] == b[first_difference + 1 :] and not any(
        x.isdecimal() for x in letters
    )
