"""Certificates of a folder, for numbers and categories, from sums over all blocks."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from aggopt.aggregate.joint_aggregation import CONSTANT, certify_covariance
from aggopt.core.types import F64, I64, Floats
from aggopt.data.context.rare_categories import PublishedRareCategories
from aggopt.encoding.generalisation import compute_node_losses
from aggopt.engine.state.group_sums import GroupSums, PublishedSums
from aggopt.engine.state.run_state import BlockState, ShiftEnd
from aggopt.engine.storage.scratch_files import sum_arrays
from aggopt.pipeline.aggregate.aggregate_table import (
    certify_statements,
    describe_root,
    describe_ties,
)
from aggopt.pipeline.prepare.job_settings import get_publishable_nodes
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
        if none have weights; number of groups for which several categories were equally
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
        """Return the sums over the groups of all blocks, added in their order."""
        width = len(config.categories)
        if not width:
            none = np.zeros(0, np.int64)
            return cls(config, (), none, np.zeros(0), none, np.zeros(0), (), ())
        paths = config.all("categories", len(config.blocks))
        names = [f"{kind} {j}" for kind in ("counts", "weights") for j in range(width)]
        sums = sum_arrays(paths, "there", "whole", "tied", "apart", *names)
        nodes = [sums[name] for name in names]
        return cls(
            config,
            programs,
            sums["there"],
            sums["whole"],
            sums["tied"],
            sums["apart"],
            nodes[:width],
            nodes[width:],
        )

    def certificates(self) -> dict[str, Certificate]:
        """Return the certificate of each category's choice, by attribute name."""
        names = self.config.categories
        if self.programs:
            return dict(zip(names, self.programs, strict=True))
        stated = self.statement_losses()
        return {
            name: _make_exact_certificate(
                stated[name] if name in stated else self._sum_distances(name)
            )
            for name in names
        }

    def statement_losses(self) -> dict[str, float]:
        """Return the generalised losses of categories with statements, by name."""
        losses = {}
        for place, (name, levels) in enumerate(self.config.levels.items()):
            section = self.config.job.attributes.get(name)
            if section is not None and section.is_truthful:
                nodes = compute_node_losses(levels.domain, section.type.rule)
                lost = float(self.weights[place] @ nodes)
                losses[name] = lost * float(self._factor[place])
        return losses

    def lost(self) -> float:
        """Return the mean loss of a record, summed over all categories."""
        with_counts = zip(self.config.levels.items(), self.there.tolist(), strict=True)
        lost = 0.0
        for (name, levels), count in with_counts:
            lost += levels.weight / levels.asked * self._sum_distances(name) / count
        return lost

    def varying(self) -> int:
        """Return the number of categories with several levels."""
        return sum(level.weight > 0 for level in self.config.levels.values())

    def notes(self) -> Iterator[str]:
        """Yield the texts of notes on trees, ties and rare categories."""
        for place, (name, levels) in enumerate(self.config.levels.items()):
            released = self.counts[place]
            if levels.note:
                yield f"{name!r}: {levels.note}"
            if tied := int(self.tied[place]):
                yield describe_ties(
                    name,
                    tied,
                    sum(self.config.counts),
                    self._count_differing(place),
                    weighted=self.config.mean_weight is not None,
                    by_block=True,
                )
            k = self.config.job.privacy.k
            rare = PublishedRareCategories.of(levels.counts, released, levels.domain, k)
            if rare.categories:
                yield rare.describe(name, k)
            if get_publishable_nodes(self.config.job, name) != "leaf":
                publish = self.config.job.attributes[name].publish
                count, n = int(released[-1]), int(released.sum())
                yield from describe_root(name, count, n, publish)

    def _count_differing(self, place: int) -> float:
        """Return the number of records by which published counts differ."""
        levels = self.config.levels[self.config.categories[place]]
        before = np.zeros(len(levels.domain.nodes))
        before[: levels.domain.m] = levels.shares * self.whole[place]
        away = np.abs(self.weights[place] - before).sum()
        return float(away * self._factor[place])

    def _sum_distances(self, name: str) -> float:
        """Return the total distance of records from their published category."""
        place = self.config.categories.index(name)
        apart = float(self.apart[place] * self._factor[place])
        return apart / self.config.levels[name].domain.unit

    @property
    def _factor(self) -> F64:
        """Factor (c,) of each category that gives its records the mean weight 1."""
        return np.asarray(self.there / self.whole)


