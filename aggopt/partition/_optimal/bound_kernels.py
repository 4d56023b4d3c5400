"""Compiled bounds (a) and (b) of pricing: the candidates that remain after a choice.

Importing this imports numba: do so late.
"""

from aggopt.core.compiled import inlined
from aggopt.core.types import Bool
from aggopt.core.validation import Floats
from aggopt.partition._optimal.distance_kernels import FAR, insert_sorted, sum_lowest
from aggopt.partition._optimal.search_tree_kernels import SearchTree


@inlined
def find_candidates(
    tree: SearchTree,
    k: int,
    level: int,
    at: int,
    limit: float,
    lowest: Floats,
    terms: Floats,
    keep: Bool,
) -> bool:
    """Find the candidates that remain after a choice; return whether any do."""
    before = level - 1
    rest = tree.number[before] - (at + 1)
    if rest < 1 or level + rest < k:
        return False
    chosen = tree.open[before, at]
    for y in range(rest):
        keep[y] = False
        j = tree.open[before, at + 1 + y]
        tree.g[level, y] = tree.g[before, at + 1 + y] + tree.D[chosen, j]
    some = False
    for s in range(max(k, level + 1), 2 * k):
        if s - level > rest:
            break
        some |= _mark_candidates(tree, level, at, s, limit, rest, lowest, terms, keep)
    if not some:
        return False
    count = 0
    for y in range(rest):
        if keep[y]:
            tree.open[level, count] = tree.open[before, at + 1 + y]
            tree.g[level, count] = tree.g[level, y]
            count += 1
    tree.number[level] = tree.end[level] = count
    tree.next[level] = 0
    return level + count >= k


@inlined
def _mark_candidates(
    tree: SearchTree,
    level: int,
    at: int,
    s: int,
    limit: float,
    rest: int,
    lowest: Floats,
    terms: Floats,
    keep: Bool,
) -> bool:
    """Mark candidates that may complete a wanted group of s; return whether any do."""
    before = level - 1
    r = s - level
    base = tree.V[level] + tree.penalty[level]
    for y in range(r - 1):  # candidates ascend by v
        base += tree.v[tree.open[before, at + 1 + y]]
    if base + tree.v[tree.open[before, at + r]] > limit:
        return False
    lowest[:r] = FAR
    share = 1.0 / (tree.whole[level] + tree.heavy[r])
    for y in range(rest):
        j = tree.open[before, at + 1 + y]
        terms[y] = (tree.g[level, y] + 0.5 * tree.near[j, r - 1]) * share - tree.u[j]
        insert_sorted(lowest, r, terms[y])
    base_cost = tree.W[level] * share - tree.U[level] + tree.penalty[level]
    full_sum, partial_sum = sum_lowest(lowest, r, base_cost)
    if full_sum > limit:
        return False
    for y in range(rest):
        j = tree.open[before, at + 1 + y]
        if terms[y] + partial_sum <= limit and tree.v[j] + base <= limit:
            keep[y] = True
    return True
