"""Search for the nearest records, callable from compiled loops. Imports numba."""

from aggopt.core.compiled import compiled
from aggopt.partition._box_tree.nearest_kernels import find_nearest
from aggopt.partition._box_tree.workspace import create_workspace

__all__ = ["find_nearest", "workspace"]

workspace = compiled(create_workspace)
