"""Registry of repairs: each is declared in its own file in `_methods`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pydantic import Field

from aggopt.core.plugins.loading import Origin
from aggopt.core.registry import Method, Registry
from aggopt.core.section import Section, SolverName
from aggopt.core.types import Labels
from aggopt.partition.shared.result import Partition
from aggopt.privacy.model import OWN_MODELS, REQUIREMENTS
from aggopt.repair.user_repair import OwnRepair
from aggopt.repair.user_repair import RepairInput as RepairInput

ALL_MODELS = frozenset({*REQUIREMENTS, OWN_MODELS})


class LimitedSettings(Section):
    """Setting of repairs with a time limit.

    Attributes
    ----------
    time_limit
        Seconds; 600 by default if a solver is used.  Merging that the requirements make
        necessary, and the bound, are not cut short.
    """

    time_limit: float | None = Field(
        default=None, gt=0, allow_inf_nan=False, strict=True
    )


class SolvingSettings(LimitedSettings):
    """Settings of repairs that use a solver, throughout or at the end.

    Attributes
    ----------
    solver
        Solver of "merge-ilp"; for "swap" and "sweep" the one that exchanges records at
        the end, or none.
    """

    solver: SolverName = None


@dataclass(frozen=True, kw_only=True)
class Repair(Method):
    """Repair: it makes the groups of a partition satisfy further requirements.

    Attributes
    ----------
    function
        Returns groups made from labels (n,); None if these are unchanged.  Its last
        argument is the section of the job.
    settings
        Its keys of [privacy.repair] other than the method; keys of one name have one
        meaning.
    adds, leaves
        The privacy models that it makes groups satisfy, and others that it leaves
        satisfied; "own" are user-defined models.
    any_distance
        Whether it adds them for several attributes and for any distance.
    asks_solver
        Whether it needs a solver, even if none is named.
    model
        The optimisation model for its solver, if it accepts one.
    certificate
        Description of its certificate, in a line.
    solve
        For methods that keep t of one attribute: the function that
        `aggopt.repair.closeness` calls.
    """

    function: Callable[[RepairInput, Labels, Any], Partition | None]
    settings: type[Section] = Section
    adds: frozenset[str] = ALL_MODELS - {"k"}
    leaves: frozenset[str] = ALL_MODELS
    any_distance: bool = True
    asks_solver: bool = False
    model: str | None = None
    certificate: str
    solve: Callable[..., Any] | None = None


def _adopt_function(thing: object, origin: Origin) -> Repair:
    """Return the repair that wraps a user-defined function and checks its groups."""
    return Repair(
        name=origin.name,
        when="a repair of your own",
        origin=origin,
        function=OwnRepair.of(thing, origin, frozenset({"method"})),
        certificate="heuristic; a bound on any groups of k, or as close",
    )


REPAIRS = Registry(
    "aggopt.repair._methods",
    Repair,
    "repair",
    plugin_kind="repairs",
    adopt=_adopt_function,
)
