"""Repairs of a job that call `aggopt.repair.closeness`."""

from typing import Any

from aggopt.core.types import Labels
from aggopt.errors import JobError
from aggopt.partition._in_blocks import call_with_progress
from aggopt.partition.shared.result import Partition
from aggopt.privacy.closeness import unwarned_of_constants
from aggopt.privacy.models.t_closeness import Closeness
from aggopt.repair._bound import raise_bound
from aggopt.repair.registry import RepairInput


def repair_by_closeness(
    name: str, repair_input: RepairInput, labels: Labels, settings: Any
) -> Partition:
    """Return groups (n,) that `closeness` makes by the method `name`."""
    from aggopt import repair

    if repair_input.weights is not None:
        raise JobError(
            f'Repair "{name}" counts squares without weights, and records have some.',
            fix='write repair = "search" under [privacy], or leave the weights out.',
        )
    (closeness,) = (
        requirement
        for requirement in repair_input.requirements
        if isinstance(requirement, Closeness)
    )
    with unwarned_of_constants():
        partition = call_with_progress(
            repair.closeness,
            repair_input.X,
            closeness.distance.place,
            labels,
            repair_input.k,
            closeness.t,
            method=name,
            solver=settings.solver,
            time_limit=settings.time_limit,
            progress=repair_input.progress,
        )
    proof = raise_bound(
        partition.certificate, [repair_input.bound], repair_input.X.size
    )
    return Partition(partition.labels, proof, merging=partition.merging)
