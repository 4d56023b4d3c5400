"""Repair: partitions made to satisfy privacy requirements, at little loss."""

from aggopt.repair._closeness import closeness
from aggopt.repair.feasibility import Held, Reachable, held_t, smallest_t

__all__ = ["Held", "Reachable", "closeness", "held_t", "smallest_t"]
