"""Branch and bound over the basins of the groups."""

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count
from typing import NamedTuple

import numpy as np

from aggopt.algorithms.lagrangian.basins import (
    LEFT,
    RIGHT,
    BasinSwaps,
    TwoLowest,
    compute_excess_outside,
    find_two_lowest,
    list_basin_swaps,
    sum_costs,
    swap_basins,
)
from aggopt.algorithms.lagrangian.dual_optimum import (
    DualOptimum,
    maximise,
    maximise_dual,
)
from aggopt.algorithms.lagrangian.local_minima import AT, LEVEL
from aggopt.algorithms.lagrangian.program import Box, Separable, is_in_every_group
from aggopt.algorithms.lagrangian.restore import restore_rows, scale_to_rows
from aggopt.core.deadline import compile_time
from aggopt.core.types import I64, Floats


class NodeOptimum(NamedTuple):
    """Dual optimum of a node, its bound, and the basins of its groups."""

    optimum: DualOptimum
    bound: float
    at: TwoLowest
    swaps: BasinSwaps
    share: Floats  # of each group that the dual puts into its second basin


def find_symmetry_classes(program: Separable) -> I64:
    """Return a class number for each group (m,), equal for interchangeable groups."""
    pieces = np.column_stack([program.low, program.high, program.quartic])
    one = np.diff(program.first) == 1
    rows = np.column_stack([program.sizes, program.centres])[one]
    number = np.arange(len(one)) + len(one)
    if one.any():
        signature = np.column_stack([rows, pieces[program.first[:-1][one]]])
        number[one] = np.unique(signature, axis=0, return_inverse=True)[1].ravel()
    return number


def choose_branching_group(optimum: NodeOptimum) -> int:
    """Return the group to branch on: the one whose rounding costs most."""
    w11, w12, w22 = optimum.swaps.metric
    a1, a2 = compute_unexplained_changes(optimum).T
    size = w11 * a1 * a1 + 2 * w12 * a1 * a2 + w22 * a2 * a2
    impact = np.where(optimum.at.gap < np.inf, optimum.share * size, 0)
    j = int(np.argmax(impact))
    return j if impact[j] > 0 else int(np.argmin(optimum.at.gap))


def compute_unexplained_changes(optimum: NodeOptimum) -> Floats:
    """Return each swap's change of mean and variance (m, 2) that u does not explain."""
    change = optimum.swaps.change
    able = optimum.at.gap < np.inf
    u = np.where(able, optimum.at.other[:, LEVEL] - optimum.at.best[:, LEVEL], 0)
    if not u.any():
        return change
    return change - np.outer(u, u @ change / (u @ u))


MOST_TIMES = 3  # largest coefficient: how many first groups one group may stand for
FEW = 3  # symmetric groups; with no more, each is branched on separately


def find_symmetric_groups(swaps: BasinSwaps, j: int) -> Floats:
    """Return each group's basin swap as a multiple of group j's, 0 if unlike (m,).

    An integer, from below to above; 0 for groups unlike j, or without a second basin.
    """
    w11, w12, w22 = swaps.metric
    a1, a2 = swaps.change.T
    size = w11 * a1 * a1 + 2 * w12 * a1 * a2 + w22 * a2 * a2
    able = np.isfinite(swaps.price)
    if np.sum(able & (size > size[j] / 4)) <= FEW:
        return np.zeros(len(size))
    with np.errstate(divide="ignore", invalid="ignore"):
        times = np.rint(np.abs(a1 / a1[j]))
    alike = able & (times <= MOST_TIMES) & (size <= 4 * times**2 * size[j])
    return np.where(alike, times, 0)


def with_cardinality_row(program: Separable, cuts: Floats, times: Floats) -> Separable:
    """Return the program with a row that counts groups above their cuts."""
    group = np.repeat(np.arange(len(program.sizes)), np.diff(program.first))
    cut = np.where(times != 0, cuts, np.nan)[group]
    across = (program.low < cut) & (cut < program.high)
    copies = np.repeat(np.arange(len(group)), np.where(across, 2, 1))
    upper = np.r_[False, copies[1:] == copies[:-1]]
    lower = np.r_[upper[1:], False]
    low = program.low[copies]
    high = program.high[copies]
    low[upper] = cut[copies[upper]]
    high[lower] = cut[copies[lower]]
    above = low >= cut[copies]
    pieces = np.bincount(group[copies], minlength=len(program.sizes))
    return program._replace(
        first=np.r_[0, np.cumsum(pieces)],
        low=low,
        high=high,
        quartic=program.quartic[copies],
        level=np.where(above, times[group[copies]], 0.0),
    )


