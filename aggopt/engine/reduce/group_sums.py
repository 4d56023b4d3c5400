"""Sums over all blocks, and the shift, residual and rounding drift from them."""

from dataclasses import dataclass, field, fields

import numpy as np

from aggopt.core.standardise import Scale
from aggopt.core.types import Bool
from aggopt.core.validation import Floats
from aggopt.engine.state.moments import PublishedMoments
from aggopt.engine.state.run_state import BlockState, RunState, Shift
from aggopt.engine.storage.scratch_files import sum_arrays
from aggopt.errors import InfeasibleInputError
from aggopt.models.covariance_mean import MomentSums
from aggopt.pipeline.finish.rounding import choose_time_step
from aggopt.pipeline.prepare.published_grid import choose_decimals
from aggopt.release.drift import Drift

COINCIDE = 1e-9  # standard deviations: group means that lie no farther apart
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
        """Return the sums over all blocks, in their order."""
        paths = config.all("grouped", len(config.blocks))
        sums = sum_arrays(paths, "within", "sse", "sae", "sums", "products")
        there = sum_arrays(paths, "there")["there"][config.places].astype(np.float64)
        mean = sums["sums"] / there
        between = sums["products"] / there - np.outer(mean, mean)
        within, lost = float(sums["within"]), (sums["sse"], sums["sae"])
        return cls(n, there, within, *lost, mean, between, total)

    def shift(self, keep: str, constant: Bool) -> Shift | None:
        """Return the shift of the centroids; None if they stay.

        `constant` (p,) marks numbers with only one published value.

        Raises
        ------
        InfeasibleInputError
            They coincide in an attribute, or in fewer directions than it has.
        """
        varying = ~constant
        if keep == "variance":
            spread = np.sqrt(np.maximum(np.diag(self.between), 0.0))
            _require_apart(not (spread[varying] < COINCIDE).any())
            kept = np.where(varying, 1.0 / np.where(varying, spread, 1.0), 0.0)
            return Shift(self.mean, np.diag(kept))
        if keep == "covariance":
            return Shift(self.mean, self._to_covariance(varying))
        return None

    def _to_covariance(self, varying: Bool) -> Floats:
        """Return the map M (d, d) nearest to the identity that restores the total."""
        at = np.ix_(*2 * [np.flatnonzero(varying)])
        whole = np.zeros_like(self.total)
        if varying.any():
            nearest = MomentSums(self.total[at], self.between[at]).find_map()
            _require_apart(nearest is not None)
            whole[at] = nearest
        return whole

    def prove_covariance(self) -> float:
        """Return a bound of the squared error of centroids that keep the covariance."""
        spreads = np.trace(self.between) + np.trace(self.total)
        within = float(self.sse.sum())
        least = MomentSums(self.n * self.total, self.n * self.between).prove()
        return within + least - ROUNDINGS * (within + self.n * float(spreads))


def _require_apart(are_apart: bool) -> None:
    if not are_apart:
        raise InfeasibleInputError(
            "Group means coincide in an attribute or a direction in which records "
            "differ, so no map restores what is to be kept.",
            fix="choose a smaller k, or take the means as they are.",
        )


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
    """

    there: Floats
    kept: Floats
    products: Floats
    released: Floats
    squares: Floats
    exact: Floats
    sse: Floats

    @classmethod
    def of(cls, config: BlockState, there: Floats) -> "PublishedSums":
        """Return the sums over all blocks, in their order, of the values present."""
        names = [each.name for each in fields(cls)][1:]
        paths = config.all("figures", len(config.blocks))
        return cls(there, **sum_arrays(paths, *names))

    def drifts(self, config: BlockState) -> dict[str, Drift]:
        """Return by how much rounding moved each number."""
        job, scale, steps = config.job, config.scale, date_steps(config, config.scale)
        mean, after = self.kept / self.there, self.released / self.there
        had = np.diag(self.products) / self.there - mean**2
        has = self.squares / self.there - after**2
        found = {}
        for j, name in enumerate(config.numbers):
            if scale.constant[j]:
                continue
            place = choose_decimals(float(scale.spread[j]), job.output)
            step = None if place is None else float(f"1e{-place}")
            if name in steps:
                step = steps[name] * config.clocks[name].seconds
            share = abs(has[j] / had[j] - 1) if had[j] else 0.0
            found[name] = Drift(step, float(abs(after[j] - mean[j])), float(share))
        return found

    def missed(self, total: Floats, keep: str, own: PublishedMoments | None) -> float:
        """Return by how much the published centroids miss the kept moments, per record.

        `total` (d, d) is the covariance of the records.  If only some values are kept,
        it is the covariance of these values, from their `own`.
        """
        mean = self.kept / self.there
        found = self.products / self.there - np.outer(mean, mean)
        if own is not None:
            mean, found, total = own.standardised(mean, found)
        away = found - total
        missed = np.abs(mean).max()
        if keep == "variance":
            missed = max(missed, np.abs(np.diag(away)).max())
        if keep == "covariance":
            missed = max(missed, np.abs(away).max())
        return float(missed)


def date_steps(config: RunState, scale: Scale) -> dict[str, int]:
    """Return of how many units published dates are multiples, by name."""
    output = config.job.output
    return {
        name: choose_time_step(
            clock, float(scale.spread[config.numbers.index(name)]), output
        )
        for name, clock in config.clocks.items()
    }
