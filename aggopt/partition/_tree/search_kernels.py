"""The nearest records of a tree, to be called from compiled loops.  Imports numba."""

from aggopt.compiled import compiled
from aggopt.partition._tree.near_kernels import nearest
from aggopt.partition._tree.room import start

__all__ = ["nearest", "room"]

room = compiled(start)
