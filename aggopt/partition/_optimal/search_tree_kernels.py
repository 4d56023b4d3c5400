"""Compiled searches: the best group of one medoid, all partitions of a few records.

Importing this imports numba: do so late.
"""

from typing import NamedTuple

import numpy as np

from aggopt.core.compiled import compiled, inlined, inner
from aggopt.core.kernels import copy_into
from aggopt.core.types import I32, I64, Bool, Floats, Labels
from aggopt.partition._optimal.columns import Distances, Prices


class SearchTree(NamedTuple):
    """Search of one medoid, which is 0; its candidates are 1, 2, ...

    Attributes
    ----------
    ids : (c,)
        Their records.
    D : (c, c)
        Squared distances among them, times the weights of both.
    u, v : (c,)
        Price, and w_j D(m, j) / 2 less the price.
    near : (c, 2k)
        Sum of the q least distances to others.
    part : (2k,)
        P, in the order of choice.
    open, number, next, end : (2k, c), (2k,)
        For each number of choices: candidates, their number, the next one, and the end.
    g : (2k, c)
        Distance from each of them to P.
    W, U, V, penalty : (2k,)
        For P: W, sums of u and v, penalties.
    weight, heavy, total : (c,), (2k,), (2k,)
        Weights of each; sum of the r largest among candidates; weight of P.
    """

    ids: I64
    D: Floats
    u: Floats
    v: Floats
    near: Floats
    part: I64
    open: I32
    number: I64
    next: I64
    end: I64
    g: Floats
    W: Floats
    U: Floats
    V: Floats
    penalty: Floats
    weight: Floats
    heavy: Floats
    total: Floats


@inner
def build_search_tree(
    distances: Distances,
    k: int,
    prices: Prices,
    m: int,
    candidates: I64,
    near_sums: Floats,
) -> SearchTree:
    """Return the search tree of groups with medoid m, at its root."""
    count = len(candidates) + 1
    levels = 2 * k
    ids = np.empty(count, np.int64)
    ids[0] = m
    copy_into(ids[1:], candidates)
    local = np.empty((count, count))
    for y in range(count):
        for w in range(count):
            local[y, w] = distances.pair[ids[y], ids[w]]
    near = np.empty((count, near_sums.shape[1]))
    for y in range(1, count):
        copy_into(near[y], near_sums[y - 1])
    u = prices.u[ids]
    v = np.empty(count)
    weight = distances.weight[ids]
    heavy = np.zeros(levels)
    for y in range(count):
        v[y] = 0.5 * distances.pull[m, ids[y]] - u[y]
    sum_heaviest(weight[1:], heavy)
    tree = SearchTree(
        ids,
        local,
        u,
        v,
        near,
        np.zeros(levels, np.int64),
        np.empty((levels, count), np.int32),
        np.zeros(levels, np.int64),
        np.zeros(levels, np.int64),
        np.zeros(levels, np.int64),
        np.empty((levels, count)),
        np.zeros(levels),
        np.zeros(levels),
        np.zeros(levels),
        np.zeros(levels),
        weight,
        heavy,
        np.zeros(levels),
    )
    tree.U[1] = u[0]
    tree.V[1] = v[0]
    tree.total[1] = weight[0]
    for y in range(1, count):
        tree.open[1, y - 1] = y
        tree.g[1, y - 1] = local[0, y]
    tree.number[1] = tree.end[1] = count - 1
    return tree


@inlined
def is_missing_copy(tree: SearchTree, prices: Prices, level: int, at: int) -> bool:
    """Whether the candidate's preceding duplicate is missing in the partial group."""
    needed = prices.before[tree.ids[tree.open[level, at]]]
    is_chosen = needed < 0
    for y in range(level):
        is_chosen |= tree.ids[tree.part[y]] == needed
    return not is_chosen


@inlined
def choose_candidate(tree: SearchTree, prices: Prices, level: int, at: int) -> None:
    """Add a candidate to the partial group, with its costs and cuts' penalties."""
    y = tree.open[level, at]
    tree.part[level] = y
    tree.W[level + 1] = tree.W[level] + tree.g[level, at]
    tree.U[level + 1] = tree.U[level] + tree.u[y]
    tree.V[level + 1] = tree.V[level] + tree.v[y]
    tree.total[level + 1] = tree.total[level] + tree.weight[y]
    penalty = tree.penalty[level]
    i = tree.ids[y]
    for w in range(prices.first[i], prices.first[i + 1]):
        cut = prices.cuts[w]
        count_inside = 0
        for z in range(level):
            count_inside += prices.inside[cut, tree.ids[tree.part[z]]]
        if (count_inside + 1) % prices.divisor[cut] == 0:
            penalty += prices.penalty[cut]
    tree.penalty[level + 1] = penalty


@inlined
def find_missing_mate(tree: SearchTree, prices: Prices, level: int) -> int:
    """Return a record that the partial group lacks but must contain; -1 if none."""
    for y in range(level):
        i = tree.ids[tree.part[y]]
        for w in range(prices.mate_first[i], prices.mate_first[i + 1]):
            is_chosen = False
            for z in range(level):
                is_chosen |= tree.ids[tree.part[z]] == prices.mates[w]
            if not is_chosen:
                return int(prices.mates[w])
    return -1


