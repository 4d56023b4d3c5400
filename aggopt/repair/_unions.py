"""Unions of groups that are t-close: all unions of a few groups, with their costs."""

from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from math import comb

import numpy as np

from aggopt.core.deadline import Deadline
from aggopt.core.record_weights import compute_plain_group_means
from aggopt.core.types import Floats, Labels
from aggopt.models import closeness_merge as model
from aggopt.repair._problem import Problem

MOST = 2_000_000  # unions that are considered
MOST_NEAR = 500_000  # of near groups, by width
NEAR_WIDTH = 3  # groups in a union of near groups, at most
LOOKED_AT = 20_000_000  # bins of unions between two checks of the clock: 0.02 seconds


@dataclass(frozen=True, eq=False)
class Unions:
    """Proposed unions of the groups of `labels` (n,), as in `closeness_merge`.

    `complete`: all t-close unions of up to `widest` groups, two or more, are included.
    """

    problem: Problem
    labels: Labels = field(repr=False)
    column: Labels = field(repr=False)
    group: Labels = field(repr=False)
    complete: bool = True

    def data(self, chosen: Labels | None = None) -> model.Data:
        """Return the model's data for all unions, or for the chosen ones only."""
        column = self.column
        group = self.group
        if chosen is not None:
            is_chosen = np.zeros(column[-1] + 1, bool)
            is_chosen[chosen] = True
            new = np.cumsum(is_chosen) - 1
            rows = is_chosen[column]
            column = new[column[rows]]
            group = group[rows]
        problem = self.problem
        return model.Data(
            problem.Z, self.labels, problem.ordered, problem.t, problem.k, column, group
        )

    @cached_property
    def m(self) -> int:
        """Number of groups that are united."""
        return int(self.labels.max()) + 1

    def members(self, q: int) -> Labels:
        """Return the numbers of the groups in union q."""
        return self.group[self.first[q] : self.first[q + 1]]

    def rows(self, columns: Labels) -> tuple[Labels, Labels]:
        """Return each union's start, and the groups of all these unions in turn."""
        lengths = self.first[columns + 1] - self.first[columns]
        starts = np.concatenate(([0], np.cumsum(lengths)))
        shift = np.repeat(self.first[columns] - starts[:-1], lengths)
        return starts, self.group[shift + np.arange(starts[-1])]

    @cached_property
    def costs(self) -> Floats:
        """Sum of squares of each union, (q,)."""
        return self.data().costs

    @cached_property
    def first(self) -> Labels:
        """Start of each union in `group`, and the end of the last, (q + 1,)."""
        starts = np.flatnonzero(np.diff(self.column, prepend=-1))
        return np.append(starts, len(self.column))

    def compute_reduced_costs(self, prices: Floats) -> Floats:
        """Return each union's cost less the prices of its groups, (q,)."""
        paid = np.add.reduceat(prices[self.group], self.first[:-1])
        return np.asarray(self.costs - paid)


def find_widest(m: int) -> int:
    """Return the largest number of groups in unions, such that all can be listed."""
    total = 0
    count = 0
    while count < m and total + comb(m, count + 1) <= MOST:
        count += 1
        total += comb(m, count)
    return max(1, count)


def find_close_unions(
    problem: Problem, labels: Labels, known_labels: Labels, clock: Deadline
) -> Unions:
    """Return t-close unions of few groups, and those of `known_labels` (n,).

    If that is less than `NEAR_WIDTH`, wider unions of near groups are included, too.
    The t-close unions of `known_labels` are last, followed by the union of all groups.
    When time is up, wider ones are left out.
    """
    m = int(labels.max()) + 1
    unions: list[Labels] = [_select_close(problem, labels, np.arange(m)[:, None])]
    all_of = find_widest(m)
    for count in range(2, min(m, max(NEAR_WIDTH, all_of)) + 1):
        find_unions = _find_all_of_width if count <= all_of else _find_near_unions
        wider = find_unions(problem, labels, count, clock)
        if wider is None:
            break
        unions.append(wider)
    last = [np.unique(labels[known_labels == u]) for u in range(known_labels.max() + 1)]
    last.append(np.arange(m))
    group = np.concatenate([*(f.ravel() for f in unions), *last])
    of_known = np.array([len(u) for u in last])
    lengths = np.concatenate([*(np.full(*f.shape) for f in unions), of_known])
    column = np.repeat(np.arange(len(lengths)), lengths)
    complete = len(unions) >= all_of and (all_of > 1 or m == 1)
    return Unions(problem, labels, column, group, complete)


