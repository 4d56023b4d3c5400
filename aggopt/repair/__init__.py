"""Repair: partitions made to keep a promise of privacy, at little loss."""

from aggopt.repair._closeness import Repaired, closeness

__all__ = ["Repaired", "closeness"]
