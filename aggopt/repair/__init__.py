"""Repair: partitions made to keep a promise of privacy, at little loss."""

from aggopt.repair._closeness import closeness
from aggopt.repair._repaired import Repaired

__all__ = ["Repaired", "closeness"]