def find_level_ends(program: Separable, j: int, cut: float) -> tuple[float, float]:
    """Return the end of group j's part below the cut, and the begin of that above.

    At the cut itself u_j could have either value.  A group that is kept on one side of
    the cut would still be on both, and a node would be split into itself.  So a
    rounding is left out, which changes no piece by more than `bound` allows.  A piece
    that is a point stays.
    """
    pieces = slice(program.first[j], program.first[j + 1])
    low = program.low[pieces]
    high = program.high[pieces]
    point = bool(np.any((low == cut) & (high == cut)))
    above = cut if point else float(np.nextafter(cut, np.inf))
    return float(np.nextafter(cut, -np.inf)), above


REHEATING = 10.0  # a child starts this much hotter than its parent ended
NARROWEST = 1e-9  # standard deviations: intervals below are not bisected
SMOOTHING_SHARE = 0.01  # of the tolerance that smoothing may take


@dataclass(frozen=True, eq=False)
class BoxNode:
    """A part of the feasible set: a box, with multipliers to start from.

    `direction` +1 or -1 means that the node represents all cardinalities from the
    program's own upward or downward.
    """

    program: Separable
    box: Box
    y: Floats
    T: float
    has_cardinality_row: bool = False
    direction: int = 0


@dataclass(eq=False)
class BranchAndBound:
    """State of a branch and bound: the incumbent, and the open nodes."""

    program: Separable
    gap_tol: float
    upper_bound: float  # no point costs more
    best: float = np.inf
    t: Floats | None = None
    closed: float = np.inf  # least bound of the pruned nodes
    gave_up: bool = False  # on a node that could not be split
    nodes: int = 0
    evaluations: int = 0
    root: Floats | None = None  # the multipliers of the first bound
    heap: list[tuple[float, int, BoxNode]] = field(default_factory=list)
    number: Iterator[int] = field(default_factory=count)

    @cached_property
    def symmetry_class(self) -> I64:
        """Class of interchangeable groups that each group is in (m,)."""
        return find_symmetry_classes(self.program)

    @property
    def lower(self) -> float:
        """Lower bound on the cost of every feasible point."""
        waiting = self.heap[0][0] if self.heap else np.inf
        return min(self.best, self.closed, waiting)

    def run(self, root: BoxNode, deadline: float, max_nodes: int) -> None:
        """Branch until the gap is closed, time is over, or `max_nodes` are done."""
        self.push(-np.inf, root)
        while self.heap and self.nodes < max_nodes:
            lower, _, node = heapq.heappop(self.heap)
            if not self.prune(lower):
                self.process(lower, node)
            if compile_time.now() > deadline:
                break

    def push(self, lower: float, node: BoxNode) -> None:
        """Add a node to the heap of open ones, by its lower bound."""
        heapq.heappush(self.heap, (lower, next(self.number), node))

    @property
    def pruning_bound(self) -> float:
        """Least lower bound at which a node cannot improve the incumbent."""
        if self.t is None:
            return self.upper_bound
        return self.best - self.gap_tol * max(1.0, abs(self.best))

    def prune(self, lower: float) -> bool:
        """Record a node as closed if its bound is too high; return whether it is."""
        if lower < self.pruning_bound:
            return False
        self.closed = min(self.closed, lower)
        return True

    def process(self, lower: float, node: BoxNode) -> None:
        """Bound a node, search it for better points, and branch on it."""
        self.nodes += 1
        enough = SMOOTHING_SHARE * self.gap_tol
        optimum, here = maximise_dual(
            node.program, node.box, node.y, node.T, enough, self.pruning_bound
        )
        self.evaluations += optimum.evaluations
        self.root = optimum.y if self.root is None else self.root
        if node.direction:
            self.push_next_cardinality(lower, node, optimum, here)
        lower = max(here, lower)
        if self.prune(lower):
            return
        node_optimum = self.explore(node, optimum, here)
        if self.prune(lower):
            return
        self.split(lower, self.narrow(node, node_optimum), node_optimum)

    def push_next_cardinality(
        self, lower: float, node: BoxNode, optimum: DualOptimum, here: float
    ) -> None:
        """Add the node of the next cardinality, in the node's direction."""
        if node.direction * optimum.y[2] >= 0:
            lower = max(lower, here + abs(optimum.y[2]))
        program = node.program._replace(
            cardinality=node.program.cardinality + node.direction
        )
        self.push(lower, replace(node, program=program, y=optimum.y))

    def explore(self, node: BoxNode, optimum: DualOptimum, here: float) -> NodeOptimum:
        """Search a node for better feasible points; return its dual optimum."""
        at = find_two_lowest(node.program, node.box, optimum.y)
        swaps = list_basin_swaps(node.program, at, optimum.y[2])
        swap_basins(swaps)
        chosen = np.where(swaps.swapped[:, None], at.other, at.best)
        basin = Box(chosen[:, LEFT].copy(), chosen[:, RIGHT].copy())
        plain = np.array([optimum.y[0], optimum.y[1], 0.0])
        inner = maximise(
            self.program, basin, plain, 1e-12 * max(abs(here), 1.0), 1e-9, 40
        )
        self.evaluations += inner.evaluations
        self.restore(basin, find_two_lowest(self.program, basin, inner.y))
        share = 1 / (1 + np.exp(np.minimum(at.gap / optimum.T, 700)))
        return NodeOptimum(
            optimum, here, at, swaps, np.where(at.gap < np.inf, share, 0)
        )

    def restore(self, basin: Box, at: TwoLowest) -> None:
        """Offer feasible points near minima: the cheapest in the basins, or any."""
        program = self.program
        t = at.best[:, AT].copy()
        near, exact = restore_rows(program, basin, t, at.response, False)
        self.offer(near if exact else None)
        if exact and sum_costs(program, near) <= sum_costs(program, t) + 1e-9 * abs(
            self.best
        ):
            return
        near, exact = restore_rows(program, basin, t, program.sizes, True)
        self.offer(near if exact else scale_to_rows(program, program.centres + t))

    def offer(self, t: Floats | None) -> None:
        """Make the point t the incumbent if it costs less."""
        if t is None:
            return
        reached = sum_costs(self.program, t)
        if reached < self.best:
            self.best = reached
            self.t = t

    def narrow(self, node: BoxNode, optimum: NodeOptimum) -> BoxNode:
        """Return the node with groups fixed in basins that cost too much to leave."""
        at = optimum.at
        basin = Box(at.best[:, LEFT].copy(), at.best[:, RIGHT].copy())
        higher = compute_excess_outside(
            node.program, node.box, optimum.optimum.y, basin
        )
        fixed = higher > self.best - optimum.bound
        low = np.where(fixed, at.best[:, LEFT], node.box.low)
        high = np.where(fixed, at.best[:, RIGHT], node.box.high)
        at.gap[fixed] = np.inf
        optimum.swaps.price[fixed] = np.inf
        T = min(REHEATING * optimum.optimum.T, node.T)
        return replace(node, box=Box(low, high), y=optimum.optimum.y, T=T, direction=0)

    def split(self, lower: float, node: BoxNode, optimum: NodeOptimum) -> None:
        """Branch on one group's basin, or on the number of interchangeable groups.

        Groups of one symmetry class and box are interchangeable: either more than K go
        up, and these may be the first, or all but K go down.
        """
        at = optimum.at
        j = choose_branching_group(optimum)
        if not at.gap[j] < np.inf:
            self.bisect(lower, node)
            return
        up = at.other[:, AT] > at.best[:, AT]
        cuts = np.where(up, at.best[:, RIGHT], at.best[:, LEFT])
        above = np.where(up, optimum.share, 1 - optimum.share)
        low, high = node.box
        is_unchanged = (
            (self.symmetry_class == self.symmetry_class[j])
            & (low == low[j])
            & (high == high[j])
        )
        alike = np.flatnonzero(is_unchanged & (at.best == at.best[j]).all(axis=1))
        if (
            not node.has_cardinality_row
            and (times := find_symmetric_groups(optimum.swaps, j)).any()
        ):
            self.branch_on_cardinality(
                lower, node, cuts, times, float(np.sum(times * above))
            )
            return
        K = min(int(np.sum(above[alike])), len(alike) - 1)
        ends = float(cuts[j]), float(cuts[j])
        if at.best[j, LEVEL] != at.other[j, LEVEL]:
            ends = find_level_ends(node.program, j, float(cuts[j]))
        self.push_halves(lower, node, alike[: K + 1], alike[K:], ends)

    def branch_on_cardinality(
        self, lower: float, node: BoxNode, cuts: Floats, times: Floats, expected: float
    ) -> None:
        """Add two nodes: at most floor(expected) groups above their cuts, or more."""
        program = with_cardinality_row(node.program, cuts, times)
        K = float(np.floor(expected))
        for k, direction in ((K, -1), (K + 1, 1)):
            part = program._replace(cardinality=k)
            self.push(
                lower,
                replace(
                    node, program=part, has_cardinality_row=True, direction=direction
                ),
            )

    def bisect(self, lower: float, node: BoxNode) -> None:
        """Add two nodes: halves of the widest side of the node's box."""
        width = (node.box.high - node.box.low) * np.sqrt(node.program.sizes)
        j = int(np.argmax(width))
        if not width[j] > NARROWEST:
            self.gave_up = True
            self.closed = min(self.closed, lower)
            return
        one = np.array([j])
        cut = float(node.box.low[j] + node.box.high[j]) / 2
        self.push_halves(lower, node, one, one, (cut, cut))

    def push_halves(
        self,
        lower: float,
        node: BoxNode,
        ups: I64,
        downs: I64,
        ends: tuple[float, float],
    ) -> None:
        """Add two nodes: groups `ups` from ends[1] on, or `downs` up to ends[0]."""
        low = node.box.low.copy()
        high = node.box.high.copy()
        high[downs], low[ups] = ends
        for box in (node.box._replace(low=low), node.box._replace(high=high)):
            if is_in_every_group(node.program, box):
                self.push(lower, replace(node, box=box))
