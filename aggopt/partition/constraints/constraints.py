"""Constraints on the groups of a search: checked exactly, and restored by merging."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from aggopt.core.plural import plural
from aggopt.core.types import Bool
from aggopt.core.validation import Floats, Labels
from aggopt.errors import InfeasibleInputError, JobError
from aggopt.partition.constraints.l_diversity import (
    read_levels,
    require_kind,
    require_l,
    require_reachable,
)
from aggopt.partition.constraints.state import (
    Promise,
    build_closeness,
    build_diversity,
    combine_constraints,
)
from aggopt.partition.constraints.t_closeness import CloseToTable
from aggopt.privacy.dominance import Dominance
from aggopt.privacy.models.l_diversity import Diversity
from aggopt.privacy.ordered_attribute import require_bins
from aggopt.privacy.requirement import Requirement, broken_by


class ConstraintArguments(NamedTuple):
    """A confidential attribute, t and l, and the settings of their counting."""

    confidential: npt.ArrayLike | None = None
    t: Any = None
    l: Any = None  # noqa: E741
    bins: str = "distinct"
    levels: int | str = 20
    boundaries: npt.ArrayLike | None = None
    diversity: str = "distinct"


SETTING_OF = {"bins": "t", "levels": "l", "boundaries": "l", "diversity": "l"}
NOTHING = ConstraintArguments()


def require_consistent(arguments: ConstraintArguments) -> None:
    """Refuse settings without a requirement, and requirements without an attribute."""
    require_bins(arguments.bins)
    require_kind(arguments.diversity)
    models = [name for name in ("t", "l") if getattr(arguments, name) is not None]
    for name, model in SETTING_OF.items():
        if model not in models and _differs_from_default(arguments, name):
            raise JobError(
                f"{name} is a setting of {model}, and no {model} is required.",
                fix=f"pass {model} too, or leave {name} out.",
            )
    names = " and ".join(models)
    if models and arguments.confidential is None:
        raise JobError(
            f"{names} has no confidential attribute.",
            fix="pass confidential=, one value per record.",
        )
    if arguments.confidential is not None and not models:
        raise JobError(
            "A confidential attribute is passed, but neither t nor l.",
            fix="pass t or l too, or leave confidential out.",
        )
    if arguments.l is not None:
        require_l(arguments.l)


def _differs_from_default(arguments: ConstraintArguments, name: str) -> bool:
    value = getattr(arguments, name)
    default = getattr(NOTHING, name)
    return value is not default and (name == "boundaries" or bool(value != default))


@dataclass(frozen=True, eq=False)
class Constraints:
    """Constraints that a search preserves.

    t, or l of levels, or both, of one attribute; and a largest share of its group's
    weight for each record.
    """

    closeness: CloseToTable | None = None
    diversity: Diversity | None = None
    dominance: Dominance | None = None

    @property
    def requirements(self) -> tuple[Requirement, ...]:
        """The requirements on groups, t first."""
        close = () if self.closeness is None else self.closeness.requirements
        others = filter(None, (self.diversity, self.dominance))
        return (*close, *others)

    @cached_property
    def kept(self) -> Promise | None:
        """State of t and l by which compiled searches accept changes, or None."""
        if self.closeness is None and self.diversity is None:
            return None
        close = diverse = None
        if self.closeness is not None:
            ordered = self.closeness.only("local_search")
            close = build_closeness(ordered, self.closeness.limits[0])
        if self.diversity is not None:
            diversity = self.diversity
            diverse = build_diversity(diversity.codes, diversity.least, diversity.kind)
        return combine_constraints(close, diverse)

    @property
    def name(self) -> str:
        """The constraints as text: "t = 0.1", "l = 3", or several of them."""
        return " and ".join(f"{r.model} = {r.asked:g}" for r in self.requirements)

    def broken(self, labels: Labels) -> Bool:
        """Return whether each group of labels (n,) breaks a constraint, exactly."""
        return broken_by(self.requirements, labels)

    def merge_until_feasible(self, records: Floats, labels: Labels) -> Labels:
        """Return labels (n,) after merging groups until all satisfy the constraints.

        While groups break them, the smallest of these joins the nearest group.
        """
        while (broken := self.broken(labels)).any():
            sizes = np.bincount(labels)
            one = int(np.where(broken, sizes, len(labels) + 1).argmin())
            sums = np.array([np.bincount(labels, z) for z in records.T])
            means = sums / sizes
            apart = ((means - means[:, one, None]) ** 2).sum(axis=0)
            apart[one] = np.inf
            labels = np.where(labels == one, apart.argmin(), labels)
            labels = np.unique(labels, return_inverse=True)[1].astype(np.intp)
        return labels


def read_constraints(arguments: ConstraintArguments, n: int) -> Constraints | None:
    """Return the constraints on n records, or None if neither t nor l is set.

    Raises
    ------
    TableError, JobError, InfeasibleInputError
        The arguments cannot be read, or no groups can satisfy the constraints.
    """
    require_consistent(arguments)
    if arguments.t is None and arguments.l is None:
        return None
    confidential: Any = arguments.confidential
    closeness = diversity = None
    if arguments.t is not None:
        closeness = CloseToTable.of(confidential, n, arguments.t, arguments.bins)
        closeness.only("local_search")
    if arguments.l is not None:
        level = read_levels(confidential, n, arguments.levels, arguments.boundaries)
        require_reachable(np.bincount(level), arguments.l, arguments.diversity)
        diversity = Diversity("", level, int(arguments.l), arguments.diversity)
    return Constraints(closeness, diversity)


def with_dominance(
    promise: Constraints | None, weights: Floats, share: float
) -> Constraints:
    """Return the constraints with a largest share of the group's weight per record.

    Raises
    ------
    InfeasibleInputError
        One record exceeds that share of the weight of all records.
    """
    dominance = Dominance(weights, share)
    n = len(weights)
    if not dominance.satisfied(np.zeros(n, np.intp)):
        raise InfeasibleInputError(
            f"dominance = {share:g}, and one of {plural(n, 'record')} has more than "
            "that of the weight of all: no groups satisfy it.",
            fix="correct that weight, leave the record out, or allow a larger "
            "dominance.",
        )
    return replace(promise or Constraints(), dominance=dominance)
