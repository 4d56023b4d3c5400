"""What the models of wishes of all attributes at once have in common: their data."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from aggopt.core.types import Bool
from aggopt.core.validation import Floats
from aggopt.errors import naming
from aggopt.models._joint import Records
from aggopt.models._joint_demands import Demanded, require_room
from aggopt.models._model import Model


@dataclass(frozen=True, eq=False)
class JointWishes(Records):
    """Standardised attributes, their groups, and what each record asks for in each.

    Attributes
    ----------
    delta : (n, d)
        Distance asked between a record's value and its published one, >= 0.
    importance : (n, d)
        How much the record insists, in [0, 1].
    alone
        The model of each attribute by itself.
    """

    alone: ClassVar[Model]
    delta: Floats = field(repr=False)
    importance: Floats = field(repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.apart  # each refuses what makes no sense

    @property
    def weight(self) -> float:
        """The number that weighs wishes against shifts."""
        raise NotImplementedError

    @property
    def wished(self) -> bool:
        """Whether anything is asked for: otherwise only shifts cost."""
        raise NotImplementedError

    @cached_property
    def hard(self) -> Bool:
        """Which records insist wholly on which attribute, importance 1 (n, d)."""
        return np.asarray(self.importance == 1)

    @cached_property
    def apart(self) -> tuple[Any, ...]:
        """The program of each attribute by itself, which keeps its variance alone."""
        return tuple(map(self._alone, range(self.Z.shape[1])))

    def _alone(self, a: int) -> Any:
        tables = (self.Z, self.delta, self.importance)
        x, delta, importance = (np.ascontiguousarray(table[:, a]) for table in tables)
        with naming(f"Attribute {a} of those that vary"):
            return self.alone.data(x, self.labels, delta, importance, self.weight)


@dataclass(frozen=True, eq=False)
class SquaredWishes(JointWishes):
    """Wishes of which misses are squared, or none is allowed.

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
        """Whether anything is asked for: otherwise only shifts cost."""
        return self.alpha > 0 or bool(self.hard.any())

    def demanded(self) -> Demanded:
        """Return the intervals that demands leave, by group and attribute."""
        raise NotImplementedError