@inlined
def require_mate(tree: SearchTree, prices: Prices, level: int, mate: int) -> bool:
    """Make a record the only choice at this level; return whether it is a candidate."""
    if mate < 0:
        return True
    at = 0
    while at < tree.number[level] and tree.ids[tree.open[level, at]] != mate:
        at += 1
    if at == tree.number[level]:
        tree.end[level] = 0
        return False
    chosen = tree.open[level, at]
    g = tree.g[level, at]
    for y in range(at, 0, -1):
        tree.open[level, y] = tree.open[level, y - 1]
        tree.g[level, y] = tree.g[level, y - 1]
    tree.open[level, 0] = chosen
    tree.g[level, 0] = g
    tree.end[level] = 1
    return True


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
    """Set the candidates that remain after a choice; return whether any remain."""
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
    """Mark candidates for groups of s within the cost limit; return whether any is."""
    before = level - 1
    r = s - level
    base = tree.V[level] + tree.penalty[level]
    for y in range(r - 1):  # candidates ascend by v
        base += tree.v[tree.open[before, at + 1 + y]]
    if base + tree.v[tree.open[before, at + r]] > limit:
        return False
    lowest[:r] = FAR
    share = 1.0 / (tree.total[level] + tree.heavy[r])
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


FAR = 1e150  # more than any sum of terms


@compiled
def fill_distances(Z: Floats, D: Floats) -> None:
    """Write the squared distances of records Z (n, d) to D (n, n)."""
    n, d = Z.shape
    for i in range(n):
        D[i, i] = 0.0
        for j in range(i):
            total = 0.0
            for t in range(d):
                total += (Z[i, t] - Z[j, t]) ** 2
            D[i, j] = D[j, i] = total


@compiled
def fill_near_sums(D: Floats, sums: Floats) -> None:
    """Write the sum of the q least distances from each record to sums[:, q]."""
    n = len(D)
    max_count = sums.shape[1] - 1
    lowest = np.empty(max_count + 1)
    for i in range(n):
        lowest[:] = FAR
        for j in range(n):
            if j != i:
                insert_sorted(lowest, max_count, D[i, j])
        accumulate_sums(sums[i], lowest, max_count)


@inner
def sum_heaviest(weight: Floats, heavy: Floats) -> None:
    """Set heavy[r] to the sum of the r largest of weights (c,)."""
    max_count = min(len(weight), len(heavy) - 1)
    lowest = np.zeros(max_count + 1)
    for w in weight:
        insert_sorted(lowest, max_count, -w)
    heavy[0] = 0.0
    for r in range(max_count):
        heavy[r + 1] = heavy[r] - lowest[r]


@inlined
def insert_sorted(lowest: Floats, size: int, x: float) -> None:
    """Insert x into the ascending list of the `size` least numbers, if it is less."""
    if x < lowest[size - 1]:
        at = size - 1
        while at > 0 and lowest[at - 1] > x:
            lowest[at] = lowest[at - 1]
            at -= 1
        lowest[at] = x


@inlined
def accumulate_sums(sums: Floats, lowest: Floats, count: int) -> None:
    """Set sums[q] to the sum of the q least numbers, for q up to `count`."""
    sums[0] = 0.0
    for q in range(count):
        sums[q + 1] = sums[q] + lowest[q]


@inlined
def sum_lowest(lowest: Floats, r: int, base: float) -> tuple[float, float]:
    """Return base plus the r least numbers, and base plus the r - 1 least."""
    less = base
    for q in range(r - 1):
        less += lowest[q]
    return less + lowest[r - 1], less


@compiled
def fill_lowest_losses(costs: Floats, k: int, lowest_loss: Floats, first: I64) -> None:
    """Set each record set's least loss, and its first record's group (2^n,).

    The least losses are inf initially; sets without a partition keep that.
    """
    lowest_loss[0] = 0.0
    for record_set in range(1, len(costs)):
        first_record = record_set & -record_set
        rest = record_set ^ first_record
        others = rest  # of the group, without the first record
        while True:
            loss = costs[others | first_record] + lowest_loss[rest ^ others]
            if loss < lowest_loss[record_set]:
                lowest_loss[record_set] = loss
                first[record_set] = others | first_record
            if others == 0:
                break
            others = (others - 1) & rest


MOST = 17  # records: 3^17 / 2 pairs of a set and a group in it
PAIR = 2e-8  # seconds for one of them, at most


def estimate_time(n: int) -> float:
    """Return an upper estimate of the seconds to search all partitions of n records."""
    return PAIR * 3.0**n


def find_best_partition(Z: Floats, k: int, weights: Floats | None = None) -> Labels:
    """Return labels (n,) of the partition of Z (n, d) with the least loss.

    By dynamic programming: the least loss of a set of records is that of the group of
    its first record, plus that of the rest. Memory 33 2^n bytes.
    """
    costs = _compute_costs(Z, k, weights)
    first = np.zeros(len(costs), np.int64)
    fill_lowest_losses(costs, k, np.full(len(costs), np.inf), first)
    labels = np.zeros(len(Z), np.intp)
    left = len(costs) - 1
    group = 0
    while left:
        labels[[i for i in range(len(Z)) if first[left] >> i & 1]] = group
        left = left - int(first[left])
        group = group + 1
    return labels


def _compute_costs(Z: Floats, k: int, weights: Floats | None) -> Floats:
    """Return the SSE of each set of records (2^n,), inf if it is no valid group.

    Record i is in the sets whose number has bit i.
    """
    distances = ((Z[:, None] - Z[None]) ** 2).sum(axis=2)
    record_weights = np.ones(len(Z)) if weights is None else weights
    distances *= record_weights[:, None] * record_weights
    # of the sets of the records so far
    sizes = np.zeros(1)
    set_weights = np.zeros(1)
    losses = np.zeros(1)
    for i in range(len(Z)):
        added = np.zeros(1)
        for j in range(i):
            added = np.append(added, added + distances[i, j])
        losses = np.append(losses, losses + added)
        sizes = np.append(sizes, sizes + 1)
        set_weights = np.append(set_weights, set_weights + record_weights[i])
    groups = (sizes >= k) & (sizes < 2 * k)
    return np.where(groups, losses / np.where(groups, set_weights, 1.0), np.inf)
