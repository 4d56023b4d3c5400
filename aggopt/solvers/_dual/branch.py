"""Branch and bound over the wells that groups may take."""

import heapq
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count

import numpy as np

from aggopt.core.types import I64
from aggopt.core.validation import Floats
from aggopt.solvers._dual.ascent import Top, climb
from aggopt.solvers._dual.bound import bound
from aggopt.solvers._dual.choices import Choices, choices, cost, elsewhere
from aggopt.solvers._dual.counted import counted, likeness
from aggopt.solvers._dual.division import Found, divided, kinds
from aggopt.solvers._dual.flips import flips_of, settle
from aggopt.solvers._dual.program import Box, Program, holds
from aggopt.solvers._dual.restore import restored, stretched

LOOKS = 400  # at the dual function, in one climb
REHEAT = 10.0  # a child starts so much hotter than its parent ended
NARROW = 1e-9  # standard deviations: not worth cutting
SHARE = 0.01  # of the tolerance may be lost to smoothing


@dataclass(frozen=True, eq=False)
class Node:
    """A part of the feasible set: a box, with what is needed to start in it.

    Once `counting`, the program has a count row; `way` +1 or -1 says that the node
    stands for all counts from the program's own upward or downward.
    """

    program: Program
    box: Box
    y: Floats
    T: float
    counting: bool = False
    way: int = 0


