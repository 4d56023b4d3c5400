"""Partitions: from records to groups of at least k similar ones."""

from aggopt.partition._cbfs import cbfs
from aggopt.partition._mdav import mdav

__all__ = ["cbfs", "mdav"]
