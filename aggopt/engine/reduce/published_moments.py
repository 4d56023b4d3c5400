"""Mean and spread of the numbers that decide on the release, if other numbers do not.

A value decides nothing if its group does not publish the attribute.  The moments that
an aggregation keeps, and its certificates, are of the values that do.
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
    """Moments of the deciding values of each number.

    Attributes
    ----------
    scale
        Their scale, on z-scores of all values that are present.
    factor : (p,)
        Factor that gives the weights of their records the mean 1.
    """

    scale: Scale = field(repr=False)
    factor: Floats = field(repr=False)

    @classmethod
    def of(cls, paths: Sequence[Path], n: int) -> "PublishedMoments | None":
        """Return the moments of blocks of n records; None if all values are kept.

        Each block's moments are as from `block_moments`.
        """
        held = [load_arrays(path) for path in paths]
        counts = sum(each.pop("count") for each in held)
        if (counts == n).all():
            return None
        found = PartMoments.together([PartMoments(**each) for each in held])
        return cls(found.scale, counts / found.n)

    def costs(self, costs: Floats, power: int) -> Floats:
        """Return sums (p,) of distances to this power, on their own z-scores."""
        return np.asarray(costs * self.factor / self._unit**power)

    def standardised(
        self, mean: Floats, covariance: Floats
    ) -> tuple[Floats, Floats, Floats]:
        """Return mean and covariance on their own z-scores, and the moments to keep."""
        unit = self._unit
        asked = np.diag((~self.scale.constant).astype(np.float64))
        found = covariance / np.outer(unit, unit)
        return (mean - self.scale.mean) / unit, found, asked

    @property
    def _unit(self) -> Floats:
        return np.where(self.scale.constant, 1.0, self.scale.spread)


def block_moments(Z: Floats, weights: Floats | None) -> dict[str, Any]:
    """Return the sums written for numbers Z (n, p) of a block, nan if not kept."""
    return {"count": (~np.isnan(Z)).sum(axis=0), **vars(PartMoments.of(Z, weights))}