@dataclass(eq=False)
class Search:
    """A branch and bound: the best point so far, and what is left to look at."""

    program: Program
    gap_tol: float
    ceiling: float  # no point costs more
    best: float = np.inf
    t: Floats | None = None
    closed: float = np.inf  # least bound of the nodes that are done with
    gave_up: bool = False  # on a node that could not be split
    nodes: int = 0
    looks: int = 0
    heap: list[tuple[float, int, Node]] = field(default_factory=list)
    number: Iterator[int] = field(default_factory=count)

    @cached_property
    def kind(self) -> I64:
        """Kind of each group (m,)."""
        return kinds(self.program)

    @property
    def lower(self) -> float:
        """No point does better than this."""
        waiting = self.heap[0][0] if self.heap else np.inf
        return min(self.best, self.closed, waiting)

    def run(self, root: Node, deadline: float, most: int) -> None:
        """Branch until the gap is closed, the deadline passed or most nodes seen."""
        self.push(-np.inf, root)
        while self.heap and self.nodes < most:
            lower, _, node = heapq.heappop(self.heap)
            if not self.settled(lower):
                self.visit(lower, node)
            if time.perf_counter() > deadline:
                break

    def push(self, lower: float, node: Node) -> None:
        """Put a node on the heap, with what is known to bound it."""
        heapq.heappush(self.heap, (lower, next(self.number), node))

    def settled(self, lower: float) -> bool:
        """Whether nothing worth having is left there; if so, remember the bound."""
        enough = self.ceiling
        if self.t is not None:
            enough = self.best - self.gap_tol * max(1.0, abs(self.best))
        if lower < enough:
            return False
        self.closed = min(self.closed, lower)
        return True

    def visit(self, lower: float, node: Node) -> None:
        """Bound a node, look for a better point in it, and split it."""
        self.nodes += 1
        top = climb(node.program, node.box, node.y, node.T, SHARE * self.gap_tol, LOOKS)
        self.looks += top.looks
        here = bound(node.program, node.box, top.y)
        if node.way:
            self.push_next_count(lower, node, top, here)
        lower = max(here, lower)
        if self.settled(lower):
            return
        found = self.explore(node, top, here)
        if self.settled(lower):
            return
        self.split(lower, self.narrowed(node, found), found)

    def push_next_count(self, lower: float, node: Node, top: Top, here: float) -> None:
        """Push the counts beyond: there g(y) is larger by |nu| at least."""
        if node.way * top.y[2] >= 0:
            lower = max(lower, here + abs(top.y[2]))
        program = node.program._replace(tally=node.program.tally + node.way)
        self.push(lower, replace(node, program=program, y=top.y))

    def explore(self, node: Node, top: Top, here: float) -> Found:
        """Restore the rows from the wells groups would take; keep what is better."""
        at = choices(node.program, node.box, top.y)
        flips = flips_of(node.program, at, top.y[2])
        settle(flips)
        chosen = np.where(flips.flipped[:, None], at.other, at.best)
        basin = Box(chosen[:, 1].copy(), chosen[:, 2].copy())
        plain = np.array([top.y[0], top.y[1], 0.0])
        inner = climb(self.program, basin, plain, 1e-12 * max(abs(here), 1.0), 1e-9, 40)
        self.looks += inner.looks
        settled = choices(self.program, basin, inner.y)
        self.restore(basin, settled)
        share = 1 / (1 + np.exp(np.minimum(at.gap / top.T, 700)))
        return Found(top, here, at, flips, np.where(at.gap < np.inf, share, 0))

    def restore(self, basin: Box, at: Choices) -> None:
        """Offer what meets both rows near the wells: at least cost, or at any."""
        program, t = self.program, at.best[:, 0].copy()
        near, exact = restored(program, basin, t, at.slide, False)
        self.offer(near if exact else None)
        if exact and cost(program, near) <= cost(program, t) + 1e-9 * abs(self.best):
            return
        near, exact = restored(program, basin, t, program.sizes, True)
        self.offer(near if exact else stretched(program, program.centres + t))

    def offer(self, t: Floats | None) -> None:
        """Keep a point that meets both rows if it is better than the best."""
        if t is None:
            return
        reached = cost(self.program, t)
        if reached < self.best:
            self.best, self.t = reached, t

    def narrowed(self, node: Node, found: Found) -> Node:
        """Fix the groups that cost more than the gap that is left anywhere else."""
        at = found.at
        basin = Box(at.best[:, 1].copy(), at.best[:, 2].copy())
        higher = elsewhere(node.program, node.box, found.top.y, basin)
        fixed = higher > self.best - found.bound
        low = np.where(fixed, at.best[:, 1], node.box.low)
        high = np.where(fixed, at.best[:, 2], node.box.high)
        at.gap[fixed] = np.inf
        found.flips.price[fixed] = np.inf
        T = min(REHEAT * found.top.T, node.T)
        return replace(node, box=Box(low, high), y=found.top.y, T=T, way=0)

    def split(self, lower: float, node: Node, found: Found) -> None:
        """Split a node: on a group that the dual would divide, or on how many go up.

        Groups of one kind, with the same box, can change places: either K of them go
        up, and then these may be the first, or all but K go down.
        """
        at, j = found.at, divided(found)
        if not at.gap[j] < np.inf:
            self.halve(lower, node)
            return
        up = at.other[:, 0] > at.best[:, 0]
        cuts = np.where(up, at.best[:, 2], at.best[:, 1])
        above = np.where(up, found.share, 1 - found.share)
        low, high = node.box
        same = (self.kind == self.kind[j]) & (low == low[j]) & (high == high[j])
        alike = np.flatnonzero(same & (at.best == at.best[j]).all(axis=1))
        if not node.counting and (times := likeness(found.flips, j)).any():
            self.count(lower, node, cuts, times, float(np.sum(times * above)))
            return
        K = min(int(np.sum(above[alike])), len(alike) - 1)
        cut = float(cuts[j])
        self.halves(lower, node, alike[: K + 1], alike[K:], cut)

    def count(
        self, lower: float, node: Node, cuts: Floats, times: Floats, expected: float
    ) -> None:
        """Push both ways to round the number of groups that go up."""
        program, K = counted(node.program, cuts, times), float(np.floor(expected))
        for k, way in ((K, -1), (K + 1, 1)):
            part = program._replace(tally=k)
            self.push(lower, replace(node, program=part, counting=True, way=way))

    def halve(self, lower: float, node: Node) -> None:
        """Cut the widest side of a box in two, where no group is divided."""
        width = (node.box.high - node.box.low) * np.sqrt(node.program.sizes)
        j = int(np.argmax(width))
        if not width[j] > NARROW:
            self.gave_up = True
            self.closed = min(self.closed, lower)
            return
        one, cut = np.array([j]), float(node.box.low[j] + node.box.high[j]) / 2
        self.halves(lower, node, one, one, cut)

    def halves(
        self, lower: float, node: Node, ups: I64, downs: I64, cut: float
    ) -> None:
        """Push two parts: groups `ups` above the cut, or groups `downs` below it."""
        low, high = node.box.low.copy(), node.box.high.copy()
        low[ups], high[downs] = cut, cut
        for box in (node.box._replace(low=low), node.box._replace(high=high)):
            if holds(node.program, box):
                self.push(lower, replace(node, box=box))
