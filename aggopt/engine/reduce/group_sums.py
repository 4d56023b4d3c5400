"""What blocks have together: how means are moved, what they miss, and drift."""

from dataclasses import dataclass, field, fields

import numpy as np

from aggopt.core.types import Bool
from aggopt.core.validation import Floats
from aggopt.engine.reduce.published_moments import PublishedMoments
from aggopt.engine.run_state import BlockState, Shift
from aggopt.engine.steps.dates import date_steps
from aggopt.engine.storage.scratch_files import sum_arrays
from aggopt.errors import InfeasibleInputError
from aggopt.pipeline.finish.rounding import choose_decimals
from aggopt.release.drift import Drift

COINCIDE = 1e-9  # standard deviations: group means that lie no farther apart
NOISE = 1e-10  # of the largest eigenvalue: what rounding leaves of none


@dataclass(frozen=True, eq=False)
class GroupSums:
    """Sums over the groups of all blocks, on z-scores.

    Attributes
    ----------
    n
        How many records there are.
    there : (d,)
        How many of them have a value of each attribute that decides what is published.
    within
        Squared error of the groups, in the coordinates in which they were made.
    sse, sae : (d,)
        Squared errors of the means and absolute ones of the centroids.
    mean : (d,)
        Mean of the centroids, each weighted by its records.
    between : (d, d)
        Their covariance.
    total : (d, d)
        That of the records.
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
        """Return how centroids are to be moved; None where they stay.

        `constant` (p,) are numbers of which one value is published.

        Raises
        ------
        InfeasibleInputError
            They coincide in an attribute, or in fewer directions than it has.
        """
        varying = ~constant
        if keep == "variance":
            spread = np.sqrt(np.maximum(np.diag(self.between), 0.0))
            _require_apart(int((spread[varying] < COINCIDE).sum()))
            kept = np.where(varying, 1.0 / np.where(varying, spread, 1.0), 0.0)
            return Shift(self.mean, np.diag(kept))
        if keep == "covariance":
            return Shift(self.mean, self._to_covariance(varying))
        return None

    def _to_covariance(self, varying: Bool) -> Floats:
        """Return the map M (d, d) nearest to the identity with M'BM = T.

        B is the covariance of the centroids and T that of the records:
        M = T^1/2 (T^1/2 B T^1/2)^-1/2 T^1/2, the optimal transport of one normal
        distribution to the other.
        """
        rows = np.flatnonzero(varying)
        if not rows.size:
            return np.zeros_like(self.total)
        T = self.total[np.ix_(rows, rows)]
        B = self.between[np.ix_(rows, rows)]
        values, vectors = np.linalg.eigh(T)
        there = values > NOISE * values.max()
        root = vectors[:, there] * np.sqrt(values[there])  # T = root root'
        inner, axes = np.linalg.eigh(root.T @ B @ root)
        _require_apart(int((inner <= NOISE * inner.max()).sum()))
        half = root @ axes
        found = np.zeros_like(self.total)
        found[np.ix_(rows, rows)] = (half / np.sqrt(inner)) @ half.T
        return found


def _require_apart(coinciding: int) -> None:
    if coinciding:
        raise InfeasibleInputError(
            "Group means coincide in an attribute or a direction in which records "
            "differ, so no map restores what is to be kept.",
            fix="choose a smaller k, or take the means as they are.",
        )


@dataclass(frozen=True, eq=False)
class PublishedSums:
    """Sums over the records of all blocks, as they are published; on z-scores.

    Attributes
    ----------
    kept, products
        Sums (d,) and sums of products (d, d) before rounding.
    released, squares : (d,)
        Sums and sums of squares of what is released.
    exact, sse : (d,)
        Squared errors before rounding, and of what is released.
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
        """Return the sums over all blocks, in their order, of values that are there."""
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
        """Return by how much the published centroids miss what they keep, per record.

        `total` (d, d) is the covariance of the records; of those values alone that are
        kept, where others are not, it is that of their `own`.
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