def _find_all_of_width(
    problem: Problem, labels: Labels, count: int, clock: Deadline
) -> Labels | None:
    """Return all t-close unions of `count` groups (u, count); None if time is up."""
    if clock.over:
        return None
    from aggopt.repair import _unions_kernels as kernels

    m = int(labels.max()) + 1
    off = model.compute_deviations(problem.ordered, labels)
    sizes = np.bincount(labels)
    union = np.arange(count)
    unions = list[Labels]()
    turns = max(1, min(comb(m, count), LOOKED_AT // off.shape[1]))
    while union[0] >= 0 and not clock.over:
        some = np.empty((turns, count), np.intp)
        u = kernels.enumerate_close(
            off, sizes, problem.limits, problem.k, union, turns, some
        )
        unions.append(some[:u].copy())
    return None if union[0] >= 0 else np.concatenate(unions)


def _find_near_unions(
    problem: Problem, labels: Labels, count: int, clock: Deadline
) -> Labels | None:
    """Return t-close unions (u, count) of near groups; None if time is up.

    None when time is up.
    """
    if clock.over:
        return None
    m = int(labels.max()) + 1
    wide = count - 1
    while wide < m - 1 and m * comb(wide + 1, count - 1) <= MOST_NEAR:
        wide += 1
    near = _find_near_groups(problem, labels, wide)
    picks = np.array(list(combinations(range(near.shape[1]), count - 1)), np.intp)
    if not picks.size:
        return np.empty((0, count), np.intp)
    others = near[:, picks].reshape(-1, count - 1)
    first = np.repeat(np.arange(m), len(picks))[:, None]
    unions = np.unique(np.sort(np.hstack((first, others)), axis=1), axis=0)
    return None if clock.over else _select_close(problem, labels, unions)


def _find_near_groups(problem: Problem, labels: Labels, count: int) -> Labels:
    """Return `count` groups near each group, half with opposite confidential values.

    Near groups are often similar in the confidential attribute, so that they complete
    each other little: groups with a mean bin on the other side do.
    """
    from scipy.spatial import cKDTree

    sizes = np.bincount(labels)
    means = compute_plain_group_means(problem.Z, labels)
    place = np.bincount(labels, problem.ordered.place) / sizes
    high = place > np.median(place)
    m = len(sizes)
    nearest = np.empty((len(sizes), count), np.intp)
    for side in (False, True):
        rows = np.flatnonzero(high == side)
        others = np.flatnonzero(high != side)
        across = min(count // 2, len(others))
        if not len(rows):
            continue
        far = np.empty((len(rows), 0), np.intp)
        if across:
            ranks = np.arange(1, across + 1)
            far = others[cKDTree(means[others]).query(means[rows], ranks)[1]]
        ranks = np.arange(1, min(m, count + 1) + 1)
        close = cKDTree(means).query(means[rows], ranks)[1]
        for row, one, two in zip(rows, far, close, strict=True):
            rest = two[(two != row) & ~np.isin(two, one)]
            nearest[row] = np.concatenate((one, rest))[:count]
    return nearest


def _select_close(problem: Problem, labels: Labels, unions: Labels) -> Labels:
    """Return those of the unions (u, count) that are t-close and have k records."""
    if not len(unions):
        return unions
    count = unions.shape[1]
    column = np.repeat(np.arange(len(unions)), count)
    proposed = model.Data(
        problem.Z, labels, problem.ordered, problem.t, problem.k, column, unions.ravel()
    )
    return np.delete(unions, proposed.barred, axis=0)
