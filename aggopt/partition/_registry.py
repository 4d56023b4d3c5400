"""The partitioners by name."""

from collections.abc import Callable

from aggopt.core.validation import Labels
from aggopt.partition._shared.result import Partition

METHODS = (
    "blocked",
    "cbfs",
    "local_search",
    "mdav",
    "mhm",
    "optimal",
    "projection",
    "univariate",
    "vmdav",
)


Partitioner = Callable[..., Labels]


Divide = Callable[..., Labels | Partition]
