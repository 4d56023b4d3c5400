"""What blocks have together: how means are moved, certificates, drift and loss."""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property

import numpy as np

from aggopt.aggregate._together import CONSTANT
from aggopt.core.standardise import Scale
from aggopt.core.types import Bool
from aggopt.core.validation import Floats
from aggopt.engine.category_proofs import CategoryProofs
from aggopt.engine.config import InBlocks, Shift
from aggopt.engine.coordinates import asked_weight
from aggopt.engine.passes_of_dates import steps_of
from aggopt.engine.passes_of_shifts import ShiftEnd
from aggopt.engine.workspace import summed
from aggopt.errors import InfeasibleInputError
from aggopt.output.drift import Drift
from aggopt.pipeline.rounding import place_of
from aggopt.solvers import Certificate, Status
from aggopt.solvers._certificate import closed

COINCIDE = 1e-9  # standard deviations: group means that lie no farther apart
NOISE = 1e-10  # of the largest eigenvalue: what rounding leaves of none
ROUNDINGS = 1e-13  # of a sum of squares: more than its terms lose by rounding


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
    def of(cls, config: InBlocks, n: int, total: Floats) -> "GroupSums":
        """Return the sums over all blocks, in their order."""
        paths = config.all("grouped", len(config.blocks))
        sums = summed(paths, "within", "sse", "sae", "sums", "products")
        there = summed(paths, "there")["there"][config.places].astype(np.float64)
        mean = sums["sums"] / there
        between = sums["products"] / there - np.outer(mean, mean)
        within, lost = float(sums["within"]), (sums["sse"], sums["sae"])
        return cls(n, there, within, *lost, mean, between, total)

    def shift(self, keep: str, scale: Scale) -> Shift | None:
        """Return how centroids are to be moved; None where they stay.

        Raises
        ------
        InfeasibleInputError
            They coincide in an attribute, or in fewer directions than it has.
        """
        varying = ~scale.constant
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
    def of(cls, config: InBlocks, there: Floats) -> "PublishedSums":
        """Return the sums over all blocks, in their order, of values that are there."""
        names = [each.name for each in fields(cls)][1:]
        paths = config.all("figures", len(config.blocks))
        return cls(there, **summed(paths, *names))

    def drifts(self, config: InBlocks) -> dict[str, Drift]:
        """Return by how much rounding moved each number."""
        job, scale, steps = config.job, config.scale, steps_of(config, config.scale)
        mean, after = self.kept / self.there, self.released / self.there
        had = np.diag(self.products) / self.there - mean**2
        has = self.squares / self.there - after**2
        found = {}
        for j, name in enumerate(config.numbers):
            if scale.constant[j]:
                continue
            place = place_of(float(scale.spread[j]), job.output)
            step = None if place is None else float(f"1e{-place}")
            if name in steps:
                step = steps[name] * config.clocks[name].seconds
            share = abs(has[j] / had[j] - 1) if had[j] else 0.0
            found[name] = Drift(step, float(abs(after[j] - mean[j])), float(share))
        return found

    def missed(self, total: Floats, keep: str) -> float:
        """Return by how much the published centroids miss what they keep, per record.

        `total` (d, d) is the covariance of the records.
        """
        mean = self.kept / self.there
        away = self.products / self.there - np.outer(mean, mean) - total
        missed = np.abs(mean).max()
        if keep == "variance":
            missed = max(missed, np.abs(np.diag(away)).max())
        if keep == "covariance":
            missed = max(missed, np.abs(away).max())
        return float(missed)


@dataclass(frozen=True)
class Proofs:
    """What is proven of groups and of what is published of them."""

    config: InBlocks
    groups: GroupSums
    figures: PublishedSums
    shifts: Sequence[ShiftEnd | None]
    categories: CategoryProofs
    seconds: float

    @cached_property
    def partition(self) -> Certificate:
        """Of the groups: their squared error; a search in blocks proves no bound."""
        return Certificate(
            Status.LOCAL,
            self.groups.within,
            None,
            0.0,
            "local search in blocks",
            self.seconds,
        )

    def attributes(self) -> dict[str, Certificate]:
        """Return one for each attribute, in order; of a covariance one of all."""
        names = self.config.job.roles.quasi_identifier
        found = self._numbers() | self.categories.certificates()
        first = names.index(self.config.numbers[0]) if self.config.numbers else 0
        places = {name: place for place, name in enumerate(names)}
        ordered = sorted(found, key=lambda name: places.get(name, first))
        return {name: found[name] for name in ordered}

    @property
    def lost(self) -> float:
        """The share of the variance that is lost, of the values that are there."""
        scale, config = self.config.scale, self.config
        asked = np.array([asked_weight(name, config) for name in config.numbers])
        weights = np.where(scale.constant, 0.0, asked)
        whole = float(weights.sum()) + self.categories.weight()
        each = self.figures.sse / self.figures.there
        lost = float(weights @ each) + self.categories.lost()
        return lost / whole if whole else 0.0

    def _numbers(self) -> dict[str, Certificate]:
        """Return one for each number; of a covariance one of all."""
        names, how = self.config.numbers, self.config.job.aggregation
        if not names:
            return {}
        if how.method == "median":
            return _exact(names, self.groups.sae, 0.0)
        keep = getattr(how, "keep", "mean")
        missed = self.figures.missed(self.groups.total, keep)
        if how.method == "p3m":
            ended = zip(names, self.shifts, strict=True)
            return {name: _of_shift(end, missed) for name, end in ended}
        if keep == "covariance":
            return {", ".join(names): self._covariance(missed)}
        return _exact(names, self.figures.exact, missed) | self._drawn_in(missed)

    def _drawn_in(self, missed: float) -> dict[str, Certificate]:
        """Return those of numbers whose stretched means left their bounds.

        Their program has what centroids lose beside the means.
        """
        found: dict[str, Certificate] = {}
        names, means = self.config.numbers, self.groups.sse.tolist()
        for name, end, lost in zip(names, self.shifts, means, strict=False):
            if end is not None:
                shares = end.objective + lost, max(end.bound, 0.0) + lost
                found[name] = end._replace(
                    objective=shares[0], bound=shares[1]
                ).certificate(missed)
        return found

    def _covariance(self, missed: float) -> Certificate:
        """Return that of centroids that keep the covariance.

        No centroids with covariance T have a squared error below
        within + n (tr B + tr T - 2 tr (B^1/2 T B^1/2)^1/2), the distance of Bures and
        Wasserstein of two normal distributions.
        """
        found, n = self.groups, self.groups.n
        values, vectors = np.linalg.eigh(found.total)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        inner = np.linalg.eigvalsh(root.T @ found.between @ root)
        nearest = np.sqrt(np.maximum(inner, 0.0)).sum()
        spreads = np.trace(found.between) + np.trace(found.total)
        within = float(found.sse.sum())
        bound = within + n * float(spreads - 2 * nearest)
        bound -= ROUNDINGS * (within + n * float(spreads))
        sse = float(self.figures.exact.sum())
        bound = min(bound, sse)
        status = Status.OPTIMAL if closed(sse, bound) else Status.LIMIT
        return Certificate(status, sse, bound, missed, "closed form", 0.0)


def _of_shift(end: ShiftEnd | None, missed: float) -> Certificate:
    return CONSTANT if end is None else end.certificate(missed)


def _exact(
    names: Sequence[str], costs: Floats, missed: float
) -> dict[str, Certificate]:
    return {
        name: Certificate(Status.OPTIMAL, cost, cost, missed, "closed form", 0.0)
        for name, cost in zip(names, costs.tolist(), strict=True)
    }
