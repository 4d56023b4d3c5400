"""Repairs of a job that call `aggopt.repair.closeness`."""

from typing import Any

from aggopt.core.types import Labels
from aggopt.errors import JobError
from aggopt.partition._in_blocks import call_with_progress
from aggopt.partition._shared.result import Partition
from aggopt.privacy._closeness import unwarned_of_constants
from aggopt.privacy._models.t_closeness import Closeness
from aggopt.repair._bound import highest
from aggopt.repair._registry import Given


def by_closeness(name: str, given: Given, labels: Labels, how: Any) -> Partition:
    """Return groups (n,) that `closeness` makes by the method `name`."""
    from aggopt import repair

    if given.weights is not None:
        raise JobError(
            f'Repair "{name}" counts squares without weights, and records have some.',
            fix='write repair = "search" under [privacy], or leave the weights out.',
        )
    (asked,) = (each for each in given.requirements if isinstance(each, Closeness))
    with unwarned_of_constants():
        found = call_with_progress(
            repair.closeness,
            given.X,
            asked.distance.place,
            labels,
            given.k,
            asked.t,
            method=name,
            solver=how.solver,
            time_limit=how.time_limit,
            progress=given.progress,
        )
    proof = highest(found.certificate, [given.bound], given.X.size)
    return Partition(found.labels, proof, merging=found.merging)
