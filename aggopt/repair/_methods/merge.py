"""Repair that merges groups, for any requirement."""

from typing import Any

import numpy as np

from aggopt.core.deadline import Deadline
from aggopt.core.types import Labels
from aggopt.core.validation import check_groups
from aggopt.partition.shared.result import Partition
from aggopt.repair.registry import Repair, RepairInput


def _repair_by_merging(
    repair_input: RepairInput, labels: Labels, settings: Any
) -> Partition | None:
    """Return the merged groups with a certificate; None if nothing was merged."""
    from aggopt.repair import merge_until_satisfied as merging

    X = repair_input.X
    requirements = repair_input.requirements
    clock = Deadline(None, repair_input.progress)
    raw_labels = merging.merge_until_satisfied(
        X,
        labels,
        requirements,
        progress=repair_input.progress,
        weights=repair_input.weights,
    )
    merged = check_groups(raw_labels, len(X))
    if np.array_equal(merged, labels):
        return None
    proof = merging.certify_groups(
        X,
        merged,
        requirements,
        clock.spent,
        repair_input.k,
        repair_input.bound,
        weights=repair_input.weights,
        budget=repair_input.budget,
    )
    return Partition(merged, proof)


METHOD = Repair(
    name="merge",
    when="any requirement, of any attributes, quickly; others lose less under t",
    rank=0,
    function=_repair_by_merging,
    certificate="heuristic; a bound on any groups of k, or as close",
)