@dataclass(frozen=True)
class FolderCertificates:
    """Certificates of the groups of a folder and of their published values."""

    config: BlockState
    groups: GroupSums
    figures: PublishedSums
    shifts: Sequence[ShiftEnd | None]
    categories: CategoryProofs
    seconds: float

    @cached_property
    def partition(self) -> Certificate:
        """The certificate of the groups: squared error, without a bound."""
        return Certificate(
            Status.LOCAL,
            self.groups.within,
            None,
            0.0,
            "local search in blocks",
            self.seconds,
        )

    def attributes(self) -> dict[str, Certificate]:
        """Return the certificates of all attributes, by name, in order."""
        names = self.config.job.roles.quasi_identifier
        certificates = self._certify_numbers() | self.categories.certificates()
        for j, name in enumerate(self.config.numbers):
            if name in self.config.spans:
                stated = float(self.figures.stated[j])
                certificates[name] = certify_statements(stated)
        first = names.index(self.config.numbers[0]) if self.config.numbers else 0
        places = {name: place for place, name in enumerate(names)}
        ordered = sorted(certificates, key=lambda name: places.get(name, first))
        return {name: certificates[name] for name in ordered}

    @property
    def losses(self) -> dict[str, float]:
        """Information losses by name, in percent of the variance.

        Each attribute has equal weight, independent of the job, as in memory.  Numbers
        and categories have losses of their own, as far as they vary.
        """
        varying = ~self.config.scale.constant
        numbers = float(varying @ (self.figures.sse / self.figures.there))
        categories = self.categories.lost()
        counts = int(varying.sum()), self.categories.varying()
        lost = {LOSS: 100 * (numbers + categories) / max(sum(counts), 1)}
        if counts[0]:
            lost[LOSS_OF_NUMBERS] = 100 * numbers / counts[0]
        if counts[1]:
            lost[LOSS_OF_CATEGORIES] = 100 * categories / counts[1]
        stated = self._average_statement_losses()
        if stated:
            lost[GENERALISED_LOSS] = 100 * sum(stated) / len(stated)
        return lost

    def _average_statement_losses(self) -> list[float]:
        """Return the mean generalised loss of each attribute with statements."""
        numbers = [
            float(self.figures.stated[j] / self.figures.there[j])
            for j, name in enumerate(self.config.numbers)
            if name in self.config.spans
        ]
        names = self.config.categories
        return numbers + [
            lost / float(self.categories.there[names.index(name)])
            for name, lost in self.categories.statement_losses().items()
        ]

    def _certify_numbers(self) -> dict[str, Certificate]:
        """Return the certificates of the numeric attributes, by name."""
        names = self.config.numbers
        aggregation = self.config.job.aggregation
        kept_values = self.config.kept_values
        if not names:
            return {}
        if aggregation.method == "median":
            sae = self.groups.sae
            return _certify_exact(
                names, sae if kept_values is None else kept_values.costs(sae, 1), 0.0
            )
        keep = getattr(aggregation, "keep", "mean")
        missed = self.figures.missed(self.groups.total, keep, kept_values)
        if aggregation.method == "p3m":
            ended = zip(names, self.shifts, strict=True)
            return {name: _certify_shift(end, missed) for name, end in ended}
        if keep == "covariance":
            return {", ".join(names): self._certify_covariance(missed)}
        sse = self.figures.exact
        costs = sse if kept_values is None else kept_values.costs(sse, 2)
        return _certify_exact(names, costs, missed) | self._certify_bounded(missed)

    def _certify_bounded(self, missed: float) -> dict[str, Certificate]:
        """Return the certificates of stretched means that left their bounds.

        The objective of their program is the loss beyond that of the means.
        """
        result: dict[str, Certificate] = {}
        names = self.config.numbers
        kept_values = self.config.kept_values
        sse = self.groups.sse
        means = (sse if kept_values is None else kept_values.costs(sse, 2)).tolist()
        for name, end, lost in zip(names, self.shifts, means, strict=False):
            if end is not None:
                shares = end.objective + lost, max(end.bound, 0.0) + lost
                result[name] = end._replace(
                    objective=shares[0], bound=shares[1]
                ).certificate(missed)
        return result

    def _certify_covariance(self, missed: float) -> Certificate:
        """Return the certificate of centroids that keep the covariance."""
        return certify_covariance(
            float(self.figures.exact.sum()),
            self.groups.prove_covariance(),
            violation=missed,
            solver="closed form",
            seconds=0.0,
        )


def _certify_shift(end: ShiftEnd | None, missed: float) -> Certificate:
    """Return the certificate of a shifted attribute, or that of a constant one."""
    return CONSTANT if end is None else end.certificate(missed)


def _certify_exact(
    names: Sequence[str], costs: Floats, missed: float
) -> dict[str, Certificate]:
    """Return certificates of optimality with these costs, by attribute name."""
    return {
        name: Certificate(Status.OPTIMAL, cost, cost, missed, "closed form", 0.0)
        for name, cost in zip(names, costs.tolist(), strict=True)
    }


LOSS = "information loss"  # losses are in percent of the variance; risks are shares
LOSS_OF_NUMBERS = "information loss of numbers"
LOSS_OF_CATEGORIES = "information loss of categories"
GENERALISED_LOSS = "generalised loss"  # all values suppressed: 100 %
LOSSES = (LOSS, LOSS_OF_NUMBERS, LOSS_OF_CATEGORIES)
GROUPS = "groups"  # its certificate follows the certificates of attributes


def _make_exact_certificate(distance: float) -> Certificate:
    """Return the certificate of an optimal total distance."""
    return Certificate(Status.OPTIMAL, distance, distance, 0.0, "closed form", 0.0)
