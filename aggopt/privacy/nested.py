"""Distances of values without an order: equal, or by a tree.

Two values are as far apart as their lowest common ancestor is high, over the height of
the tree; the distance of a distribution is then

    EMD(C) = sum_A (h(parent of A) - h(A)) |n cnt_C(A) - |C| cnt(A)| / (2 H n |C|)

over the nodes A but the root, leaves included, with h the height of a node (leaves 0,
others one above their highest child) and H that of the root.  With a root and leaves
alone it is the equal distance: every two values are 1 apart.  Source: Li, Li and
Venkatasubramanian, t-closeness, ICDE 2007.
"""

from collections.abc import Hashable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from graphlib import CycleError, TopologicalSorter
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd

from aggopt.core.columns import is_missing, is_series, iter_columns, list_plain_entries
from aggopt.core.plural import agree, plural
from aggopt.core.types import I64
from aggopt.errors import JobError, TableError
from aggopt.privacy.distance import Distance, require_exact


@dataclass(frozen=True, eq=False)
class Nested(Distance):
    """One confidential attribute whose m values are leaves of a tree.

    Attributes
    ----------
    place : (n,)
        Leaf of each record, 0..m-1.
    paths : (m, depth)
        Nodes from each leaf up to below the root; -1 after the end of a shorter path.
    weight : (nodes,)
        Height of the parent less that of the node.
    height
        Height H of the root.
    counts : (m,)
        Number of records of the table with each leaf; None if `place` has all records.
    """

    place: I64 = field(repr=False)
    paths: I64 = field(repr=False)
    weight: I64 = field(repr=False)
    height: int
    counts: I64 | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        require_exact(self.n, 2 * self.height)

    @classmethod
    def equal(cls, codes: I64) -> "Nested":
        """Return values (n,) of codes 0..m-1 that are all equally far apart."""
        m = int(codes.max()) + 1
        return cls(codes, np.arange(m)[:, None], np.ones(m, np.int64), 1)

    @classmethod
    def of(cls, values: Sequence[Hashable], codes: I64, tree: Any) -> "Nested":
        """Return values (m,) of codes (n,) as leaves of a tree.

        The value None, for a missing value, is directly below the root.

        Raises
        ------
        JobError
            The tree is neither nested nor a map of parents, or names a value twice.
        TableError
            A value is not a leaf of the tree; the message contains counts only.
        """
        parent = read_parents(tree)
        leaves = set(parent) - set(parent.values())
        strange = sum(v not in leaves for v in values if v is not None)
        if strange:
            raise TableError(
                f"{strange} of {plural(len(values), 'distinct confidential value')} "
                f"{agree(strange, 'is no leaf', 'are no leaves')} of the tree.",
                fix="add each to the tree, spelled and typed as in the table.",
            )
        return _place_values(values, codes, parent)

    @property
    def n(self) -> int:
        """Number of records of the table."""
        return len(self.place) if self.counts is None else int(self.counts.sum())

    @property
    def unit(self) -> int:
        """2 H n, or 0 with one value."""
        return 0 if len(self.paths) == 1 else 2 * self.height * self.n

    def runs(self, places: I64, starts: I64) -> I64:
        """Return the numerator of each places[starts[g]:starts[g + 1]]."""
        sizes = np.diff(starts)
        table_profile = self.profile(self._leaves)
        group = np.repeat(np.arange(len(sizes)), sizes)
        out = sizes * table_profile.sum()
        for nodes in self.paths[places].T:
            present = nodes >= 0
            self._correct(out, group[present], nodes[present], sizes, table_profile)
        return np.asarray(out)

    def _correct(
        self, out: I64, group: I64, nodes: I64, sizes: I64, table_profile: I64
    ) -> None:
        """Replace default terms of nodes by the terms of nodes that a group has."""
        keys, count = np.unique(group * len(table_profile) + nodes, return_counts=True)
        of_group, node = np.divmod(keys, len(table_profile))
        absent = sizes[of_group] * table_profile[node]
        present = np.abs(self.n * count * self.weight[node] - absent)
        np.add.at(out, of_group, present - absent)

    def profile(self, counts: I64) -> I64:
        """Return `w_A cnt(A)` of each node A, of records counted by leaf (m,)."""
        out = np.zeros(len(self.weight), np.int64)
        for nodes in self.paths.T:
            np.add.at(out, nodes[nodes >= 0], counts[nodes >= 0])
        return out * self.weight

    def counted(self, counts: I64) -> "Nested":
        """Return the attribute in a table with `counts` records of each value."""
        leaf_counts = np.bincount(self.place, counts, minlength=len(self.paths))
        return replace(self, counts=leaf_counts.astype(np.int64))

    @property
    def _leaves(self) -> I64:
        if self.counts is not None:
            return self.counts
        return np.bincount(self.place, minlength=len(self.paths))


