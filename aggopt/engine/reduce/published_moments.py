"""Mean and spread of the numbers that decide what is published, where others do not.

A value decides nothing if its group does not publish the attribute.  What an
aggregation keeps, and what is proven of it, is of the values that do.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from aggopt.core.standardise import Scale
from aggopt.core.validation import Floats
from aggopt.engine.reduce.moments import PartMoments
from aggopt.engine.storage.scratch_files import load_arrays


@dataclass(frozen=True, eq=False)
class PublishedMoments:
    """What they have, of each number.

    Attributes
    ----------
    scale
        Their scale, on z-scores of all values that are there.
    factor : (p,)
        By which the weights of their records are multiplied to have the mean 1.
    """

    scale: Scale = field(repr=False)
    factor: Floats = field(repr=False)

    @classmethod
    def of(cls, paths: Sequence[Path], n: int) -> "PublishedMoments | None":
        """Return what blocks of n records have; None where all values are kept.

        As `moments_of` says of each.
        """
        held = [load_arrays(path) for path in paths]
        counts = sum(each.pop("count") for each in held)
        if (counts == n).all():
            return None
        found = PartMoments.together([PartMoments(**each) for each in held])
        return cls(found.scale, counts / found.n)

    def costs(self, costs: Floats, power: int) -> Floats:
        """Return sums (p,) of so many powers of distances, on their own z-scores."""
        return np.asarray(costs * self.factor / self._unit**power)

    def standardised(
        self, mean: Floats, covariance: Floats
    ) -> tuple[Floats, Floats, Floats]:
        """Return mean and covariance on their own z-scores, and what is to be kept."""
        unit = self._unit
        asked = np.diag((~self.scale.constant).astype(np.float64))
        found = covariance / np.outer(unit, unit)
        return (mean - self.scale.mean) / unit, found, asked

    @property
    def _unit(self) -> Floats:
        return np.where(self.scale.constant, 1.0, self.scale.spread)


def block_moments(Z: Floats, weights: Floats | None) -> dict[str, Any]:
    """Return what is written of numbers Z (n, p) of a block, nan if not kept."""
    return {"count": (~np.isnan(Z)).sum(axis=0), **vars(PartMoments.of(Z, weights))}
