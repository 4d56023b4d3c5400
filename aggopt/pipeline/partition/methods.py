"""The methods of a job for its groups, with their arguments and requirements."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from aggopt.core.record_weights import group_sse
from aggopt.core.types import Floats
from aggopt.data.context.confidential import (
    Confidential,
    list_requirements,
    read_confidential_attributes,
)
from aggopt.data.context.units import RecordUnits
from aggopt.data.context.weights import SamplingWeights
from aggopt.data.table import Table
from aggopt.encoding import Encoded
from aggopt.job import Job, Privacy
from aggopt.partition.block_partition import call_with_progress
from aggopt.partition.registry import PARTITIONERS, Bound, ConfidentialUse, Partitioner
from aggopt.partition.shared.evidence import Budget
from aggopt.partition.shared.result import Block, Partition
from aggopt.partition.shared.scaling import scale_with_weights
from aggopt.pipeline.prepare.defaults import list_method_requirements
from aggopt.pipeline.prepare.prepared_table import PreparedTable
from aggopt.privacy.closeness import suppress_constant_warnings
from aggopt.privacy.models.l_diversity import Diversity
from aggopt.privacy.models.t_closeness import Closeness
from aggopt.privacy.requirement import Requirement
from aggopt.release.audit.dominance import make_dominance_requirements
from aggopt.repair.registry import REPAIRS, RepairInput

Kind = TypeVar("Kind", bound=Requirement)


def make_partitioner(
    job: Job, confidential: Sequence[Confidential]
) -> str | Callable[..., Partition]:
    """Return the partition function of the job, confidential attributes bound."""
    partition = job.partition
    method = PARTITIONERS.of(partition)
    if method.confides is ConfidentialUse.NONE:
        return partition.function if partition.own is None else method.function

    def divide(
        X: Floats | Encoded, k: int, *, progress: Any, **settings: Any
    ) -> Partition:
        confidential_settings = _make_confidential_arguments(
            method, job.privacy, confidential
        )
        with suppress_constant_warnings():
            partition: Partition = call_with_progress(
                method.function,
                X,
                k=k,
                progress=progress,
                **settings,
                **confidential_settings,
            )
        return partition

    return divide


def _make_confidential_arguments(
    method: Partitioner, privacy: Privacy, confidential: Sequence[Confidential]
) -> dict[str, Any]:
    """Return a partition's arguments for its confidential attributes."""
    if "t" in method.guarantees:
        return {"confidential": _rank_confidential(confidential), "t": privacy.t}
    return {
        "confidential": _select_requirements(confidential, Diversity)[0].codes,
        "l": privacy.l,
        "diversity": privacy.diversity,
        "levels": "values",
    }


def repair_block(
    block: Block,
    X: Floats | Encoded,
    job: Job,
    confidential: Sequence[Confidential],
    on_progress: Any,
    more: Sequence[Requirement] = (),
    weights: Floats | None = None,
    share: float = 1.0,
) -> Block:
    """Return a block whose groups are repaired to satisfy the job and `more`.

    A bound that the partition proved for all groups of k holds for repaired groups
    too, and is kept if it is the highest.  Records may have `weights` (n,).  The bound
    of the repaired groups takes a `share` of its budget.
    """
    repair = job.privacy.repair
    if repair is None or block.partition.interrupted:
        return block
    on_progress(0.0)
    bound = find_start_bound(block, job)
    requirements = (*list_requirements(confidential), *more)
    repair_input = RepairInput(
        X,
        job.privacy.k,
        requirements,
        bound,
        on_progress,
        weights,
        Budget(job.partition.bound, share),
    )
    partition = REPAIRS.of(repair).function(repair_input, block.labels, repair)
    if partition is None:
        return block
    return replace_partition(block, X, partition, job, weights, repair.method)


def replace_partition(
    block: Block,
    X: Floats | Encoded,
    partition: Partition,
    job: Job,
    weights: Floats | None,
    by: str,
) -> Block:
    """Return a block with repaired groups, and with its loss before the repair."""
    method = PARTITIONERS.of(job.partition)
    if method.certify_repaired is not None:  # its loss has another scale
        partition = method.certify_repaired(X, partition, job.privacy.k, weights, by)
        return replace(block, partition=partition)
    loss = block.unrepaired_loss
    if loss is None:
        loss = _measure_loss(X, block, job.privacy.k, weights)
    return replace(block, partition=partition, unrepaired_loss=loss)


def _measure_loss(
    X: Floats | Encoded, block: Block, k: int, weights: Floats | None
) -> float | None:
    """Return the loss of the groups of a block, on z-scores; None if one is small."""
    if np.bincount(block.labels).min() < k:
        return None
    Z, weighing = scale_with_weights(X, "z", weights)
    return group_sse(Z, block.labels, weighing.values) * weighing.unit


