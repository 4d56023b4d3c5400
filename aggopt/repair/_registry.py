"""Repairs by name: each is declared in a file of its own, in `_methods`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pydantic import Field

from aggopt.core.own_code import Origin
from aggopt.core.registry import Method, Registry
from aggopt.core.section import Section, SolverName
from aggopt.core.types import Labels
from aggopt.partition._shared.result import Partition
from aggopt.privacy._model import OWN_MODELS, REQUIREMENTS
from aggopt.repair._given import Given as Given
from aggopt.repair._own import OwnRepair

ALL = frozenset({*REQUIREMENTS, OWN_MODELS})


class Limited(Section):
    """The key of repairs that take their time.

    Attributes
    ----------
    time_limit
        Seconds; where a solver is asked and none are named, 600.  Merging, where groups
        need it to satisfy what is required, and the bound are not cut short.
    """

    time_limit: float | None = Field(
        default=None, gt=0, allow_inf_nan=False, strict=True
    )


class Solving(Limited):
    """The keys of repairs that a solver carries out, or ends.

    Attributes
    ----------
    solver
        Of "merge-ilp"; of "swap" and "sweep" the one that exchanges records at the end,
        or none.
    """

    solver: SolverName = None


@dataclass(frozen=True, kw_only=True)
class Repair(Method):
    """What makes the groups of a partition satisfy what it does not keep.

    Attributes
    ----------
    function
        Returns groups made of labels (n,); None where these are kept as they are.
        Its last argument is the section of the job.
    settings
        Its keys of [privacy.repair] beside the method; keys of one name
        mean one thing.
    adds, leaves
        The privacy models that it makes groups satisfy, and of others those that it
        leaves satisfied; "own" are those of the user's.
    any_distance
        Whether it adds them of several attributes and however they are counted.
    asks_solver
        Whether it needs a solver, be one named or not.
    model
        The optimisation model that a solver, if it takes one, is for.
    certificate
        What it proves, in a line.
    solve
        Of those that keep t of one attribute: what `aggopt.repair.closeness` calls.
    """

    function: Callable[[Given, Labels, Any], Partition | None]
    settings: type[Section] = Section
    adds: frozenset[str] = ALL - {"k"}
    leaves: frozenset[str] = ALL
    any_distance: bool = True
    asks_solver: bool = False
    model: str | None = None
    certificate: str
    solve: Callable[..., Any] | None = None


def _adopted(thing: object, origin: Origin) -> Repair:
    """Return the repair that a function of the user's is: what it makes is checked."""
    return Repair(
        name=origin.name,
        when="a repair of your own",
        origin=origin,
        function=OwnRepair.of(thing, origin, frozenset({"method"})),
        certificate="heuristic; a bound on any groups of k, or as close",
    )


REPAIRS = Registry(
    "aggopt.repair._methods", Repair, "repair", own="repairs", adopt=_adopted
)
