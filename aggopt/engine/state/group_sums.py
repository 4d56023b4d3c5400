"""Sums over all blocks, and the shift, residual and rounding drift from them."""

from dataclasses import dataclass, field, fields

import numpy as np

from aggopt.aggregate.joint_aggregation import COINCIDE
from aggopt.core.types import Bool, Floats
from aggopt.engine.state.moments import PublishedMoments
from aggopt.engine.state.run_state import BlockState, Shift
from aggopt.engine.storage.scratch_files import sum_arrays
from aggopt.engine.validate.values import require_distinct_means
from aggopt.models.covariance_mean import MomentSums
from aggopt.pipeline.finish.rounding import find_time_steps
from aggopt.pipeline.finish.rounding_notes import make_drift
from aggopt.pipeline.prepare.published_grid import choose_decimals
from aggopt.release.manifest import Drift

ROUNDINGS = 1e-13  # of a sum of squares: more than its terms lose by rounding


@dataclass(frozen=True, eq=False)
class GroupSums:
    """Sums over the groups of all blocks, on z-scores.

    Attributes
    ----------
    n
        Number of records.
    there : (d,)
        Number of records with a value of each attribute that decides on the release.
    within
        Squared error of the groups, in the coordinates used to make them.
    sse, sae : (d,)
        Squared errors of the means and absolute errors of the centroids.
    mean : (d,)
        Mean of the centroids, each weighted by its records.
    between : (d, d)
        Covariance of the centroids.
    total : (d, d)
        Covariance of the records.
    """

    n: int
    there: Floats
    within: float
    sse: Floats
    sae: Floats
    mean: Floats
    between: Floats
    total: Floats = field(repr=False)

    @classmethod
    def of(cls, config: BlockState, n: int, total: Floats) -> "GroupSums":
        """Return the sums over the groups of all blocks, added in their order."""
        paths = config.all("grouped", len(config.blocks))
        sums = sum_arrays(paths, "within", "sse", "sae", "sums", "products")
        arrays = sum_arrays(paths, "there")["there"][config.places].astype(np.float64)
        mean = sums["sums"] / arrays
        between = sums["products"] / arrays - np.outer(mean, mean)
        within = float(sums["within"])
        return cls(n, arrays, within, sums["sse"], sums["sae"], mean, between, total)

    def shift(self, keep: str, constant: Bool) -> Shift | None:
        """Return the map from means to published centroids; None if unchanged.

        `constant` (p,) marks numbers with only one published value.

        Raises
        ------
        InfeasibleInputError
            They coincide in an attribute, or in fewer directions than it has.
        """
        varying = ~constant
        if keep == "variance":
            spread = np.sqrt(np.maximum(np.diag(self.between), 0.0))
            require_distinct_means(not (spread[varying] < COINCIDE).any())
            scales = np.where(varying, 1.0 / np.where(varying, spread, 1.0), 0.0)
            return Shift(self.mean, np.diag(scales))
        if keep == "covariance":
            return Shift(self.mean, self._find_covariance_map(varying))
        return None

    def _find_covariance_map(self, varying: Bool) -> Floats:
        """Return the matrix (d, d) that restores the records' covariance."""
        at = np.ix_(*2 * [np.flatnonzero(varying)])
        covariance = np.zeros_like(self.total)
        if varying.any():
            nearest = MomentSums(self.total[at], self.between[at]).find_map()
            require_distinct_means(nearest is not None)
            covariance[at] = nearest
        return covariance

    def prove_covariance(self) -> float:
        """Return a lower bound of the loss of centroids that keep the covariance."""
        spreads = np.trace(self.between) + np.trace(self.total)
        within = float(self.sse.sum())
        lowest = MomentSums(self.n * self.total, self.n * self.between).prove()
        return within + lowest - ROUNDINGS * (within + self.n * float(spreads))


@dataclass(frozen=True, eq=False)
class PublishedSums:
    """Sums over the published records of all blocks, on z-scores.

    Attributes
    ----------
    kept, products
        Sums (d,) and sums of products (d, d) before rounding.
    released, squares : (d,)
        Sums and sums of squares of the released values.
    exact, sse : (d,)
        Squared errors before rounding, and of the released values.
    stated : (d,)
        Generalised losses of numbers that publish true statements; 0 of others.
    """

    there: Floats
    kept: Floats
    products: Floats
    released: Floats
    squares: Floats
    exact: Floats
    sse: Floats
    stated: Floats

    @classmethod
    def of(cls, config: BlockState, counts: Floats) -> "PublishedSums":
        """Return the sums over the published records of all blocks, in order."""
        names = [field.name for field in fields(cls)][1:]
        paths = config.all("figures", len(config.blocks))
        return cls(counts, **sum_arrays(paths, *names))

    def drifts(self, config: BlockState) -> dict[str, Drift]:
        """Return the change of mean and variance by rounding, by attribute name."""
        scale = config.scale
        output = config.job.output
        steps = find_time_steps(config.clocks, config.numbers, scale.spread, output)
        mean = self.kept / self.there
        after = self.released / self.there
        variance = np.diag(self.products) / self.there - mean**2
        variance_after = self.squares / self.there - after**2
        drifts = {}
        for j, name in enumerate(config.numbers):
            if scale.constant[j] or name in config.spans:
                continue
            place = choose_decimals(float(scale.spread[j]), output)
            seconds = None
            if name in steps:
                seconds = steps[name] * config.clocks[name].seconds
            shift = after[j] - mean[j]
            drifts[name] = make_drift(
                place, seconds, shift, variance[j], variance_after[j]
            )
        return drifts

    def missed(
        self, total: Floats, keep: str, published_moments: PublishedMoments | None
    ) -> float:
        """Return the largest deviation of published centroids from kept moments.

        `total` (d, d) is the covariance of the records.  If only some values are kept,
        it is the covariance of these values, from their `published_moments`.
        """
        mean = self.kept / self.there
        moments = self.products / self.there - np.outer(mean, mean)
        if published_moments is not None:
            mean, moments, total = published_moments.standardised(mean, moments)
        away = moments - total
        missed = np.abs(mean).max()
        if keep == "variance":
            missed = max(missed, np.abs(np.diag(away)).max())
        if keep == "covariance":
            missed = max(missed, np.abs(away).max())
        return float(missed)
