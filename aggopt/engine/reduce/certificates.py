"""Certificates and loss of a release, from what its blocks have together."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from aggopt.aggregate.joint_aggregation import CONSTANT, VARIANCE
from aggopt.core.validation import Floats
from aggopt.engine.reduce.category_certificates import CategoryProofs
from aggopt.engine.reduce.group_sums import GroupSums, PublishedSums
from aggopt.engine.reduce.measure_names import LOSS, LOSS_OF_CATEGORIES, LOSS_OF_NUMBERS
from aggopt.engine.state.run_state import BlockState, ShiftEnd
from aggopt.solvers import Certificate, Status
from aggopt.solvers.certificate import choose_gap_size, is_gap_closed


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
    def losses(self) -> dict[str, float]:
        """Losses in percent of the variance, over the values that are present, by name.

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
        return lost

    def _numbers(self) -> dict[str, Certificate]:
        """Return one for each number; of a covariance one of all."""
        names, how = self.config.numbers, self.config.job.aggregation
        own = self.config.kept_values
        if not names:
            return {}
        if how.method == "median":
            sae = self.groups.sae
            return _exact(names, sae if own is None else own.costs(sae, 1), 0.0)
        keep = getattr(how, "keep", "mean")
        missed = self.figures.missed(self.groups.total, keep, own)
        if how.method == "p3m":
            ended = zip(names, self.shifts, strict=True)
            return {name: _of_shift(end, missed) for name, end in ended}
        if keep == "covariance":
            return {", ".join(names): self._covariance(missed)}
        sse = self.figures.exact
        costs = sse if own is None else own.costs(sse, 2)
        return _exact(names, costs, missed) | self._drawn_in(missed)

    def _drawn_in(self, missed: float) -> dict[str, Certificate]:
        """Return the certificates of numbers whose stretched means left their bounds.

        The objective of their program is the loss beyond that of the means.
        """
        found: dict[str, Certificate] = {}
        names, own, sse = self.config.numbers, self.config.kept_values, self.groups.sse
        means = (sse if own is None else own.costs(sse, 2)).tolist()
        for name, end, lost in zip(names, self.shifts, means, strict=False):
            if end is not None:
                shares = end.objective + lost, max(end.bound, 0.0) + lost
                found[name] = end._replace(
                    objective=shares[0], bound=shares[1]
                ).certificate(missed)
        return found

    def _covariance(self, missed: float) -> Certificate:
        """Return that of centroids that keep the covariance."""
        sse = float(self.figures.exact.sum())
        bound = min(self.groups.prove_covariance(), sse)
        size = choose_gap_size(sse, VARIANCE)
        status = Status.OPTIMAL if is_gap_closed(sse, bound, size) else Status.UNPROVEN
        return Certificate(status, sse, bound, missed, "closed form", 0.0, size=size)


def _of_shift(end: ShiftEnd | None, missed: float) -> Certificate:
    return CONSTANT if end is None else end.certificate(missed)


def _exact(
    names: Sequence[str], costs: Floats, missed: float
) -> dict[str, Certificate]:
    return {
        name: Certificate(Status.OPTIMAL, cost, cost, missed, "closed form", 0.0)
        for name, cost in zip(names, costs.tolist(), strict=True)
    }
