"""Branch and price: two records in one group, or in two, and both are looked at."""

import heapq
from itertools import combinations
from typing import NamedTuple

import numpy as np

from aggopt.clock import Clock
from aggopt.partition._columns.generation import Generation
from aggopt.partition._columns.pricing import Pair

WHOLE = 1e-6
TRIED = 6  # pairs of which both branches are tried
ITERATIONS = 200  # of the simplex method, in a try
CUTS = 4  # rounds of cuts in a node
ALONE = 20.0  # times the dearest group: what a record by itself costs


class Node(NamedTuple):
    """A branch, and what is proven of it."""

    bound: float
    number: int
    together: tuple[Pair, ...]
    apart: tuple[Pair, ...]


def branch_and_price(
    generation: Generation, clock: Clock, most: int | None = None
) -> None:
    """Look at branches, those of the lowest bound first, until the gap is closed.

    At so many of them, at most.
    """
    best, count, ended = generation.best, 1, np.inf
    open_nodes = [Node(best.bound, 0, (), ())]
    while open_nodes and not best.closed and not clock.over:
        if most is not None and count > 2 * most:
            break
        node = heapq.heappop(open_nodes)
        bound, pair = _looked_at(generation, node, clock)
        if clock.over:
            return
        if pair is not None:
            for sides in (
                ((*node.together, pair), node.apart),
                (node.together, (*node.apart, pair)),
            ):
                heapq.heappush(open_nodes, Node(bound, count, *sides))
                count += 1
        else:
            ended = min(ended, bound)
        lowest = open_nodes[0].bound if open_nodes else best.value
        best.prove(min(best.value, lowest, ended))
    generation.master.branch((), (), 0.0)


def _looked_at(
    generation: Generation, node: Node, clock: Clock
) -> tuple[float, Pair | None]:
    """Return what is proven of a node, and a pair to branch on, None without need."""
    _enter(generation, node)
    generation.bound = node.bound
    for _ in range(CUTS):
        converged = generation.price()
        if not converged or generation.pruned or clock.over:
            break
        if not generation.cut():
            break
    if generation.pruned or clock.over:
        return generation.bound, None
    return generation.bound, _best_pair(generation, node)


def _enter(generation: Generation, node: Node) -> None:
    alone = ALONE * max(1.0, float(generation.pool.costs.max()))
    generation.master.branch(node.together, node.apart, alone)


def _best_pair(generation: Generation, node: Node) -> Pair | None:
    """Return the pair whose worse branch seems to raise the bound most."""
    before, best, most = generation.bound, None, 0.0
    for pair in _unclear(generation)[:TRIED]:
        rises = []
        for sides in (
            ((*node.together, pair), node.apart),
            (node.together, (*node.apart, pair)),
        ):
            _enter(generation, Node(before, 0, *sides))
            rises.append(max(1e-6, generation.master.guess(ITERATIONS) - before))
        gained = min(rises[0], 1e3) * min(rises[1], 1e3)
        if gained > most:
            best, most = pair, gained
    return best


def _unclear(generation: Generation) -> list[Pair]:
    """Return pairs that are chosen together in part, those that cost most first."""
    solved = generation.solved
    if solved is None:
        return []
    share, u = solved.share, np.maximum(solved.duals.u, 0.0)
    weights: dict[Pair, float] = {}
    for q in np.flatnonzero((share > WHOLE) & (share < 1 - WHOLE)):
        records = generation.pool.all.members[q, : generation.pool.all.sizes[q]]
        for pair in combinations(records.tolist(), 2):
            weights[pair] = weights.get(pair, 0.0) + float(share[q])
    partly = [p for p, w in weights.items() if WHOLE < w < 1 - WHOLE]

    def worth(pair: Pair) -> float:
        unclear = min(weights[pair], 1 - weights[pair])
        return float(unclear * (u[pair[0]] + u[pair[1]] + 1e-3))

    return sorted(partly, key=lambda pair: (-worth(pair), pair))
