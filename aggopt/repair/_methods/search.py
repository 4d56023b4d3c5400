"""Repair that merges, then moves and swaps records, checking each change exactly."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from aggopt.core.deadline import Deadline, progress_part
from aggopt.core.record_weights import group_sums, multiply_by_weights
from aggopt.core.types import F64, I64, Labels
from aggopt.core.validation import check_groups
from aggopt.partition.neighbours import find_neighbours
from aggopt.partition.shared.result import Partition
from aggopt.partition.shared.scaling import scale_with_weights
from aggopt.privacy.distance import compute_starts
from aggopt.privacy.requirement import Requirement
from aggopt.repair.registry import LimitedSettings, Repair, RepairInput
from aggopt.solvers import Status

MERGED = 0.2  # share of the progress for merging, roughly


def _repair_by_search(
    repair_input: RepairInput, labels: Labels, settings: Any
) -> Partition | None:
    """Return the groups after merging and local search; None if unchanged."""
    from aggopt.repair import merge_until_satisfied as merging

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
        budget=repair_input.budget,
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


NEAR = 12  # nearest records whose groups a record may join
LESS = 1e-12  # share of the total sum of squares that a change must gain
PASSES = 20  # over all records, at most


class _Exchange(NamedTuple):
    """Move of a record to another group, and the record that returns, or -1."""

    gain: float
    record: int
    other: int
    back: int


@dataclass(eq=False)
class _SearchedGroups:
    """Groups under change: `labels` (n,), and the sums of each group.

    For records Z (n, d) times their weights (n,): sums (m, d); sizes and masses (m,),
    the masses being sums of weights. The gain of a change is the reduction of the sum
    of squares within groups.
    """

    Z: F64 = field(repr=False)
    labels: Labels = field(repr=False)
    k: int
    requirements: Sequence[Requirement]
    weights: F64 = field(repr=False)

    def __post_init__(self) -> None:
        self.labels = self.labels.copy()
        self.sizes = np.bincount(self.labels)
        self.masses = np.bincount(self.labels, self.weights)
        self.weighed = self.Z * self.weights[:, None]
        self.sums = group_sums(self.weighed, self.labels)
        records = np.argsort(self.labels, kind="stable")
        parts = np.split(records, np.cumsum(self.sizes)[:-1])
        self.members = [set(part.tolist()) for part in parts]

    def changes(self, i: int, near: I64) -> Iterator[_Exchange]:
        """Yield the moves and swaps of record i with near groups, with their gains."""
        own_group = int(self.labels[i])
        for j in near.tolist():
            g = int(self.labels[j])
            if g == own_group:
                continue
            yield _Exchange(self._compute_gain(i, j, own_group, g), i, g, j)
            if self.sizes[own_group] > self.k:
                yield _Exchange(self._compute_gain(i, -1, own_group, g), i, g, -1)

    def is_allowed(self, change: _Exchange) -> bool:
        """Whether both groups satisfy every requirement after a change."""
        own_group = int(self.labels[change.record])
        one = self.members[own_group] - {change.record} | ({change.back} - {-1})
        other = self.members[change.other] - {change.back} | {change.record}
        records = np.array([*sorted(one), *sorted(other)], np.int64)
        starts = compute_starts([len(one), len(other)])
        return not any(
            requirement.find_broken(records, starts).any()
            for requirement in self.requirements
        )

    def make(self, change: _Exchange) -> None:
        """Apply a move or swap of records."""
        own_group = int(self.labels[change.record])
        self._move_record(change.record, own_group, change.other)
        if change.back >= 0:
            self._move_record(change.back, change.other, own_group)

    def _move_record(self, i: int, out: int, into: int) -> None:
        """Move record i between two groups, and update the sums of both."""
        self.labels[i] = into
        self.members[out].remove(i)
        self.members[into].add(i)
        for g, sign in ((out, -1), (into, 1)):
            self.sizes[g] += sign
            self.masses[g] += sign * self.weights[i]
            self.sums[g] += sign * self.weighed[i]

    def _compute_gain(self, i: int, j: int, own_group: int, g: int) -> float:
        """Return the reduction of SSE if record i joins group g and j replaces it."""
        step = self.weighed[i]
        mass = self.weights[i]
        if j >= 0:
            step = step - self.weighed[j]
            mass = mass - self.weights[j]
        return float(
            _compute_spread(self.sums[own_group] - step, self.masses[own_group] - mass)
            + _compute_spread(self.sums[g] + step, self.masses[g] + mass)
            - _compute_spread(self.sums[own_group], self.masses[own_group])
            - _compute_spread(self.sums[g], self.masses[g])
        )


def _compute_spread(total: F64, mass: float) -> float:
    """Return |total|^2 / mass, a group's part of the explained sum of squares."""
    return float(total @ total) / mass


def search_with_checks(
    Z: F64,
    labels: Labels,
    k: int,
    requirements: Sequence[Requirement],
    clock: Deadline,
    weights: F64 | None = None,
) -> tuple[Labels, bool]:
    """Return labels (n,) of less SSE that satisfy all, and whether the search ended.

    The search has ended if no further change was found before the clock was over.

    Each record in turn makes its best change: a move to a near group, or a swap with a
    record there, after which both groups satisfy every requirement (decided by
    `Requirement.broken`).  The search ends when no record gains, or after `PASSES`.

    Parameters
    ----------
    Z : (n, d)
        Records, scaled for distances.
    labels : (n,)
        Groups of k records or more that satisfy all requirements.
    weights : (n,)
        Sampling weights of mean 1 for the squares; 1 without weights.

    Time O(n NEAR) a pass and one exact check for each change that would gain: some
    hundred records a second, for requirements that compiled searches do not support.
    """
    if int(labels.max()) == 0:
        return labels, True
    if clock.over:
        return labels, False
    near = find_neighbours(Z, min(NEAR, len(Z) - 1))
    record_weights = np.ones(len(Z)) if weights is None else weights
    state = _SearchedGroups(Z, labels, k, requirements, record_weights)
    min_gain = LESS * float(multiply_by_weights(Z**2, weights).sum())
    for done in range(PASSES):
        changed = False
        for i in range(len(Z)):
            if clock.over:
                return state.labels, False
            changed |= _improve_record(state, i, near[i], min_gain)
            clock.report((done + i / len(Z)) / PASSES)
        if not changed:
            return state.labels, True
    return state.labels, False


def _improve_record(state: _SearchedGroups, i: int, near: I64, min_gain: float) -> bool:
    """Make record i's best allowed move or swap; return whether there is one."""
    exchanges = (
        exchange for exchange in state.changes(i, near) if exchange.gain > min_gain
    )
    for change in sorted(exchanges, reverse=True):
        if state.is_allowed(change):
            state.make(change)
            return True
    return False
