"""Branch and price after Ryan and Foster: two records together, or apart."""

import heapq
from itertools import combinations
from typing import NamedTuple

import numpy as np

from aggopt.core.deadline import Deadline
from aggopt.partition._optimal.column_generation import ColumnGeneration, choose_groups
from aggopt.partition._optimal.pricing import Pair, PricingEffort
from aggopt.solvers import Solver
from aggopt.solvers.options import TRUST

INTEGRALITY = 1e-6  # tolerance of integrality
TRIED = 6  # pairs for strong branching
ITERATIONS = 200  # of the dual simplex method, in strong branching
CUTS = 4  # rounds of cuts in a node
ALONE = 20.0  # cost of a single record, in units of the most costly group


Pairs = tuple[Pair, ...]
Sides = tuple[Pairs, Pairs]


class BranchNode(NamedTuple):
    """Node of the branching tree with its lower bound."""

    bound: float
    number: int
    together: Pairs
    apart: Pairs


class BranchAndPrice:
    """Open nodes, and the least bound of the closed ones."""

    def __init__(self, generation: ColumnGeneration) -> None:
        self.generation = generation
        self.count = 1
        self.ended = np.inf
        self.open = [BranchNode(generation.best.bound, 0, (), ())]

    def process(self, clock: Deadline, max_nodes: float = np.inf) -> None:
        """Process up to `most` nodes, best bound first, until the gap is closed."""
        generation = self.generation
        best = self.generation.best
        before = generation.bound
        processed = 0
        while self.open and processed < max_nodes and not best.ended:
            if clock.over or generation.clock.over:
                break
            self._process(heapq.heappop(self.open))
            processed += 1
            lowest = self.open[0].bound if self.open else best.value
            best.prove(min(best.value, lowest, self.ended))
        generation.master.branch((), (), 0.0)
        generation.bound = before

    def _process(self, node: BranchNode) -> None:
        """Bound a node, and replace it by two nodes unless it is pruned."""
        bound, pair = _bound_node(self.generation, node)
        if self.generation.clock.over:
            heapq.heappush(self.open, node._replace(bound=bound))
        elif pair is None:
            self.ended = min(self.ended, bound)
        else:
            for together, apart in _split_node(node, pair):
                heapq.heappush(
                    self.open, BranchNode(bound, self.count, together, apart)
                )
                self.count += 1


def _split_node(node: BranchNode, pair: Pair) -> tuple[Sides, Sides]:
    return ((*node.together, pair), node.apart), (node.together, (*node.apart, pair))


def _bound_node(
    generation: ColumnGeneration, node: BranchNode
) -> tuple[float, Pair | None]:
    """Return the bound of a node, and a pair to branch on, None if it is pruned."""
    _enter_node(generation, node.together, node.apart)
    generation.bound = node.bound
    for _ in range(CUTS):
        if not generation.price() or generation.pruned or not generation.cut():
            break
    if generation.pruned or generation.clock.over:
        return generation.bound, None
    return generation.bound, _choose_pair(generation, node)


def _enter_node(generation: ColumnGeneration, together: Pairs, apart: Pairs) -> None:
    alone = ALONE * max(1.0, float(generation.pool.costs.max()))
    generation.master.branch(together, apart, alone)


def _choose_pair(generation: ColumnGeneration, node: BranchNode) -> Pair | None:
    """Return the pair of the best strong-branching score."""
    before = generation.bound
    best = None
    best_score = 0.0
    for pair in _list_fractional_pairs(generation)[:TRIED]:
        rises = []
        for together, apart in _split_node(node, pair):
            _enter_node(generation, together, apart)
            guess = generation.master.guess(ITERATIONS, generation.clock.left)
            rises.append(max(1e-6, guess - before))
        score = min(rises[0], 1e3) * min(rises[1], 1e3)
        if score > best_score:
            best = pair
            best_score = score
    return best


def _list_fractional_pairs(generation: ColumnGeneration) -> list[Pair]:
    """Return pairs with a fractional weight, by duals and fractionality."""
    solved = generation.solved
    if solved is None:
        return []
    many = generation.pricer.duplicates.many
    share = solved.share
    u = np.maximum(solved.duals.u, 0.0)
    weights: dict[Pair, float] = {}
    for q in np.flatnonzero((share > INTEGRALITY) & (share < 1 - INTEGRALITY)):
        records = generation.pool.all.members[q, : generation.pool.all.sizes[q]]
        for pair in combinations(records[~many[records]].tolist(), 2):
            weights[pair] = weights.get(pair, 0.0) + float(share[q])
    partly = [p for p, w in weights.items() if INTEGRALITY < w < 1 - INTEGRALITY]

    def worth(pair: Pair) -> float:
        unclear = min(weights[pair], 1 - weights[pair])
        return float(unclear * (u[pair[0]] + u[pair[1]] + 1e-3))

    return sorted(partly, key=lambda pair: (-worth(pair), pair))


ENUMERATED = 60_000  # most groups of the integer program
FIRST_ENUMERATED = (
    25_000  # groups of a first program, whose better incumbent leaves fewer
)
EDGE = 1 + 1e-9  # for rounding in the gap


def prove_by_enumeration(
    generation: ColumnGeneration, solver: Solver, clock: Deadline, seconds: float
) -> bool:
    """Close the gap by enumeration; return whether it is closed.

    A partition with a group of reduced cost r or more costs at least the bound plus r.
    So the best partition into groups below r is optimal, or the optimum is at least the
    bound plus r.  Once the groups up to r have no better partition, one must have a
    group above r, and its others below the gap less r.
    """
    best = generation.best
    if generation.proof is None or generation.pricer.duplicates.some:
        return False
    bound = generation.pricer.bound(*generation.proof)
    gap = (best.value - bound) * EDGE
    effort = PricingEffort(keep=ENUMERATED, room=ENUMERATED)
    priced = generation.pricer.price_groups(
        generation.proof[0], effort, clock, max_cost=gap
    )
    if not priced.complete:
        return False
    covered = -np.inf
    for count in (FIRST_ENUMERATED, ENUMERATED):
        order = priced.reduced.argsort(kind="stable")[: count + 1]
        gap = (best.value - bound) * EDGE
        highest = gap
        if len(order) > count:
            highest = min(highest, float(priced.reduced[order[-1]]))
        reduced = priced.reduced[order[:count]]
        beside = (reduced <= gap - covered) | (reduced >= covered)
        cheap = priced.groups.at(order[:count][(reduced <= highest) & beside])
        generation.add(cheap)
        which = generation.pool.places(cheap)
        if not choose_groups(generation, solver, which, clock, seconds):
            return False
        best.prove(min(best.value - TRUST * best.value, bound + highest))
        if best.closed:
            return True
        covered = highest
    return False
