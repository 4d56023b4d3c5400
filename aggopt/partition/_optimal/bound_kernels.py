"""Compiled bounds (a) and (b) of pricing: the candidates that remain after a choice.

Importing this imports numba: do so late.
"""

from aggopt.core.compiled import inlined
from aggopt.core.types import Bool
from aggopt.core.validation import Floats
from aggopt.partition._optimal.distance_kernels import FAR, insert, sums_of
from aggopt.partition._optimal.search_tree_kernels import SearchTree


@inlined
def open_next(
    tree: SearchTree,
    k: int,
    level: int,
    at: int,
    most: float,
    least: Floats,
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
        some |= _open_for(tree, level, at, s, most, rest, least, terms, keep)
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
def _open_for(
    tree: SearchTree,
    level: int,
    at: int,
    s: int,
    most: float,
    rest: int,
    least: Floats,
    terms: Floats,
    keep: Bool,
) -> bool:
    """Mark candidates that may complete a wanted group of s; return whether any do."""
    before, r = level - 1, s - level
    base = tree.V[level] + tree.penalty[level]
    for y in range(r - 1):  # candidates ascend by v
        base += tree.v[tree.open[before, at + 1 + y]]
    if base + tree.v[tree.open[before, at + r]] > most:
        return False
    least[:r] = FAR
    share = 1.0 / (tree.whole[level] + tree.heavy[r])
    for y in range(rest):
        j = tree.open[before, at + 1 + y]
        terms[y] = (tree.g[level, y] + 0.5 * tree.near[j, r - 1]) * share - tree.u[j]
        insert(least, r, terms[y])
    own = tree.W[level] * share - tree.U[level] + tree.penalty[level]
    full, less = sums_of(least, r, own)
    if full > most:
        return False
    for y in range(rest):
        j = tree.open[before, at + 1 + y]
        if terms[y] + less <= most and tree.v[j] + base <= most:
            keep[y] = True
    return True
