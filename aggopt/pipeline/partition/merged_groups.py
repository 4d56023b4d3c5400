"""Merge groups until the release satisfies a limit of its average risk or linkage."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from aggopt.core.deadline import Deadline
from aggopt.core.types import Floats, Labels
from aggopt.data.context.confidential import Confidential, list_requirements
from aggopt.data.context.strata import RecordStrata
from aggopt.data.context.units import RecordUnits
from aggopt.encoding import Encoded
from aggopt.errors import InfeasibleInputError
from aggopt.job import Job
from aggopt.partition.shared.evidence import Budget
from aggopt.partition.shared.result import Block, Partition
from aggopt.pipeline.partition.methods import find_start_bound, replace_partition
from aggopt.pipeline.partition.subsets import SingleStratumPerGroup, separate_strata
from aggopt.privacy.requirement import Requirement
from aggopt.release.audit.counts import Count
from aggopt.release.audit.risk_limits import is_at_most_limit
from aggopt.repair.merge_until_satisfied import certify_groups
from aggopt.repair.nearest_merges import list_merges, merge_as_needed

BY = "merging with nearest groups"


@dataclass(frozen=True, eq=False)
class MergeableGroups:
    """The groups of a block that may be merged, and what merged groups must satisfy.

    Attributes
    ----------
    block
        The quasi-identifiers with their groups.
    records : (n, d)
        Coordinates of distances; records of different strata are far apart.
    job
        The job of the release.
    requirements
        Requirements that merged groups satisfy, too.
    weights : (n,)
        Sampling weights, or None.
    """

    block: Block
    records: Floats | Encoded = field(repr=False)
    job: Job
    requirements: tuple[Requirement, ...] = ()
    weights: Floats | None = None

    @classmethod
    def of(
        cls,
        block: Block,
        records: Floats | Encoded,
        job: Job,
        confidential: Sequence[Confidential],
        strata: RecordStrata | None,
        weights: Floats | None,
    ) -> "MergeableGroups":
        """Return the groups of a block, ready to be merged within strata."""
        within: tuple[Requirement, ...] = ()
        if strata is not None and isinstance(records, Encoded):
            within = (SingleStratumPerGroup(strata.labels),)
            records = separate_strata(records, strata)
        requirements = (*list_requirements(confidential), *within)
        return cls(block, records, job, requirements, weights)

    def merge_until(self, is_kept: Callable[[Labels], bool]) -> Block | None:
        """Return the block after the fewest merges that keep a limit; None if none do.

        The groups that `is_kept` accepts are certified like those of a repair.
        """
        labels = self.block.labels
        if is_kept(labels):
            return self.block
        clock = Deadline(None)
        merges = list_merges(self.records, labels, self.requirements, self.weights)
        merged = merge_as_needed(labels, merges, is_kept)
        if merged is None:
            return None
        proof = certify_groups(
            self.records,
            merged,
            self.requirements,
            clock.spent,
            self.job.privacy.k,
            find_start_bound(self.block, self.job),
            by=BY,
            weights=self.weights,
            budget=Budget(self.job.partition.bound, 1.0),
        )
        partition = Partition(merged, proof)
        return replace_partition(
            self.block, self.records, partition, self.job, self.weights, "merge"
        )


def is_mergeable(job: Job, blocks: Sequence[Block], *, incomplete: bool) -> bool:
    """Whether merging groups enlarges the combinations that the release publishes.

    It does not with blocks of attributes, tables of keys, or missing values, whose
    groups share what they miss; and groups of waves are those of earlier releases.
    """
    privacy = job.privacy
    one_block = privacy.scope == "combination" and len(blocks) == 1
    return one_block and not incomplete


def keep_average_risk(
    groups: MergeableGroups, units: RecordUnits | None
) -> tuple[Block, tuple[str, ...]]:
    """Return the block, merged until the average risk is within its limit, and a note.

    The average risk is that of the audit: combinations over records, or over pairs of
    a unit and its combination.

    Raises
    ------
    InfeasibleInputError
        No merges keep the limit.
    """
    limit = groups.job.privacy.average_risk
    if limit is None:
        return groups.block, ()
    of_record = None
    if units is not None and units.records is None:
        of_record = units.unit_of_record
    measured: list[float] = []

    def is_kept(labels: Labels) -> bool:
        measured.append(Count.of((), labels, 2, of_record).average_risk)
        return is_at_most_limit(measured[-1], limit)

    before = groups.block.groups
    block = groups.merge_until(is_kept)
    if block is None:
        raise make_merge_error("average_risk", limit, min(measured))
    return block, describe_merging("average_risk", limit, before, block.groups)


def describe_merging(
    name: str, limit: float, before: int, after: int
) -> tuple[str, ...]:
    """Return a note on groups merged for a limit of the job, if any were."""
    if before == after:
        return ()
    return (
        f"{name} = {limit:g} is required: {before} groups were merged with their "
        f"nearest ones, and {after} are left.",
    )


def make_merge_error(name: str, limit: float, reached: float) -> InfeasibleInputError:
    """Return the error that merging groups does not reach a limit of a risk."""
    return InfeasibleInputError(
        f"{name} = {limit:g} is not kept by merging groups: the least that merging "
        f"reaches is {reached:.6g}.",
        fix=f"set {name} = {_round_up(reached):g} or more under [privacy], or "
        "require less of strata and confidential attributes, which limit merging.",
    )


def _round_up(risk: float) -> float:
    """Return a risk of four digits that is not smaller.

    >>> _round_up(0.12341), _round_up(0.5)
    (0.1235, 0.5)
    """
    return float(np.ceil(risk * 1e4 - 1e-9) / 1e4)