def find_start_bound(block: Block, job: Job) -> float | None:
    """Return the proven bound on the loss of any groups of k, on z-scores.

    None if the bound refers to another cost, or to whole-number centroids.
    """
    partition = job.partition
    plain = getattr(partition, "cost", "sse") == "sse"
    is_own_bound = PARTITIONERS.of(partition).bound is Bound.OWN
    if not (is_own_bound and plain) or getattr(partition, "centroids", "any") != "any":
        return None
    return block.certificate.bound


def _select_requirements(
    confidential: Sequence[Confidential], kind: type[Kind]
) -> list[Kind]:
    """Return the requirements of one privacy model."""
    return [
        requirement
        for requirement in list_requirements(confidential)
        if isinstance(requirement, kind)
    ]


def _rank_confidential(confidential: Sequence[Confidential]) -> Any:
    """Return the ranks of confidential values, (n,) or (n, c)."""
    ranks = [
        requirement.distance.place
        for requirement in _select_requirements(confidential, Closeness)
    ]
    return ranks[0] if len(ranks) == 1 else np.stack(ranks, axis=1)


def make_weight_arguments(
    job: Job, weights: Floats | None, *, apart: bool = False
) -> dict[str, Any]:
    """Return a partition's arguments for sampling weights (n,), if any.

    Dominance is omitted if groups are within patterns of missing values, `apart`: some
    patterns may have no groups that keep it before they are merged.
    """
    if weights is None:
        return {}
    keeps = PARTITIONERS.of(job.partition).dominates and not apart
    dominance = {"dominance": job.weights.dominance} if keeps else {}
    return {"weights": weights, **dominance}


def make_requirement_arguments(
    job: Job, confidential: Sequence[Confidential], units: RecordUnits | None
) -> dict[str, Any]:
    """Return a partition's arguments for l, t and units, if the method takes them."""
    taken = list_method_requirements(job)
    names = job.roles.confidential
    protected = [one for one in confidential if one.name in names]
    arguments: dict[str, Any] = {}
    if "l" in taken:
        (diversity,) = _select_requirements(protected, Diversity)
        arguments |= {
            "confidential": diversity.codes,
            "l": job.privacy.l,
            "diversity": job.privacy.diversity,
            "levels": "values",
        }
    if "t" in taken:
        arguments |= {"confidential": _rank_confidential(protected), "t": job.privacy.t}
    if "units" in taken and units is not None and units.records is None:
        arguments["units"] = units.unit_of_record
    return arguments


def read_confidential(table: Table, job: Job, decimal: str) -> tuple[Confidential, ...]:
    """Return the confidential attributes with their requirements, if feasible.

    Raises
    ------
    TableError, JobError
        As `read_confidential_attributes`.
    InfeasibleInputError
        No groups satisfy the job's requirements.
    """
    confidential = read_confidential_attributes(
        table.frame, table.roles, job.privacy, decimal
    )
    for requirement in list_requirements(confidential):
        if refusal := requirement.explain_infeasible(job.privacy.k):
            raise refusal
    return confidential


@dataclass(frozen=True, eq=False)
class UnitCount(Diversity):
    """Each group has records of k units or more."""

    @property
    def name(self) -> str:
        """Name of the measured quantity."""
        return "units"


def make_unit_requirements(
    job: Job, units: RecordUnits | None
) -> tuple[Confidential, ...]:
    """Return the requirement of k distinct units in each group, if units exist."""
    if units is None or units.records is not None:
        return ()
    codes = units.unit_of_record.astype(np.int64)
    requirement = UnitCount("unit", codes, job.privacy.k)
    return (Confidential("unit", codes, (requirement,)),)


def list_dominance_requirements(
    job: Job, sampling: SamplingWeights | None
) -> tuple[Confidential, ...]:
    """Return the requirement that no record dominates its group's weight, if any."""
    if sampling is None:
        return ()
    requirements = make_dominance_requirements(job, sampling.values)
    if not requirements:
        return ()
    codes = np.unique(sampling.values, return_inverse=True)[1].astype(np.int64)
    return (Confidential(sampling.name, codes, requirements),)


def list_group_requirements(
    prepared: PreparedTable, job: Job
) -> tuple[Confidential, ...]:
    """Return all attributes that the job requires groups to protect."""
    return (
        *read_confidential(prepared.table, job, job.input.decimal),
        *make_unit_requirements(job, prepared.units),
        *list_dominance_requirements(job, prepared.sampling),
    )
