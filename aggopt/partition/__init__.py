"""Partitions: from records to groups of at least k similar ones."""

from aggopt.partition._blocks import in_blocks
from aggopt.partition._cbfs import cbfs
from aggopt.partition._correlated import correlated_blocks
from aggopt.partition._individual_ranking import individual_ranking
from aggopt.partition._mdav import mdav
from aggopt.partition._mhm import mhm
from aggopt.partition._projection import projection
from aggopt.partition._univariate import Partition, univariate, univariate_certified

__all__ = [
    "Partition",
    "cbfs",
    "correlated_blocks",
    "in_blocks",
    "individual_ranking",
    "mdav",
    "mhm",
    "projection",
    "univariate",
    "univariate_certified",
]
