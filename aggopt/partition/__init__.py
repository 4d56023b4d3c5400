"""Partition records into groups of at least k similar ones.

Names are looked up when they are first used: each method is declared in its own file.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from aggopt.partition._anonymity_first import (
        anonymity_first as anonymity_first,
    )
    from aggopt.partition._blocked import blocked as blocked
    from aggopt.partition._cbfs import cbfs as cbfs
    from aggopt.partition._closeness_first import (
        closeness_first as closeness_first,
    )
    from aggopt.partition._correlated_blocks import (
        correlated_blocks as correlated_blocks,
    )
    from aggopt.partition._diverse_vmdav import (
        diverse_vmdav as diverse_vmdav,
    )
    from aggopt.partition._generalising.generalising import (
        generalising as generalising,
    )
    from aggopt.partition._individual_ranking import (
        individual_ranking as individual_ranking,
    )
    from aggopt.partition._local_search.local_search import local_search as local_search
    from aggopt.partition._mdav import mdav as mdav
    from aggopt.partition._merge_until_close import (
        merge_until_close as merge_until_close,
    )
    from aggopt.partition._mhm import mhm as mhm
    from aggopt.partition._optimal.optimal import optimal as optimal
    from aggopt.partition._projection import projection as projection
    from aggopt.partition._recommend import Recommendation as Recommendation
    from aggopt.partition._recommend import recommend as recommend
    from aggopt.partition._univariate import univariate as univariate
    from aggopt.partition._vmdav import vmdav as vmdav
    from aggopt.partition.block_partition import in_blocks as in_blocks
    from aggopt.partition.registry import PARTITIONERS as PARTITIONERS
    from aggopt.partition.registry import Partitioner as Partitioner
    from aggopt.partition.shared.neighbour_bound import loss_bound as loss_bound
    from aggopt.partition.shared.result import Partition as Partition

_HOMES = {  # of the names that are not methods
    "PARTITIONERS": "registry",
    "Partition": "shared.result",
    "Partitioner": "registry",
    "Recommendation": "_recommend",
    "correlated_blocks": "_correlated_blocks",
    "in_blocks": "block_partition",
    "loss_bound": "shared.neighbour_bound",
    "recommend": "_recommend",
}
_MERGED = ("blocked_certified", "local_search_certified", "univariate_certified")


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return __dir__()
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    if name in _MERGED:
        plain = name.removesuffix("_certified")
        raise ImportError(
            f"aggopt.partition has no {name}: {plain} itself returns a Partition, "
            "labels with a certificate."
        )
    methods = {} if name.startswith("_") else _load_methods()
    if name in methods:
        return methods[name].function
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*_HOMES, *_load_methods()])


def _load_methods() -> Any:
    """Return the registry of partition methods, imported on first access."""
    return import_module(f"{__name__}.registry").PARTITIONERS
