"""Search for the nearest records, callable from compiled loops. Imports numba."""

from aggopt.core.compiled import compiled
from aggopt.partition._box_tree.nearest_kernels import nearest
from aggopt.partition._box_tree.workspace import start

__all__ = ["nearest", "workspace"]

workspace = compiled(start)
