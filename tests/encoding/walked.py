"""Distances in trees, by walking them: slow and obvious."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any


def way(node: Any, parent: Mapping[Any, Any]) -> list[Any]:
    """Return the node and all above it."""
    found = [node]
    while found[-1] in parent:
        found.append(parent[found[-1]])
    return found


def height(node: Any, parent: Mapping[Any, Any]) -> int:
    """Return how many edges the longest way down has."""
    children = [child for child in parent if parent[child] == node]
    return max((1 + height(child, parent) for child in children), default=0)


def path_length(u: Any, v: Any, parent: Mapping[Any, Any]) -> Fraction:
    """Return the length of the path from u to v, edge by edge, exactly."""
    up, down = way(u, parent), way(v, parent)
    top = height(up[-1], parent)
    edges = set(up[:-1]) ^ set(down[:-1])  # each by the node below it
    rises = (height(parent[e], parent) - height(e, parent) for e in edges)
    return sum((Fraction(rise, 2 * top) for rise in rises), Fraction(0))
