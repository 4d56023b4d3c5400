"""Repair that merges, then moves and swaps records, checking each change exactly."""

from dataclasses import replace
from typing import Any

import numpy as np

from aggopt.core.deadline import Deadline
from aggopt.core.progress import part
from aggopt.core.types import Labels
from aggopt.core.validation import groups
from aggopt.partition._shared.result import Partition
from aggopt.partition._shared.scaling import scale_with_weights
from aggopt.repair._registry import Given, Limited, Repair
from aggopt.solvers import Status

MERGED = 0.2  # share of the progress for merging, roughly


def _searched(given: Given, labels: Labels, how: Any) -> Partition | None:
    from aggopt.repair import _merge_until_satisfied as merging
    from aggopt.repair._checked_search import checked_search

    X, asked = given.X, given.requirements
    clock = Deadline(how.time_limit, given.progress)
    beginning = part(clock.report, 0.0, MERGED)
    merged = merging.merge_until_satisfied(
        X, labels, asked, progress=beginning, weights=given.weights
    )
    records, known = scale_with_weights(X, "z", given.weights)
    Z = np.ascontiguousarray(records)
    searching = replace(clock, progress=part(clock.report, MERGED, 1.0))
    best, ended = checked_search(Z, merged, given.k, asked, searching, known.of)
    found = groups(np.unique(best, return_inverse=True)[1], len(X))
    if np.array_equal(found, labels):
        return None
    proof = merging.certified(
        X,
        found,
        asked,
        clock.spent,
        given.k,
        given.bound,
        status=Status.LOCAL if ended else Status.LIMIT,
        by="merging, then changes checked one by one",
        weights=given.weights,
        left=clock.left,
    )
    clock.report(1.0)
    return Partition(found, proof)


METHOD = Repair(
    name="search",
    when="any promise, of any attributes, at less loss than merging alone",
    rank=5,
    function=_searched,
    settings=Limited,
    certificate="locally optimal; a bound on any groups of k, or as close",
)