def read_parents(tree: Any) -> dict[Hashable, Hashable]:
    """Return the parent of each node but the root, of a tree in either form.

    Nested: {"lung": ["asthma", "flu"], "heart": {"left": ["attack"]}}; or a map from
    each value to its parent, whose only node without a parent is the root:
    {"flu": "lung", "lung": "any"}.

    Raises
    ------
    JobError
        The tree has neither form, names a node twice, is empty or has no single root.
    """
    if not isinstance(tree, Mapping):
        raise _make_tree_error(f"The tree is {type(tree).__name__}, and no map.")
    if not tree:
        raise _make_tree_error("The tree is empty.")
    nested = [not pd.api.types.is_scalar(v) for v in tree.values()]
    if all(nested):
        parent: dict[Hashable, Hashable] = {}
        _add_nodes(tree, ROOT, parent)
        return parent
    if any(nested):
        raise _make_tree_error("The tree is nested in one place and a map in another.")
    _require_one_root(tree)
    return dict(tree)


ROOT = object()  # of a nested tree, which does not name it


def _add_nodes(branch: Any, above: Hashable, parent: dict[Hashable, Hashable]) -> None:
    inner = branch if isinstance(branch, Mapping) else None
    for node in _list_nodes(branch):
        _require_name(node)
        if node in parent:
            raise _make_tree_error("The tree names a node twice.")
        parent[node] = above
        if inner is not None:
            _add_nodes(inner[node], node, parent)


def _list_nodes(branch: Any) -> list[Any]:
    listed = isinstance(branch, Mapping | list | tuple | Set)
    if is_series(branch) or (isinstance(branch, np.ndarray) and branch.ndim == 1):
        branch = [
            v
            for _, column in iter_columns(branch, "A branch")
            for v in list_plain_entries(column)
        ]
        listed = True
    if not listed or not branch:
        raise _make_tree_error("A branch of the tree is empty or no list.")
    return list(branch)


def _require_name(node: Any) -> None:
    if not pd.api.types.is_scalar(node) or is_missing(node):
        raise _make_tree_error("The tree contains a missing or composite name.")


def _require_one_root(parent: Mapping[Hashable, Hashable]) -> None:
    for name in (*parent, *parent.values()):
        _require_name(name)
    roots = {above for above in parent.values() if above not in parent}
    if len(roots) != 1:
        raise _make_tree_error(f"The tree has {len(roots)} roots.")
    try:
        TopologicalSorter({node: [above] for node, above in parent.items()}).prepare()
    except CycleError:
        raise _make_tree_error("The tree runs in a circle.") from None


def _make_tree_error(problem: str) -> JobError:
    return JobError(
        problem,
        fix='nest it, {"lung": ["asthma", "flu"], "heart": ["attack"]}, or name the '
        'parent of each: {"asthma": "lung", "flu": "lung", "lung": "any"}.',
    )


def _place_values(
    values: Sequence[Hashable], codes: I64, parent: dict[Hashable, Hashable]
) -> Nested:
    height = compute_heights(parent)
    top = max(height.values())
    # a missing value is not a node: it is a separate leaf below the root
    chains = [_list_ancestors(v, parent)[:-1] if v in height else [v] for v in values]
    nodes = {node: j for j, node in enumerate(dict.fromkeys(chain(*chains)))}
    paths = np.full((len(values), max(map(len, chains))), -1)
    for row, nodes_above in enumerate(chains):
        paths[row, : len(nodes_above)] = [nodes[x] for x in nodes_above]
    rise = [height.get(parent.get(x), top) - height.get(x, 0) for x in nodes]
    return Nested(codes, paths, np.array(rise), top)


def _list_ancestors(
    node: Hashable, parent: Mapping[Hashable, Hashable]
) -> list[Hashable]:
    """Return the node, its parent, and so on to the root."""
    way = [node]
    while way[-1] in parent:
        way.append(parent[way[-1]])
    return way


def compute_heights(parent: Mapping[Hashable, Hashable]) -> dict[Hashable, int]:
    """Return the height of each node: 0 of a leaf, else one above its highest child."""
    height: dict[Hashable, int] = {}
    for leaf in set(parent) - set(parent.values()):
        for steps, node in enumerate(_list_ancestors(leaf, parent)):
            height[node] = max(steps, height.get(node, 0))
    return height
