"""Repair that merges, then moves and swaps records, checking each change exactly."""

from dataclasses import replace
from typing import Any

import numpy as np

from aggopt.core.deadline import Deadline, progress_part
from aggopt.core.types import Labels
from aggopt.core.validation import check_groups
from aggopt.partition.shared.result import Partition
from aggopt.partition.shared.scaling import scale_with_weights
from aggopt.repair.registry import LimitedSettings, Repair, RepairInput
from aggopt.solvers import Status

MERGED = 0.2  # share of the progress for merging, roughly


def _repair_by_search(
    repair_input: RepairInput, labels: Labels, settings: Any
) -> Partition | None:
    """Return groups after merging and a checked search; None if they are unchanged."""
    from aggopt.repair import merge_until_satisfied as merging
    from aggopt.repair._checked_search import search_with_checks

    X = repair_input.X
    requirements = repair_input.requirements
    clock = Deadline(settings.time_limit, repair_input.progress)
    beginning = progress_part(clock.report, 0.0, MERGED)
    merged = merging.merge_until_satisfied(
        X, labels, requirements, progress=beginning, weights=repair_input.weights
    )
    records, weighing = scale_with_weights(X, "z", repair_input.weights)
    Z = np.ascontiguousarray(records)
    searching = replace(clock, progress=progress_part(clock.report, MERGED, 1.0))
    best, ended = search_with_checks(
        Z, merged, repair_input.k, requirements, searching, weighing.values
    )
    new_labels = check_groups(np.unique(best, return_inverse=True)[1], len(X))
    if np.array_equal(new_labels, labels):
        return None
    proof = merging.certify_groups(
        X,
        new_labels,
        requirements,
        clock.spent,
        repair_input.k,
        repair_input.bound,
        status=Status.LOCAL if ended else Status.LIMIT,
        by="merging, then changes checked one by one",
        weights=repair_input.weights,
        left=clock.left,
    )
    clock.report(1.0)
    return Partition(new_labels, proof)


METHOD = Repair(
    name="search",
    when="any requirement, of any attributes, at less loss than merging alone",
    rank=5,
    function=_repair_by_search,
    settings=LimitedSettings,
    certificate="locally optimal; a bound on any groups of k, or as close",
)
