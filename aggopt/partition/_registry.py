"""The partitioners by name: each is declared in its own file of this folder."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

import numpy.typing as npt
from pydantic import AfterValidator

from aggopt.core.own_code import Origin
from aggopt.core.registry import Method, Registry, require_arguments
from aggopt.core.section import MethodSection
from aggopt.partition._own import OwnPartitioner
from aggopt.partition._shared.result import Partition
from aggopt.partition._shared.settings import OF_TABLE, Grouping, one_of_these

Divide = Callable[..., Partition | npt.ArrayLike]


class Takes(StrEnum):
    """Which attributes a method groups."""

    SEVERAL = "several together"
    ONE = "one"
    EACH = "each by itself"


class Bound(StrEnum):
    """What the bound of a certificate is."""

    NEIGHBOURS = "what neighbours prove of any groups"
    OWN = "the method's own proof"


class Confides(StrEnum):
    """How many confidential attributes a method looks at."""

    NONE = "none"
    ONE = "one"
    SEVERAL = "several"


@dataclass(frozen=True, kw_only=True)
class Partitioner(Method):
    """From records to groups.

    Attributes
    ----------
    function
        Takes records X (n, d), k, what is confidential if it looks at that, and the
        settings; returns a `Partition`.
    settings
        The section of a job that names it.
    guarantees
        Which requirements of k, l and t its groups satisfy, whatever the table.
    bound
        What the bound of its certificate is.
    confides
        How many confidential attributes it looks at.
    takes
        Which attributes it groups: (n, d) together, one (n,), or each by itself.
    initial
        Whether searches may set out from its groups; it takes scale="none" then.
    inner
        Whether it may partition a block of `blocked`; it takes scale="none" then.
    searches
        Whether, where a job names no repair, its groups are searched further by the
        repair "search", which keeps whatever is promised.
    model
        The name of the optimisation model that it solves, if a solver may be named.
    """

    function: Callable[..., Partition]
    settings: type[MethodSection]
    guarantees: frozenset[str] = frozenset("k")
    bound: Bound = Bound.NEIGHBOURS
    confides: Confides = Confides.NONE
    takes: Takes = Takes.SEVERAL
    initial: bool = False
    inner: bool = False
    searches: bool = False
    model: str | None = None

    def __post_init__(self) -> None:
        settings = set(self.settings.model_fields) - {"method", *OF_TABLE}
        require_arguments(self.name, settings, self.function)

    @property
    def in_blocks(self) -> bool:
        """Whether blocks of attributes can be partitioned by it, given X and k."""
        return self.confides is Confides.NONE and self.takes is not Takes.EACH


TAKEN = {  # by jobs, and by what else `aggopt.partition` has
    *("recommended", "recommend", "Recommendation", "PARTITIONERS", "Partitioner"),
    *("Partition", "correlated_blocks", "in_blocks", "loss_bound"),
}


def _adopted(thing: object, origin: Origin) -> Partitioner:
    """Return the method that a function of the user's is: groups of k are counted."""
    taken = frozenset({*Grouping.model_fields, "scale"})
    return Partitioner(
        name=origin.name,
        when="a method of your own",
        origin=origin,
        function=OwnPartitioner.of(thing, origin, taken),
        settings=Grouping,
        initial=True,
        inner=True,
    )


PARTITIONERS = Registry(
    "aggopt.partition",
    Partitioner,
    "partition method",
    TAKEN,
    own="partitioners",
    adopt=_adopted,
)


def initial_methods() -> tuple[str, ...]:
    """Return the names of methods whose groups searches may set out from."""
    return tuple(name for name, method in PARTITIONERS.items() if method.initial)


def inner_methods() -> tuple[str, ...]:
    """Return the names of methods that may partition blocks of records."""
    return tuple(name for name, method in PARTITIONERS.items() if method.inner)


def block_methods() -> tuple[str, ...]:
    """Return the names of methods that may partition blocks of attributes."""
    return tuple(name for name, method in PARTITIONERS.items() if method.in_blocks)


def _initial(name: str) -> str:
    return one_of_these(name, initial_methods())


def _inner(name: str) -> str:
    return one_of_these(name, inner_methods())


InitialMethod = Annotated[str, AfterValidator(_initial)]
InnerMethod = Annotated[str, AfterValidator(_inner)]
