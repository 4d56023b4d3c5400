"""A numeric attribute of the records of a table."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from aggopt.core.memory import require_memory
from aggopt.core.standardise import Scale
from aggopt.core.types import F64
from aggopt.encoding.clock import Clock


@dataclass(frozen=True, eq=False)
class NumericColumn:
    """Numbers, and the distance between them.

    Attributes
    ----------
    values : (n,)
        In their own units; dates in units of their clock, from the first date on.
    by_range
        Whether distances are |x - x'| / range; otherwise distances of z-scores.
    clock
        Unit and origin of dates, times of day and durations; None for numbers.
    weights : (n,)
        Sampling weights of the records; None if absent or all equal.
    """

    values: F64 = field(repr=False)
    by_range: bool = False
    clock: Clock | None = None
    weights: F64 | None = field(default=None, repr=False)

    @cached_property
    def scale(self) -> Scale:
        """Mean and standard deviation, weighted where records have weights."""
        return Scale.of(self.values[:, None], self.weights)

    @property
    def constant(self) -> bool:
        """Whether all values are equal."""
        return bool(self.scale.constant[0])

    def points(self, values: F64) -> F64:
        """Return coordinates (len(values), q) of values on the scale of this column.

        Their squared distances are the distances; a column that is constant has none.
        By range the values are a path, whose edges are the gaps between them.
        """
        if self.constant:
            return np.empty((len(values), 0))
        if not self.by_range:
            return self.scale.standardise(values[:, None])
        there = np.unique(values)
        n, p = len(values), len(there) - 1
        require_memory(16 * n * p, f"{p} coordinates of {n} records")
        half_range = self.values.max() / 2 - self.values.min() / 2
        lengths = (there[1:] / 2 - there[:-1] / 2) / half_range
        return np.where(values[:, None] > there[:-1], np.sqrt(lengths), 0.0)
