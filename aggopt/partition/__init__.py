"""Partitions: from records to groups of at least k similar ones."""

from aggopt.partition._cbfs import cbfs
from aggopt.partition._mdav import mdav
from aggopt.partition._mhm import mhm
from aggopt.partition._projection import projection

__all__ = ["cbfs", "mdav", "mhm", "projection"]
