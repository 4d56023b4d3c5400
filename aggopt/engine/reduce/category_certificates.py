"""Certificates and notes of categories that blocks publish, over all blocks."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from aggopt.core.plural import plural
from aggopt.core.types import F64, I64
from aggopt.data.context.rare_categories import PublishedRareCategories
from aggopt.engine.state.run_state import BlockState
from aggopt.engine.storage.scratch_files import sum_arrays
from aggopt.pipeline.aggregate.aggregate_table import note_on_root
from aggopt.pipeline.prepare.category_settings import publishable_nodes
from aggopt.solvers import Certificate, Status


@dataclass(frozen=True, eq=False)
class CategoryProofs:
    """Sums over the groups of all blocks.

    Attributes
    ----------
    config
        The categories and their levels.
    programs
        Results of the programs of all groups; none if each block chose independently.
    there, whole, tied, apart : (c,)
        Number of records that have a level, and their weight, which equals the number
        if none have weights; number of groups in which several categories were equally
        near; total distance of records, by weight, from their published category, in
        units of the domain.
    counts, weights
        Number of records that publish each node of each category, and their weight.
    """

    config: BlockState
    programs: Sequence[Certificate]
    there: I64
    whole: F64
    tied: I64
    apart: F64
    counts: Sequence[I64] = field(repr=False)
    weights: Sequence[F64] = field(repr=False)

    @classmethod
    def of(
        cls, config: BlockState, programs: Sequence[Certificate]
    ) -> "CategoryProofs":
        """Return the sums over all blocks, in their order."""
        width = len(config.categories)
        if not width:
            none = np.zeros(0, np.int64)
            return cls(config, (), none, np.zeros(0), none, np.zeros(0), (), ())
        paths = config.all("categories", len(config.blocks))
        names = [f"{of} {j}" for of in ("counts", "weights") for j in range(width)]
        sums = sum_arrays(paths, "there", "whole", "tied", "apart", *names)
        nodes = [sums[name] for name in names]
        found = sums["there"], sums["whole"], sums["tied"], sums["apart"]
        return cls(config, programs, *found, nodes[:width], nodes[width:])

    def certificates(self) -> dict[str, Certificate]:
        """Return one for each category: no choice for these groups loses less."""
        names = self.config.categories
        if self.programs:
            return dict(zip(names, self.programs, strict=True))
        return {name: _exact(self._distance(name)) for name in names}

    def lost(self) -> float:
        """Return the loss of one record in all categories, which weigh alike."""
        named = zip(self.config.levels.items(), self.there.tolist(), strict=True)
        lost = 0.0
        for (name, levels), there in named:
            lost += levels.weight / levels.asked * self._distance(name) / there
        return lost

    def varying(self) -> int:
        """Return the number of categories with several levels, which can lose."""
        return sum(each.weight > 0 for each in self.config.levels.values())

    def notes(self) -> Iterator[str]:
        """Yield notes on trees, ties and roots."""
        for place, (name, levels) in enumerate(self.config.levels.items()):
            released = self.counts[place]
            if levels.note:
                yield f"{name!r}: {levels.note}"
            if tied := int(self.tied[place]):
                differ, weighted = self._differ(place), self.config.mean_weight
                counts = "counts" if weighted is None else "weighted counts"
                groups = plural(sum(self.config.counts), "group")
                yield (
                    f"{name!r}: in {tied} of {groups} several categories are equally "
                    "near; of these, block by block, such were published that the "
                    f"{counts} of categories differ by {differ:g} records in all."
                )
            k = self.config.job.privacy.k
            rare = PublishedRareCategories.of(levels.counts, released, levels.domain, k)
            if rare.categories:
                yield rare.describe(name, k)
            if publishable_nodes(self.config.job, name) != "leaf":
                yield from note_on_root(name, int(released[-1]), int(released.sum()))

    def _differ(self, place: int) -> float:
        """Return by how many records, of mean weight, counts differ from before."""
        levels = self.config.levels[self.config.categories[place]]
        before = np.zeros(len(levels.domain.nodes))
        before[: levels.domain.m] = levels.shares * self.whole[place]
        away = np.abs(self.weights[place] - before).sum()
        return float(away * self._factor[place])

    def _distance(self, name: str) -> float:
        """Return the total distance in a category, by weights of the mean 1."""
        place = self.config.categories.index(name)
        apart = float(self.apart[place] * self._factor[place])
        return apart / self.config.levels[name].domain.unit

    @property
    def _factor(self) -> F64:
        return np.asarray(self.there / self.whole)


def _exact(distance: float) -> Certificate:
    return Certificate(Status.OPTIMAL, distance, distance, 0.0, "closed form", 0.0)
