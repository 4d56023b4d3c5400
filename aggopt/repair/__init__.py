"""Repair: partitions made to keep a promise of privacy, at little loss."""

from aggopt.repair._closeness import closeness
from aggopt.repair._feasibility import Held, Reachable, held_t, smallest_t
from aggopt.repair._repaired import Repaired

__all__ = ["Held", "Reachable", "Repaired", "closeness", "held_t", "smallest_t"]
