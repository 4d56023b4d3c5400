"""Data of the models of wishes of all attributes at once."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from aggopt.core.types import Bool
from aggopt.core.validation import Floats
from aggopt.errors import naming
from aggopt.models._model import Model
from aggopt.models.shared.joint import (
    Records,
    keep_in_pyomo,
    kept_in_cvxpy,
    moments_missed,
)
from aggopt.models.shared.joint_demands import Demanded, require_room
from aggopt.models.shared.value_bounds import (
    Bound,
    is_bounded,
    keep_within_in_pyomo,
    outside,
    within_in_cvxpy,
)


@dataclass(frozen=True, eq=False)
class JointWishes(Records, ABC):
    """Standardised attributes, their groups, and each record's wish for each attribute.

    Attributes
    ----------
    delta : (n, d)
        Required distance between a record's value and its published one, >= 0.
    importance : (n, d)
        Importance of the record's wish, in [0, 1].
    lower, upper : (d,)
        Bounds of published values, standardised as Z is, or one for all attributes;
        infinite without a bound.
    alone
        The model of a single attribute.
    """

    alone: ClassVar[Model]
    delta: Floats = field(repr=False)
    importance: Floats = field(repr=False)
    lower: Bound = field(default=-np.inf, kw_only=True, repr=False)
    upper: Bound = field(default=np.inf, kw_only=True, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.apart  # each refuses what makes no sense

    @property
    @abstractmethod
    def weight(self) -> float:
        """The number that weighs wishes against shifts."""

    @property
    @abstractmethod
    def wished(self) -> bool:
        """Whether a record has a wish: otherwise only shifts cost."""

    @property
    def bounded(self) -> bool:
        """Whether published values of an attribute have a bound."""
        return is_bounded(self.lower, self.upper)

    @cached_property
    def hard(self) -> Bool:
        """Whether a record's wish for an attribute has importance 1 (n, d)."""
        return np.asarray(self.importance == 1)

    @cached_property
    def apart(self) -> tuple[Any, ...]:
        """The separate program of each attribute, which keeps its variance only."""
        return tuple(map(self._alone, range(self.Z.shape[1])))

    def _alone(self, a: int) -> Any:
        tables = (self.Z, self.delta, self.importance)
        x, delta, importance = (np.ascontiguousarray(table[:, a]) for table in tables)
        d = self.Z.shape[1]
        lower, upper = (
            float(np.broadcast_to(end, d)[a]) for end in (self.lower, self.upper)
        )
        asked = x, self.labels, delta, importance, self.weight
        with naming(f"Attribute {a} of those that vary"):
            own = {"lower": lower, "upper": upper, "weights": self.weights}
            return self.alone.data(*asked, **own)


@dataclass(frozen=True, eq=False)
class SquaredWishes(JointWishes):
    """Wishes whose misses are squared, or not allowed.

    Attributes
    ----------
    alpha
        Weight of the distances against the shifts, in [0, 1].
    """

    alpha: float

    def __post_init__(self) -> None:
        super().__post_init__()
        require_room(self, self.demanded())

    @property
    def weight(self) -> float:
        """The number that weighs wishes against shifts."""
        return self.alpha

    @property
    def wished(self) -> bool:
        """Whether a record has a wish: otherwise only shifts cost."""
        return self.alpha > 0 or bool(self.hard.any())

    @abstractmethod
    def demanded(self) -> Demanded:
        """Return the intervals that demands leave, by group and attribute."""


def rows_in_cvxpy(data: JointWishes, c: Any) -> dict[str, Any]:
    """Return the rows of moments and bounds of the expression c (m, d), by name."""
    bounds = within_in_cvxpy(c, data.lower, data.upper)
    return {**kept_in_cvxpy(data, c), **bounds}


def add_rows_in_pyomo(data: JointWishes, problem: Any, c: list[list[Any]]) -> None:
    """Add the rows of moments and bounds of the expressions c (m, d)."""
    keep_in_pyomo(data, problem, c)
    keep_within_in_pyomo(problem, c, data.lower, data.upper)


def missed_rows(data: JointWishes, c: Floats) -> dict[str, float]:
    """Return the errors of centroids c (m, d) in moments (per record) and bounds."""
    return {**moments_missed(data, c), **outside(c, data.lower, data.upper)}
