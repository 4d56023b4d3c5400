"""Partitions: from records to groups of at least k similar ones."""

from aggopt.partition._anonymity_first.anonymity_first import anonymity_first
from aggopt.partition._blocked.blocked import blocked, blocked_certified
from aggopt.partition._cbfs import cbfs
from aggopt.partition._closeness_first.closeness_first import closeness_first
from aggopt.partition._correlated_blocks import correlated_blocks
from aggopt.partition._diverse_vmdav.diverse_vmdav import diverse_vmdav
from aggopt.partition._in_blocks import in_blocks
from aggopt.partition._individual_ranking import individual_ranking
from aggopt.partition._local_search.local_search import (
    local_search,
    local_search_certified,
)
from aggopt.partition._loss_bound import loss_bound
from aggopt.partition._mdav import mdav
from aggopt.partition._merge_until_close import merge_until_close
from aggopt.partition._mhm.mhm import mhm
from aggopt.partition._optimal.optimal import optimal
from aggopt.partition._projection import projection
from aggopt.partition._recommend import Recommendation, recommend
from aggopt.partition._shared.result import Partition
from aggopt.partition._univariate.univariate import univariate, univariate_certified
from aggopt.partition._vmdav.vmdav import vmdav

__all__ = [
    "Partition",
    "Recommendation",
    "anonymity_first",
    "blocked",
    "blocked_certified",
    "cbfs",
    "closeness_first",
    "correlated_blocks",
    "diverse_vmdav",
    "in_blocks",
    "individual_ranking",
    "local_search",
    "local_search_certified",
    "loss_bound",
    "mdav",
    "merge_until_close",
    "mhm",
    "optimal",
    "projection",
    "recommend",
    "univariate",
    "univariate_certified",
    "vmdav",
]
