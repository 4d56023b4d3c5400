"""Repair that merges groups, for any requirement."""

from typing import Any

import numpy as np

from aggopt.core.deadline import Deadline
from aggopt.core.types import Labels
from aggopt.core.validation import groups
from aggopt.partition._shared.result import Partition
from aggopt.repair._registry import Given, Repair


def _merged(given: Given, labels: Labels, how: Any) -> Partition | None:
    from aggopt.repair import _merge_until_satisfied as merging

    X, asked, clock = given.X, given.requirements, Deadline(None, given.progress)
    on_progress, weights = given.progress, given.weights
    made = merging.merge_until_satisfied(
        X, labels, asked, progress=on_progress, weights=weights
    )
    merged = groups(made, len(X))
    if np.array_equal(merged, labels):
        return None
    known = clock.spent, given.k, given.bound
    proof = merging.certified(X, merged, asked, *known, weights=weights)
    return Partition(merged, proof)


METHOD = Repair(
    name="merge",
    when="any promise, of any attributes, quickly; others lose less under t",
    rank=0,
    function=_merged,
    certificate="heuristic; a bound on any groups of k, or as close",
)
